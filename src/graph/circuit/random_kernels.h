#pragma once
/// Random convolutional kernels over whole sequences, as an operator (operator.h) that reads a chain of a deeper part
/// and returns pooled features: the features of MiniRocket and MultiRocket (Dempster, Schmidt & Webb 2021; Tan,
/// Dempster, Bergmeir & Webb 2022).
///
/// The 84 kernels have nine taps, three with weight 2 and six with weight -1, so the weights sum to zero. Each is
/// applied with dilations up to (length - 1) / 8, to the series and to its first differences. With several channels,
/// each kernel at each dilation reads a random subset of them. Half of the kernels also read beyond the ends, where the
/// series is zero. Every output is compared with thresholds, and the comparisons are pooled over time to four
/// statistics per threshold (numerics/pooled_convolution.h). Thresholds are quantiles of outputs on training series
/// (select_thresholds); they are the parameters of the operator, which has no derivative: training by gradients raises
/// an error.
///
///   const KernelBank bank({.features = 10'000, .channels = 1, .length = 150});
///   std::vector<float> features(at(bank.features()));
///   bank.features_of(series, thresholds, features.data());
///
/// Time per series is proportional to its length times the number of features.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "numerics/pooled_convolution.h"
#include "unfold/graph/circuit/circuit.h"

namespace unfold {

inline constexpr Index kKernelTaps = 9, kKernelCount = 84;

struct KernelBankOptions {
  Index features = 10'000;  ///< at most this number, but at least one threshold per kernel and representation
  Index channels = 1;
  Index length = 0;           ///< length of a typical series, which determines the dilations
  bool standardized = false;  ///< each channel of a series is first standardized to mean 0 and deviation 1
};

class KernelBank {
 public:
  /// Throws UsageError if a number is below 1.
  explicit KernelBank(const KernelBankOptions& options);

  const KernelBankOptions& options() const { return options_; }
  Index features() const { return kPooledStatistics * thresholds_; }
  Index thresholds() const { return thresholds_; }
  double operations() const;  ///< number of operations per position

  /// Kernels with one dilation and the same treatment of the ends of a series. Feature number 4 first + (s each + k) n
  /// + lane is statistic s of threshold k of a kernel, where n is the number of kernels.
  struct Group {
    bool differences;  ///< reads the first differences
    bool padded;       ///< reads beyond the ends
    Index dilation;
    Index first, each;         ///< the number of the first threshold of the group, and the number of thresholds per
                               ///< kernel
    std::vector<int> kernels;  ///< numbers from 0 to 83, one for each lane in use
    std::vector<float> weights;
  };
  const std::vector<Group>& groups() const { return groups_; }
  /// Returns the weight of a channel at a tap of a kernel.
  float weight(const Group& group, Index lane, Index tap, Index channel) const;

  /// Computes the features of a series [positions x channels] for `thresholds` [thresholds()].
  void features_of(Matrix<const float> series, const float* thresholds, float* features) const;
  /// Returns thresholds: quantiles of the outputs on one random series per kernel and dilation. `series` returns one of
  /// `count` series. The result is a function of the seed and the series. REQUIRES count >= 1.
  std::vector<float> select_thresholds(Index count, const std::function<Matrix<const float>(Index)>& series,
                                       std::uint64_t seed) const;

 private:
  void add_groups(bool differences, Index length);
  Group make_group(bool differences, bool padded, Index dilation, Index each, std::size_t parity);
  Range centers(const Group& group, Index length) const;
  DilatedKernels kernels_of(const Group& group) const;

  KernelBankOptions options_;
  std::vector<Group> groups_;
  Index thresholds_ = 0;
};

/// Returns the operator of a bank: parameters [1 x thresholds]. Keys and values of its memory are both the series.
std::shared_ptr<const Operator> random_kernels(const KernelBankOptions& options);
/// Returns the bank of an operator made by random_kernels; null for other operators.
const KernelBank* as_random_kernels(const Operator* op);

}  // namespace unfold
