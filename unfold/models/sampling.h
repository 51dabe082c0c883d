#pragma once
/// Drawing sequences from any predictor.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "unfold/capabilities/predictor.h"
#include "unfold/data/alphabet.h"
#include "unfold/numerics/random.h"

namespace unfold {

/// Filters act in this order, each on what the one before left: temperature, top_k, top_p, min_p.
struct SamplingOptions {
  Index length = 500;      ///< symbols drawn at most
  double temperature = 1;  ///< logits are divided by it; 0: always the most probable symbol (the first of equals)
  Index top_k = 0;         ///< only the k most probable symbols; 0: all
  double top_p = 1;        ///< only the most probable symbols that together reach this probability
  double min_p = 0;        ///< only symbols with at least this share of the largest probability
  std::string stop = {};   ///< stops when the decoded text ends with this; it is kept. Empty: never
  std::vector<Symbol> prime = {};  ///< read first; not part of the result
  std::uint64_t seed = 1;
  Index number = 0;  ///< of this sample: samples of one seed and different numbers are independent
};

/// Throws UsageError naming the option that is out of range.
void validate(const SamplingOptions& options);

/// The probabilities left by the filters, normalised; 0 for symbols cut off. Equal probabilities are ranked by symbol.
std::vector<double> filter_distribution(std::span<const float> log_probabilities, const SamplingOptions& options);

/// One of them by its probability; never one of probability 0.
Symbol draw_from(std::span<const double> probabilities, Random& random);

/// Resets the predictor, reads the prime, draws. `alphabet` is needed for `stop` only.
std::vector<Symbol> sample(Predictor& predictor, const Alphabet& alphabet, const SamplingOptions& options);
/// The same, each symbol handed over as soon as it was drawn: nothing is kept, however many there are.
void sample(Predictor& predictor, const Alphabet& alphabet, const SamplingOptions& options,
            const std::function<void(Symbol)>& use);

}  // namespace unfold
