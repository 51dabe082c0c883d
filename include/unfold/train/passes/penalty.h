#pragma once
/// Penalties on the activations of hidden signals and on the gradient flow through them. They apply to a window and add
/// to its loss and gradient; positions outside the window do not contribute.
///
/// Activity (Krueger & Memisevic 2016, TRec): beta * mean over consecutive positions of (|h_t| - |h_{t-1}|)^2, for each
/// hidden signal. Its gradient is exact and enters as a seed at h.
///
/// Flow (Pascanu, Mikolov & Bengio 2013): with d_t = dL/dh_t and v_t = (dL/dh_{t+1}) (dh_{t+1}/dh_t),
///   weight * mean over sequences of sum_t (|v_t| / |d_{t+1}| - 1)^2.
/// As published, the gradient is the *immediate* derivative: only the derivative through the recurrent matrix U in v_t
/// = delta_{t+1} U', with the activations, d and delta (the adjoint before the activation function) held fixed. This
/// requires layers whose output is their only recurrent state and is read by a single recurrent matrix (rnn and mrnn).

#include <vector>

#include "unfold/loss/network.h"

namespace unfold {

struct PenaltyOptions {
  double activity = 0;  ///< beta, >= 0
  double flow = 0;      ///< weight, >= 0
  /// Label smoothing: fraction of the target probability that is spread over all symbols, in [0, 1). Not a penalty on
  /// activations, but part of the loss of symbols (batch_pass.h).
  double smoothing = 0;
  bool any() const { return activity > 0 || flow > 0; }
};

template <class T>
class Penalties {
 public:
  /// Throws UsageError for negative weights, if there is no hidden signal, and for a signal (named in the message)
  /// whose flow does not go through a single matrix.
  Penalties(const PenaltyOptions& options, const Network<T>& network, Team& team);

  /// Called after a forward pass over rows [first_row, ...) of a window with the structure `window`.
  void measure(const Unfolding<T>& unfolding, const Structure& window, Index first_row);
  /// Adds the seeds of the hidden signals. Called once all rows are measured, before the backward pass over rows
  /// [first_row, ...).
  void seed(Unfolding<T>& unfolding, const Structure& window, Index first_row);
  /// Called after the backward pass over a whole window: computes the flow penalty and adds its gradient.
  void add_flow(Unfolding<T>& unfolding, const Parameters<T>& parameters, std::span<T> gradient);
  bool flows() const { return options_.flow > 0; }

  double activity_value(const Structure& window) const;  ///< activity penalty of the measured rows
  double flow_value() const { return flow_value_; }

 private:
  struct Layer {
    Signal hidden;
    Signal affine = {};              ///< flow: the affine map that uses the matrix and is read by `hidden`
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
