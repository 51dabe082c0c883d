#pragma once
/// Beam search for the most probable continuations of a text, with any predictor.
///
///   auto predictor = model->predictor();                                   // a SymbolModel
///   for (const Completion& c : complete(*predictor, model->alphabet(), {.length = 20, .beam = 16}))
///     use(model->alphabet().decode(c.symbols), c.log_probability);

#include <functional>
#include <string>
#include <vector>

#include "unfold/data/text/alphabet.h"
#include "unfold/model/predictor.h"

namespace unfold {

struct BeamOptions {
  Index length = 32;  ///< maximum number of symbols
  Index beam = 8;     ///< continuations kept at every length
  Index count = 5;    ///< maximum number of results
  /// Finished continuations are ranked by `log p / length^normalization`. With 0, they are ranked by probability, which
  /// favors short ones; with 1, by mean log probability per symbol.
  double normalization = 1;
  std::string stop = {};           ///< a continuation is finished when its text ends with this; empty: at full length
  std::vector<Symbol> prime = {};  ///< read first; not part of the result
  std::function<void()> before_length = {};  ///< called before each further symbol; exceptions end the search
};

struct Completion {
  std::vector<Symbol> symbols;
  std::vector<float> log_probabilities;  ///< log probability of each symbol, given all before it
  double log_probability = 0;            ///< their sum: log probability of the continuation given the prime
  double score = 0;
  bool stopped = false;  ///< ended by `stop` instead of by the length
};

/// Throws a UsageError that names the option that is out of range.
void validate(const BeamOptions& options);

/// Returns the continuations, the most probable first; continuations with equal scores are in lexicographic order of
/// symbols. Resets the predictor and reads the prime. Exact if `beam` is at least the number of possible continuations.
std::vector<Completion> complete(Predictor& predictor, const Alphabet& alphabet, const BeamOptions& options);

}  // namespace unfold
