#include "loss/draw.h"

#include "numerics/functions.h"
#include "unfold/loss/scratch.h"

namespace unfold {

template <class T>
Index draw_by_logs(std::span<const T> log_probabilities, Random& random) {
  const auto n = static_cast<Index>(log_probabilities.size());
  T* p = row_scratch<T>(n);
  vector_exp(log_probabilities.data(), p, n);
  double total = 0;
  for (Index x = 0; x < n; ++x) total += p[x];
  // Scaled by the total, so rounding of the probabilities leaves no gap after the last entry.
  double left = total > 0 ? random.uniform() * total : 0;
  Index last = -1;
  for (Index x = 0; x < n; ++x) {
    if (!(p[x] > 0)) continue;
    last = x;
    if (left < p[x]) break;
    left -= p[x];
  }
  return last;
}

template Index draw_by_logs(std::span<const float>, Random&);
template Index draw_by_logs(std::span<const double>, Random&);

}  // namespace unfold
