#pragma once
/// Internal: the arithmetic of a step of Adam, shared by the kernels that take one step for all parameters (vector.cpp)
/// and those that take several steps without a gradient (skipped_adam.cpp).

#include <cmath>

#include "unfold/numerics/vector.h"

namespace unfold {

/// The settings of a step, reduced to the factors of its formula in the element type.
template <class T>
struct AdamFactors {
  T gradient_scale, beta1, rest1, beta2, rest2, root, epsilon, boost, decay, rate;

  static AdamFactors of(const AdamStep& step) {
    const auto as = [](double value) { return static_cast<T>(value); };
    return {.gradient_scale = as(step.gradient_scale),
            .beta1 = as(step.beta1),
            .rest1 = as(1 - step.beta1),
            .beta2 = as(step.beta2),
            .rest2 = as(1 - step.beta2),
            .root = as(1 / std::sqrt(step.correction2)),
            .epsilon = as(step.epsilon),
            .boost = as(1 / step.correction1),
            .decay = as(step.decay),
            .rate = as(step.rate)};
  }
};

}  // namespace unfold
