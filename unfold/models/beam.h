#pragma once
/// The most probable continuations of a text, by beam search over any predictor.

#include <functional>
#include <string>
#include <vector>

#include "unfold/capabilities/predictor.h"
#include "unfold/data/alphabet.h"

namespace unfold {

struct BeamOptions {
  Index length = 32;  ///< symbols at most
  Index beam = 8;     ///< continuations kept at every length
  Index count = 5;    ///< returned at most
  /// Finished continuations are ranked by log p / length^normalisation. 0: by probability, which prefers short ones;
  /// 1: by probability per symbol.
  double normalisation = 1;
  std::string stop = {};           ///< a continuation is finished when its text ends with this; empty: at full length
  std::vector<Symbol> prime = {};  ///< read first; not part of the result
  std::function<void()> before_length = {};  ///< called before each further symbol; what it throws ends the search
};

struct Completion {
  std::vector<Symbol> symbols;
  std::vector<float> log_probabilities;  ///< of each symbol, given all before it
  double log_probability = 0;            ///< their sum: that of the continuation given the prime
  double score = 0;
  bool stopped = false;  ///< ended by `stop`, not by the length
};

/// Throws UsageError naming the option that is out of range.
void validate(const BeamOptions& options);

/// Best first; of equals, the one whose symbols come first. Resets the predictor and reads the prime. Exact when `beam`
/// is at least the number of continuations.
std::vector<Completion> complete(Predictor& predictor, const Alphabet& alphabet, const BeamOptions& options);

}  // namespace unfold
