#pragma once
/// Penalties on the activity of hidden signals, and on the flow of the gradient back through them. They act on a window
/// and add to its loss and gradient; positions that a window does not hold (before its first, after its last) take no
/// part.
///
/// Activity (Krueger & Memisevic 2016, TRec): beta * mean over consecutive positions of (|h_t| - |h_{t-1}|)^2, for each
/// hidden signal. Its gradient is exact: a seed at h.
///
/// Flow (Pascanu, Mikolov & Bengio 2013): with d_t = dL/dh_t and v_t = (dL/dh_{t+1}) (dh_{t+1}/dh_t),
///   weight * mean over sequences of sum_t (|v_t| / |d_{t+1}| - 1)^2.
/// As published, the gradient is the *immediate* derivative: only through the recurrent matrix U in v_t = delta_{t+1}
/// U', with the activities, d and delta (the adjoint before the activation) held fixed. It needs layers that are
/// carried by their output alone, read by one recurrent matrix: rnn and mrnn.

#include <vector>

#include "unfold/losses/network.h"

namespace unfold {

struct PenaltyOptions {
  double activity = 0;  ///< beta, >= 0
  double flow = 0;      ///< weight, >= 0
  /// Share of the target that is spread over all symbols, in [0, 1): not a penalty on activities, but a part of the
  /// loss of symbols (batch_pass.h).
  double smoothing = 0;
  bool any() const { return activity > 0 || flow > 0; }
};

template <class T>
class Penalties {
 public:
  /// Throws UsageError: negative weights, no hidden signal, or one whose flow is not through one matrix, by name.
  Penalties(const PenaltyOptions& options, const Network<T>& network, Team& team);

  /// After a forward pass over rows [first_row, ...) of a window laid over `window`.
  void measure(const Unfolding<T>& unfolding, const Structure& window, Index first_row);
  /// Once all rows are measured, before the backward pass over rows [first_row, ...): the seeds of the hidden signals.
  void seed(Unfolding<T>& unfolding, const Structure& window, Index first_row);
  /// After the backward pass over a whole window: measures the flow, and adds its gradient.
  void add_flow(Unfolding<T>& unfolding, const Parameters<T>& parameters, std::span<T> gradient);
  bool flows() const { return options_.flow > 0; }

  double activity_value(const Structure& window) const;  ///< of what was measured
  double flow_value() const { return flow_value_; }

 private:
  struct Layer {
    Signal hidden;
    Signal affine = {};              ///< flow: read by hidden, reads the matrix
    int matrix = -1;                 ///< flow: parameter U
    std::vector<double> norms = {};  ///< |h| of every row of the window
  };
  void find_matrix(Layer& layer, const Circuit& circuit) const;

  PenaltyOptions options_;
  Team& team_;
  std::vector<Layer> layers_;
  double flow_value_ = 0;
  PackedMatrix<T> packed_;
  Buffer<T> back_;  // v of every row
};

}  // namespace unfold
