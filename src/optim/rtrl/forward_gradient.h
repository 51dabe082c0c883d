#pragma once
/// The gradient of a batch computed forward in time, without storing past positions. At each position, the loss is
/// added, and the sensitivity of the state to the parameters, G_t = ds_t / dtheta, is carried forward:
///
///   G_t = J_t G_{t-1} + I_t,   J_t = ds_t / ds_{t-1},  I_t = the partial derivative of s_t       (1)
///   dL/dtheta = sum_t dL_t/dtheta + (dL_t / ds_{t-1}) G_{t-1}                                     (2)
///
///   ForwardGradient<float> forward(network, GradientMethod::parse("rtrl"), {.streams = 1}, team);
///   nats = forward.gradient(batch, state, parameters, step, scale, gradient);
///   forward.leave(batch);                          // as leave_batch does with the state
///
/// Memory does not grow with the length of a window, and positions before the window contribute to the gradient. With
/// fixed parameters, rtrl computes the gradient of the whole sequence (Williams & Zipser 1989). If parameters change
/// during the sequence, it computes the gradient for a sequence in which each part was read with the parameters at that
/// time. GradientMethod selects how G is stored. The sequences of a batch are divided among the threads of the team;
/// their gradients are added in order, so results do not depend on the number of threads.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "unfold/data/text/batch.h"
#include "unfold/optim/rtrl/gradient_method.h"

namespace unfold {

struct ForwardOptions {
  Index streams = 1;           ///< number of streams that carry their state from batch to batch
  std::uint64_t seed = 1;      ///< seed of the random signs
  std::size_t limit = kLimit;  ///< maximum bytes of the carried data

  static constexpr std::size_t kLimit = std::size_t{2} << 30;
};

/// Throws the same UsageErrors as the constructor of ForwardGradient, without allocating anything.
template <class T>
void require_forward_gradient(const Network<T>& network, const GradientMethod& method, const ForwardOptions& options);

template <class T>
class ForwardGradient {
 public:
  /// Keeps references to `network` and `team`. REQUIRES !method.looks_back(). Throws UsageError for links that do not
  /// point to the past, for parts, for sequence losses, and if more memory or time is needed than allowed; the message
  /// states how much.
  ForwardGradient(const Network<T>& network, const GradientMethod& method, const ForwardOptions& options, Team& team);
  ~ForwardGradient();
  ForwardGradient(const ForwardGradient&) = delete;

  /// Returns the sum of nats over the targets; sets gradient [parameters] = scale * d nats / d parameters, by (2). The
  /// state must have been prepared for the batch by `enter_batch`; it is updated. Random signs are a function of
  /// `step`. With `dropout_seed`, masks equal those of a pass over the whole batch with this seed; without it, there is
  /// no dropout.
  double gradient(const Batch& batch, State<T>& state, const Parameters<T>& parameters, Index step, double scale,
                  std::span<T> gradient, std::optional<std::uint64_t> dropout_seed = std::nullopt);
  void leave(const Batch& batch);

  /// Returns the data carried by the streams, [streams x width], for checkpoints.
  std::span<T> carried();
  Index width() const;  ///< numbers carried per stream
  /// Carried data before the batch of the last `gradient` call: keep() stores it, put_back() restores it, swap_kept()
  /// exchanges it with the current data (call twice to undo).
  void keep();
  void put_back();
  void swap_kept();

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace unfold
