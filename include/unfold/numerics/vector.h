#pragma once
/// Operations on long vectors, mainly for optimizers. Sums use 16 fixed virtual lanes of double (products of floats are
/// exact there) within chunks of kSumChunk elements, and add the chunks in order: the result does not depend on the
/// vector width. Threads that process whole chunks get the same result by adding the sums of the chunks in order. The
/// results of element-wise operations do not depend on how a vector is divided. All spans of one call have the same
/// length; settings are rounded to T once.

#include <span>

#include "unfold/base/views.h"

namespace unfold {

inline constexpr Index kSumChunk = 4096;

template <class T>
double sum(std::span<const T> x);
template <class T>
double dot(std::span<const T> x, std::span<const T> y);
template <class T>
double sum_of_squares(std::span<const T> x);
template <class T>
T largest_magnitude(std::span<const T> x);  ///< NaN if any element is NaN
template <class T>
bool all_finite(std::span<const T> x);
template <class T>
void axpy(T a, std::span<const T> x, std::span<T> y);  ///< y += a x (fused)
template <class T>
void scale(T a, std::span<T> x);  ///< x *= a
template <class T>
void interpolate(T a, std::span<const T> x, std::span<T> y);  ///< y = a y + (1-a) x

/// Element-wise updates of optimizers, fused into one pass over memory. `g` is first multiplied by `gradient_scale`
/// (clipping).
struct AdamStep {
  double rate, beta1, beta2, epsilon, correction1, correction2;  ///< corrections: 1 - beta^t
  double decay;                                                  ///< decoupled weight decay: p -= rate * decay * p
  double gradient_scale;
  bool lazy = false;  ///< if true, p, m and v are unchanged where g is exactly zero
};
/// m = beta1 m + (1-beta1) g; v = beta2 v + (1-beta2) g^2;
/// p -= rate * ((m / correction1) / (sqrt(v / correction2) + epsilon) + decay * p)
template <class T>
void adam_step(std::span<T> p, std::span<const T> g, std::span<T> m, std::span<T> v, const AdamStep& step);

struct MomentumStep {
  double rate, momentum;
  bool nesterov;
  double decay, gradient_scale;  ///< decay adds decay * p to the gradient
};
/// velocity = momentum * velocity + g; p -= rate * (nesterov ? g + momentum * velocity : velocity)
template <class T>
void momentum_step(std::span<T> p, std::span<const T> g, std::span<T> velocity, const MomentumStep& step);

struct RmsPropStep {
  double rate, rho, epsilon, decay, gradient_scale;
};
/// v = rho v + (1-rho) g^2; p -= rate * g / (sqrt(v) + epsilon)
template <class T>
void rmsprop_step(std::span<T> p, std::span<const T> g, std::span<T> v, const RmsPropStep& step);

}  // namespace unfold
