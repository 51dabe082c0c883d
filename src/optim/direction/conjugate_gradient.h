#pragma once
/// Preconditioned conjugate gradients for a quadratic q(x) = 1/2 x'Bx - b'x with symmetric positive definite B, with
/// the stopping rule and the stored iterates of Martens (2010), sections 4.4 and 4.6.
///
///   CgResult<float> found = conjugate_gradient<float>(team, multiply, b, preconditioner, start, {});
///
/// Sums use numerics/vector.h and are bit-identical for every team size.

#include <functional>
#include <span>
#include <vector>

#include "unfold/base/threads/team.h"
#include "unfold/base/views.h"

namespace unfold {

struct CgOptions {
  Index iterations = 250;  ///< maximum number of iterations
  /// e in the stopping rule: stop at i > k if q < 0 and (q_i - q_{i-k}) / q_i < k e, k = max(10, i/10)
  double tolerance = 5e-4;
};

template <class T>
struct CgIterate {
  Index iteration = 0;
  double q = 0;
  Buffer<T> x = {};
};

template <class T>
struct CgResult {
  Index iterations = 0;
  /// Iterates 1, 2, 3, ..., with gaps growing by a factor of about 1.3, and the last iterate; only the start if there
  /// was no iteration.
  std::vector<CgIterate<T>> iterates = {};
};

/// multiply(v, result): result = B v. preconditioner: a positive diagonal M whose inverse is applied to residuals;
/// empty: none. Starts at the multiple of `start` in [0, 1] that minimizes q, so q never exceeds q(0), even after few
/// iterations. Stops early if rounding leaves no positive curvature along the direction.
template <class T>
CgResult<T> conjugate_gradient(Team& team, const std::function<void(std::span<const T>, std::span<T>)>& multiply,
                               std::span<const T> b, std::span<const T> preconditioner, std::span<const T> start,
                               const CgOptions& options);

/// Returns the sums of x_i y_i over chunks of kSumChunk numbers, divided among a team.
template <class T>
std::vector<double> dots_of_chunks(Team& team, std::span<const T> x, std::span<const T> y);
/// Returns sum_i x_i y_i, computed as the sums of the chunks added in order.
template <class T>
double dot(Team& team, std::span<const T> x, std::span<const T> y);

/// Calls element(i) for every i in [0, n), divided among a team.
template <class Element>
void for_each_element(Team& team, Index n, Element&& element) {
  team.run([&](Member& me) {
    const Range mine = me.share(n, 64);
    for (Index i = mine.begin; i < mine.end; ++i) element(i);
  });
}

}  // namespace unfold
