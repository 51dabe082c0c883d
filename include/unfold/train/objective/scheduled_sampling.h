#pragma once
/// Scheduled sampling (Bengio et al. 2015): prepares a network for reading its own outputs by replacing some of its
/// true inputs with its outputs during training. All positions are processed in parallel, as with teacher forcing: a
/// pass over the true batch computes the outputs after each position; then a fraction of the inputs "previous F" is
/// replaced by them (Mihaylova & Martins 2019). Replaced inputs are treated as constants: no gradient flows through
/// them.

#include <cstdint>
#include <string_view>
#include <vector>

#include "unfold/data/text/batch.h"
#include "unfold/train/passes/batch_pass.h"

namespace unfold {

/// The fraction of positions that read the true value, over the training run: from `from` at the beginning of the run
/// to `to` at its end.
struct TeacherForcing {
  enum class Shape { linear, exponential, inverse_sigmoid };
  double from = 1, to = 1;
  Shape shape = Shape::linear;

  bool always() const { return from == 1 && to == 1; }
  double at(double fraction) const;  ///< fraction of the run, 0 to 1
  /// Parses "1..0.2", or a single number for the whole run. Throws UsageError unless shares are in [0, 1] (above 0 for
  /// the exponential shape).
  static TeacherForcing parse(std::string_view shares, Shape shape);
};

template <class T>
class ScheduledSampling {
 public:
  /// Throws a UsageError that names the problem: the network reads nothing that it predicts, or a loss scores labels
  /// jointly, so its outputs do not define a choice at each position.
  ScheduledSampling(const Network<T>& network, Team& team, std::uint64_t seed);

  /// Returns the batch in which each position reads, with probability 1 - `forcing`, the network's earlier output: a
  /// sample of symbols or the mean of numbers. Inputs before the beginning of a chain are unchanged. `enter_batch` must
  /// have been called for `state`, which is not modified. The result is also a function of the seed and `step`.
  const Batch& mix(const Batch& batch, const State<T>& state, const Parameters<T>& parameters, double forcing,
                   Index step);

 private:
  /// A field that is read `back` positions after head `head` has predicted it.
  struct Use {
    std::string field;
    std::size_t head;
    Index back;
  };
  void replace(const Use& use, Matrix<const T> output, double forcing, Random& random);

  const Network<T>& network_;
  std::uint64_t seed_;
  BatchPass<T> pass_;
  std::vector<Use> uses_;
  State<T> state_;
  Batch mixed_;
};

}  // namespace unfold
