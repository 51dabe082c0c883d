#include "optim/riemannian/damped_cholesky.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "numerics/moments.h"

namespace unfold {

void raised_factor(double* a, Index n) {
  const std::vector<double> before(a, a + n * n);
  double largest = 0;
  for (Index i = 0; i < n; ++i) largest = std::max(largest, std::fabs(before[at(i * n + i)]));
  for (const double share : {0.0, 1e-12, 1e-9, 1e-6}) {
    std::copy(before.begin(), before.end(), a);
    for (Index i = 0; i < n && share > 0; ++i) a[i * n + i] += share * largest;
    if (cholesky(a, n, n)) return;
  }
  std::fill_n(a, n * n, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace unfold
