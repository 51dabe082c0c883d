#pragma once
/// Sampling of sequences from any predictor.
///
///   auto predictor = model->predictor();                                   // a SymbolModel
///   const std::vector<Symbol> drawn = sample(*predictor, model->alphabet(), {.length = 200, .temperature = 0.8});
///   std::string text = model->alphabet().decode(drawn);

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "unfold/data/text/alphabet.h"
#include "unfold/model/predictor.h"
#include "unfold/numerics/random.h"

namespace unfold {

/// Sampling options. Filters are applied in this order: temperature, top_k, top_p, min_p.
struct SamplingOptions {
  Index length = 500;              ///< maximum number of symbols to sample
  double temperature = 1;          ///< logits are divided by it; 0: always the most probable symbol (in case of ties,
                                   ///< the first)
  Index top_k = 0;                 ///< only the k most probable symbols; 0: all
  double top_p = 1;                ///< only the most probable symbols that together reach this probability
  double min_p = 0;                ///< only symbols with at least this fraction of the largest probability
  std::string stop = {};           ///< sampling stops when the decoded text ends with this, which is kept; empty: never
  std::vector<Symbol> prime = {};  ///< read first; not part of the result
  std::uint64_t seed = 1;
  Index number = 0;  ///< number of this sample: samples with the same seed and different numbers are independent
};

/// Throws a UsageError that names the option that is out of range.
void validate(const SamplingOptions& options);

/// Returns the filtered probabilities, normalized, with 0 for removed symbols. Equal probabilities are ranked by
/// symbol.
std::vector<double> filter_distribution(std::span<const float> log_probabilities, const SamplingOptions& options);

/// Draws a symbol from these probabilities; never draws a symbol with probability 0.
Symbol draw_from(std::span<const double> probabilities, Random& random);

/// Resets the predictor, reads the prime, and samples. `alphabet` is needed only for `stop`.
std::vector<Symbol> sample(Predictor& predictor, const Alphabet& alphabet, const SamplingOptions& options);
/// Like `sample`, but passes each symbol to `use` as soon as it is drawn and stores nothing, so the length is
/// unlimited.
void sample(Predictor& predictor, const Alphabet& alphabet, const SamplingOptions& options,
            const std::function<void(Symbol)>& use);

}  // namespace unfold
