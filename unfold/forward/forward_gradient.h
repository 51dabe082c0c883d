#pragma once
/// The gradient of a batch without looking back. A position is read, its loss is added, and what the state owes to the
/// parameters, G_t = ds_t / dtheta, is carried on:
///
///   G_t = J_t G_{t-1} + I_t,   J_t = ds_t / ds_{t-1},  I_t = the partial derivative of s_t       (1)
///   dL/dtheta = sum_t dL_t/dtheta + (dL_t / ds_{t-1}) G_{t-1}                                     (2)
///
///   ForwardGradient<float> forward(network, GradientMethod::parse("rtrl"), {.streams = 1}, team);
///   nats = forward.gradient(batch, state, parameters, step, scale, gradient);
///   forward.leave(batch);                          // as leave_batch does with the state
///
/// so that nothing of the past is kept, however long it is: memory does not grow with the length of a window, and what
/// came before the window counts too. At fixed parameters rtrl is the gradient of the whole sequence (Williams & Zipser
/// 1989); while parameters move it is that of a sequence of which each part was read with the parameters of its time.
/// How G is kept: GradientMethod. Sequences of a batch are divided among the members of the team; their gradients are
/// added in order, so that no number of threads changes a bit.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "unfold/data/batch.h"
#include "unfold/forward/gradient_method.h"

namespace unfold {

struct ForwardOptions {
  Index streams = 1;           ///< that carry their state from batch to batch
  std::uint64_t seed = 1;      ///< of random signs
  std::size_t limit = kLimit;  ///< bytes for what is carried

  static constexpr std::size_t kLimit = std::size_t{2} << 30;
};

/// Throws UsageError as the constructor of ForwardGradient, and makes nothing.
template <class T>
void require_forward_gradient(const Network<T>& network, const GradientMethod& method, const ForwardOptions& options);

template <class T>
class ForwardGradient {
 public:
  /// `network` and `team` are referred to. REQUIRES !method.looks_back(). Throws UsageError: links that do not look
  /// back in time, parts, losses of whole sequences, more memory or time than is affordable, saying how much.
  ForwardGradient(const Network<T>& network, const GradientMethod& method, const ForwardOptions& options, Team& team);
  ~ForwardGradient();
  ForwardGradient(const ForwardGradient&) = delete;

  /// Sum of nats over the predicted targets; gradient [parameters] = scale * d nats / d parameters, by (2). The state
  /// must have entered the batch and carries over. `step`: random signs are a function of it. `dropout_seed`: masks are
  /// those of a pass over the whole batch with it; without one nothing is dropped.
  double gradient(const Batch& batch, State<T>& state, const Parameters<T>& parameters, Index step, double scale,
                  std::span<T> gradient, std::optional<std::uint64_t> dropout_seed = std::nullopt);
  void leave(const Batch& batch);

  /// What the streams carry, [streams x width]: for checkpoints.
  std::span<T> carried();
  Index width() const;  ///< numbers that a stream carries
  /// Before the batch of the last `gradient`: keeps it, puts it back; makes it the present one and undoes that.
  void keep();
  void put_back();
  void swap_kept();

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace unfold
