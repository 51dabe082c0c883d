#pragma once
/// Finds whole output sequences of a network by beam search, or samples them: targets of sources if the network is an
/// encoder-decoder (encoder_decoder.h), sequences conditioned on a field with one value per example, or unconditional
/// sequences.
///
///   Transducer<float> transducer(network, parameters, data, {.symbol = "</s>"}, team);
///   std::vector<std::vector<Transduced>> found = transducer.best(batch, {.beam = 5, .best = 3});    // a list per
///   chain
///
/// The encoder runs once; the decoder is stepped over all targets together (model/decoding/target_decoder.h), each with
/// a slot of the state. If lengths are known in advance, sampling draws them, the search uses the most probable length,
/// and the probability of the length is included. Targets without an end stop at the limit.

#include <algorithm>
#include <memory>
#include <vector>

#include "model/decoding/target_decoder.h"
#include "model/network/length_model.h"
#include "unfold/model/decoding/sampling.h"

namespace unfold {

class Automaton;

struct TransduceOptions {
  Index beam = 1;  ///< targets kept at each step; 1: greedy search
  Index best = 1;  ///< number of results per source, at most `beam`
  /// Maximum number of symbols of a target, including its end. 0: three per source symbol plus ten, or
  /// kMaxGeneratedLength if the source has one value per example or if there is no source.
  Index longest = 0;
  bool weights = false;  ///< also return attention weights
  /// For sampling: the temperature and the filters that follow it; the other options are ignored. The log probabilities
  /// of the results are computed by the model without filters.
  SamplingOptions filters = {};
  /// The allowed targets, without their end symbol (model/decoding/automaton.h); only for `best`. If set, all results
  /// have an end.
  const Automaton* allowed = nullptr;
};
inline constexpr Index kMaxGeneratedLength = 1000;

struct Transduced {
  std::vector<Symbol> symbols = {};  ///< symbols of the target, without the end symbol
  bool ended = false;                ///< false: the limit was reached first
  double log_probability = 0;        ///< log probability of all symbols, including the end
  /// For each step, one weight for each position of the source; empty unless requested.
  std::vector<std::vector<double>> weights = {};

  /// Returns the score of beam search: the mean log probability per symbol, so long targets are not at a disadvantage.
  double score() const {
    return log_probability /
           static_cast<double>(symbols.size() + (ended ? 1 : 0) + (symbols.empty() && !ended ? 1 : 0));
  }
};

template <class T>
class Transducer {
 public:
  /// `lengths`: for networks that read the remaining steps. Throws UsageError like TargetDecoder, and if lengths are
  /// needed but missing.
  Transducer(const Network<T>& network, const Parameters<T>& parameters, const DataSpecification& data,
             const TargetEnds& ends, Team& team, const LengthModel* lengths = nullptr);
  ~Transducer();

  bool attends() const;
  /// Returns results for each chain of a batch, the best first. Reads only the fields of sources. Throws DataError if
  /// no allowed target is short enough or has a positive probability.
  std::vector<std::vector<Transduced>> best(const Batch& batch, const TransduceOptions& options);
  /// Returns `count` samples for each chain, with random numbers that depend on (seed, index of its passage).
  std::vector<std::vector<Transduced>> samples(const Batch& batch, Index count, std::uint64_t seed,
                                               const TransduceOptions& options);

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

/// Returns whether positions attend to a source, which is a separate chain. (Character-level fields also have chains,
/// but these are not sources.)
inline bool reads_source(const DataSpecification& data) {
  return std::ranges::any_of(data.fields, &FieldSpecification::source);
}

}  // namespace unfold
