#pragma once
/// Fits the readouts of a network that predicts once per sequence and leaves all layers below them unchanged: ridge
/// regression with lambda selected by exact leave-one-out residuals (train/leave_one_out.h). Used for echo state
/// networks, whose readouts read pooled states, and for random kernels.
///
/// Classes are coded as 1 and -1. To calibrate the probabilities, the fitted scores are multiplied by the factor that
/// maximizes the likelihood of the softmax of left-out scores. Standard deviations of numbers (loss `normal`) are
/// computed from left-out residuals. With more than 2,000 examples, one part of the examples is held out once instead
/// of each example in turn (train/streamed_ridge.h), and memory does not grow with their number.

#include <vector>

#include "train/leave_one_out.h"
#include "unfold/data/examples/example_batches.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

template <class T>
struct PooledReadoutFit {
  Index rows = 0;     ///< number of examples in the regression of the first head
  double lambda = 0;  ///< lambda of the first head
  double nats = 0;    ///< negative log-likelihood of left-out entries, per example, summed over all heads
  /// For each head, the signals that its loss reads, one row per example, predicted from other examples. Rows of
  /// examples that have no entry or were not held out are zero.
  std::vector<Buffer<T>> left_out = {};
};

/// Returns whether all heads predict once per sequence.
template <class T>
bool predicts_once(const NetworkModel<T>& model);

/// Reads all training examples once, in order. `options` determine how the examples are read. Throws UsageError for
/// heads with losses other than softmax, gaussian and normal, and DataError like fit_leave_one_out.
template <class T>
PooledReadoutFit<T> fit_pooled_readout(NetworkModel<T>& model, const ExampleSet& training,
                                       const ExampleBatchOptions& options, double lambda, Team& team);

}  // namespace unfold
