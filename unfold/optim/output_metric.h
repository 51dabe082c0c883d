#pragma once
/// The output weights' half of Riemannian training: likelihood, gradient, quasi-diagonal Hessian and the seeds of the
/// backward passes, in one sweep over the positions to be predicted (equations 17-21 and 24 of the source;
/// docs/riemannian.md). Signs are those of the loss: nats = -F, gradients point uphill of the loss.

#include <vector>

#include "unfold/optim/core_pass.h"

namespace unfold {

template <class T>
class OutputMetric {
 public:
  /// `averages`: `direction` will be asked to keep a running average.
  OutputMetric(const CorePass<T>& core, double damping, bool averages);

  struct Wanted {
    bool metric = false;     ///< gradient and Hessian
    bool adjoints = false;   ///< seeds of the backward pass at the activities
    bool variances = false;  ///< seeds of the modulus: Var_{x ~ pi_t} w_{ix}; REQUIRES adjoints
  };
  /// Sum of nats over the positions of the batch to be predicted, from the activities of the core's last forward pass.
  double pass(CorePass<T>& core, const Parameters<T>& parameters, const Batch& batch, const Wanted& wanted);

  /// Adds gradients and Hessian of the last pass with metric to the running averages (`keep` of the old ones; 0: the
  /// pass alone) and sets the direction H^-1 G at the output weights (all of `direction`'s other entries stay).
  void direction(const Parameters<T>& parameters, double keep, std::span<double> direction);
  /// The plain gradient of the last pass with metric.
  void gradient(const Parameters<T>& parameters, std::span<double> gradient) const;
  /// Overwrites the adjoints of the core's activities by the variances of the last pass that wanted them.
  void seed_variances(CorePass<T>& core) const;

  std::span<T> average() { return average_; }  ///< state of the running average, for checkpoints

 private:
  /// One member's memory for one tile.
  struct Scratch {
    Buffer<T> activities, squares, logits, hessians, seeds, nats, sums;
    std::vector<Symbol> targets;
  };
  void tile(CorePass<T>& core, std::span<const Symbol> all_targets, const Wanted& wanted, Range rows, Scratch& s,
            double* sums, double& nats);
  void load(const Parameters<T>& parameters, const Wanted& wanted);
  Index block() const { return units_ * alphabet_; }

  std::vector<int> term_parameters_;
  std::vector<Index> term_sizes_;
  int bias_;
  Index units_, alphabet_;
  PackedMatrix<T> packed_, packed_transposed_;
  Buffer<T> weights_, weights_by_symbol_, bias_values_;  // [units x alphabet], its transpose, [alphabet]
  std::vector<Index> rows_;                              // to be predicted
  std::vector<Symbol> targets_;
  Buffer<T> variances_;  // [positions x units]
  /// G, H_0i, H_ii [units x alphabet] each, then G_0, H_00 [alphabet] each.
  std::vector<double> sums_;
  std::vector<T> average_;  // as sums_, and its weight
  double damping_;
  std::vector<double> frequencies_;
  std::vector<Scratch> scratch_;
};

}  // namespace unfold
