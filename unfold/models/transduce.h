#pragma once
/// Whole sequences that a network finds, by beam search, or samples: targets of sources, where it has two chains
/// (encoder_decoder.h), sequences of something that is given, or of nothing.
///
///   Transducer<float> transducer(network, parameters, data, {.symbol = "</s>"}, team);
///   std::vector<std::vector<Transduced>> found = transducer.best(batch, {.beam = 5, .best = 3});    // one list a
///   chain
///
/// The encoder runs once; the decoder is stepped over all targets at once (search/target_decoder.h), each with a slot
/// of the state. Where lengths are known before, samples draw them, searches take the most probable one, and its
/// probability counts; what has no end stops at the limit.

#include <algorithm>
#include <memory>
#include <vector>

#include "unfold/models/length_model.h"
#include "unfold/models/sampling.h"
#include "unfold/search/target_decoder.h"

namespace unfold {

class Automaton;

struct TransduceOptions {
  Index beam = 1;  ///< targets kept at each step; 1: the most probable symbol at each step
  Index best = 1;  ///< so many of each source, at most `beam`
  /// Symbols of a target, its end included; 0: three for each of the source, and ten; of what is given once, or of
  /// nothing, kLongestFound.
  Index longest = 0;
  bool weights = false;  ///< of attention too
  /// Of samples: temperature and the filters that follow it; the rest has no meaning here. The log probabilities of
  /// what is found stay those of the model.
  SamplingOptions filters = {};
  /// What targets may be, their end symbol left out (search/automaton.h); of `best` alone. They all end then.
  const Automaton* allowed = nullptr;
};
inline constexpr Index kLongestFound = 1000;

struct Transduced {
  std::vector<Symbol> symbols = {};  ///< without the end symbol
  bool ended = false;                ///< false: the limit came first
  double log_probability = 0;        ///< of all symbols, the end included
  /// Of each step, one weight for each position of the source; empty unless asked for.
  std::vector<std::vector<double>> weights = {};

  /// What a beam search goes by: nats of a symbol in the mean, so that long targets are not at a loss.
  double score() const {
    return log_probability /
           static_cast<double>(symbols.size() + (ended ? 1 : 0) + (symbols.empty() && !ended ? 1 : 0));
  }
};

template <class T>
class Transducer {
 public:
  /// `lengths`: of networks that read the steps left. Throws UsageError as TargetDecoder, and where lengths are needed
  /// and not there.
  Transducer(const Network<T>& network, const Parameters<T>& parameters, const DataSpecification& data,
             const TargetEnds& ends, Team& team, const LengthModel* lengths = nullptr);
  ~Transducer();

  bool attends() const;
  /// For each chain of a batch, the best first. Reads the fields of sources alone. DataError where nothing that is
  /// allowed is short enough, or possible.
  std::vector<std::vector<Transduced>> best(const Batch& batch, const TransduceOptions& options);
  /// `count` samples of each, drawn for (seed, number of its passage).
  std::vector<std::vector<Transduced>> samples(const Batch& batch, Index count, std::uint64_t seed,
                                               const TransduceOptions& options);

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

/// Whether positions look at a source, a chain of its own. (What is spelt has chains too, but they are no source.)
inline bool reads_source(const DataSpecification& data) {
  return std::ranges::any_of(data.fields, &FieldSpecification::source);
}

}  // namespace unfold
