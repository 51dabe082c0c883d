#include "unfold/numerics/vector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "numerics/simd.h"
#include "unfold/numerics/random.h"

namespace unfold::vector_test {
namespace {

template <class T>
std::vector<T> numbers(std::size_t n, std::string_view name) {
  Random random(1, name);
  std::vector<T> x(n);
  for (T& v : x) v = static_cast<T>(random.normal());
  return x;
}

template <class T>
std::span<const T> view(const std::vector<T>& x) {
  return x;
}

/// The documented order of summation, without optimizations.
template <class T>
double plain_dot(const std::vector<T>& x, const std::vector<T>& y) {
  double total = 0;
  for (std::size_t begin = 0; begin < x.size(); begin += kSumChunk) {
    double lane[16] = {};
    for (std::size_t i = begin; i < std::min<std::size_t>(x.size(), begin + kSumChunk); ++i) {
      lane[i % 16] = std::fma(static_cast<double>(x[i]), static_cast<double>(y[i]), lane[i % 16]);
    }
    for (int j = 0; j < 8; ++j) lane[j] += lane[j + 8];
    for (int j = 0; j < 4; ++j) lane[j] += lane[j + 4];
    total += (lane[0] + lane[2]) + (lane[1] + lane[3]);
  }
  return total;
}

constexpr std::size_t kSizes[] = {0, 1, 3, 15, 16, 17, 31, 100, 4095, 4096, 4097, 20000};

template <class T>
void check_sums() {
  for (const std::size_t n : kSizes) {
    const auto x = numbers<T>(n, "x"), y = numbers<T>(n, "y");
    EXPECT_EQ(dot(view(x), view(y)), plain_dot(x, y)) << n;
    EXPECT_EQ(sum_of_squares(view(x)), plain_dot(x, x)) << n;
    EXPECT_EQ(sum(view(x)), plain_dot(x, std::vector<T>(n, T{1}))) << n;
  }
}

TEST(Sums, sums_have_the_documented_order_on_every_instruction_set) {
  for (const std::string& target : simd_available()) {
    simd_limit(target);
    check_sums<float>();
    check_sums<double>();
  }
  simd_limit(simd_available().front());
}

TEST(Sums, chunk_sums_added_in_order_equal_the_whole_sum) {
  const auto x = numbers<float>(30000, "chunks");
  double total = 0;
  for (std::size_t i = 0; i < x.size(); i += kSumChunk) {
    total += sum(view(x).subspan(i, std::min<std::size_t>(kSumChunk, x.size() - i)));
  }
  EXPECT_EQ(total, sum(view(x)));
}

template <class T>
void check_largest_and_finite() {
  const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
  for (const std::size_t n : {1u, 7u, 16u, 33u, 5000u}) {
    for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
      auto x = numbers<T>(n, "largest");
      EXPECT_TRUE(all_finite(view(x)));
      x[at] = T{-1000};
      EXPECT_EQ(largest_magnitude(view(x)), 1000);
      x[at] = -infinity;
      EXPECT_EQ(largest_magnitude(view(x)), infinity);
      EXPECT_FALSE(all_finite(view(x)));
      x[at] = nan;
      EXPECT_TRUE(std::isnan(largest_magnitude(view(x))));
      EXPECT_FALSE(all_finite(view(x)));
    }
  }
  EXPECT_EQ(largest_magnitude(std::span<const T>()), 0);
  EXPECT_TRUE(all_finite(std::span<const T>()));
}

TEST(LargestMagnitude, largest_magnitude_includes_nonfinite_values) {
  for (const std::string& target : simd_available()) {
    simd_limit(target);
    check_largest_and_finite<float>();
    check_largest_and_finite<double>();
  }
  simd_limit(simd_available().front());
}

template <class T>
struct Stepped {
  std::vector<T> p, first, second;
  bool operator==(const Stepped&) const = default;
};

const AdamStep kAdam = {1e-3, 0.9, 0.999, 1e-8, 0.19, 0.0019, 0.01, 0.5};
const AdamStep kLazyAdam = {1e-3, 0.9, 0.999, 1e-8, 0.19, 0.0019, 0.01, 0.5, true};
const MomentumStep kMomentum = {0.1, 0.9, false, 1e-3, 0.5};
const MomentumStep kNesterov = {0.1, 0.9, true, 1e-3, 0.5};
const RmsPropStep kRmsProp = {0.01, 0.95, 1e-6, 1e-3, 0.5};

/// Zeros at every third element, and also in whole vectors.
template <class T>
std::vector<T> gradient_with_zeros(std::size_t n) {
  auto g = numbers<T>(n, "g");
  for (std::size_t i = 0; i < n; ++i)
    if (i % 3 == 0 || (i >= 32 && i < 96)) g[i] = 0;
  return g;
}

/// Applies every element-wise operation to the parts of a vector of n elements split at `cut`.
template <class T>
std::vector<Stepped<T>> all_steps(std::size_t n, std::size_t cut) {
  const auto g = gradient_with_zeros<T>(n);
  std::vector<Stepped<T>> results;
  for (int operation = 0; operation < 8; ++operation) {
    Stepped<T> s{numbers<T>(n, "p"), numbers<T>(n, "m"), numbers<T>(n, "v")};
    for (T& v : s.second) v = v * v;
    for (int part = 0; part < 2; ++part) {
      const std::size_t begin = part == 0 ? 0 : cut, count = part == 0 ? cut : n - cut;
      const std::span<T> p(s.p.data() + begin, count), m(s.first.data() + begin, count),
          v(s.second.data() + begin, count);
      const std::span<const T> gradient(g.data() + begin, count);
      switch (operation) {
        case 0: adam_step<T>(p, gradient, m, v, kAdam); break;
        case 1: momentum_step<T>(p, gradient, m, kMomentum); break;
        case 2: momentum_step<T>(p, gradient, m, kNesterov); break;
        case 3: rmsprop_step<T>(p, gradient, v, kRmsProp); break;
        case 4: axpy<T>(T{0.3}, gradient, p); break;
        case 5: scale<T>(T{0.3}, p); break;
        case 6: interpolate<T>(T{0.3}, gradient, p); break;
        case 7: adam_step<T>(p, gradient, m, v, kLazyAdam); break;
      }
    }
    results.push_back(std::move(s));
  }
  return results;
}

/// The formulas of vector.h in double.
template <class T>
std::vector<Stepped<double>> plain_steps(std::size_t n) {
  const auto g = gradient_with_zeros<T>(n), p0 = numbers<T>(n, "p"), m0 = numbers<T>(n, "m"), root = numbers<T>(n, "v");
  std::vector<Stepped<double>> results;
  for (int operation = 0; operation < 8; ++operation) {
    Stepped<double> s;
    for (std::size_t i = 0; i < n; ++i) {
      double p = p0[i], m = m0[i], v = static_cast<double>(root[i]) * root[i];
      const double raw = g[i];
      if (operation == 0 || (operation == 7 && raw != 0)) {
        const double d = kAdam.gradient_scale * raw;
        m = kAdam.beta1 * m + (1 - kAdam.beta1) * d;
        v = kAdam.beta2 * v + (1 - kAdam.beta2) * d * d;
        const double step = (m / kAdam.correction1) / (std::sqrt(v / kAdam.correction2) + kAdam.epsilon);
        p -= kAdam.rate * step + kAdam.rate * kAdam.decay * p;
      } else if (operation <= 2) {
        const MomentumStep& f = operation == 1 ? kMomentum : kNesterov;
        const double d = f.gradient_scale * raw + f.decay * p;
        m = f.momentum * m + d;
        p -= f.rate * (f.nesterov ? d + f.momentum * m : m);
      } else if (operation == 3) {
        const double d = kRmsProp.gradient_scale * raw + kRmsProp.decay * p;
        v = kRmsProp.rho * v + (1 - kRmsProp.rho) * d * d;
        p -= kRmsProp.rate * d / (std::sqrt(v) + kRmsProp.epsilon);
      } else if (operation == 4) {
        p += 0.3 * raw;
      } else if (operation == 5) {
        p *= 0.3;
      } else if (operation == 6) {
        p = 0.3 * p + 0.7 * raw;
      }
      s.p.push_back(p), s.first.push_back(m), s.second.push_back(v);
    }
    results.push_back(std::move(s));
  }
  return results;
}

template <class T>
void expect_near(const std::vector<T>& got, const std::vector<double>& want, int operation) {
  const double tolerance = 8 * static_cast<double>(std::numeric_limits<T>::epsilon());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], tolerance * (1 + std::fabs(want[i])))
        << "operation " << operation << ", element " << i;
  }
}

template <class T>
void check_steps() {
  for (const std::size_t n : {1u, 5u, 16u, 53u, 500u}) {
    const auto got = all_steps<T>(n, n);
    const auto want = plain_steps<T>(n);
    for (std::size_t operation = 0; operation < got.size(); ++operation) {
      expect_near(got[operation].p, want[operation].p, static_cast<int>(operation));
      expect_near(got[operation].first, want[operation].first, static_cast<int>(operation));
      expect_near(got[operation].second, want[operation].second, static_cast<int>(operation));
    }
  }
}

TEST(OptimizerSteps, optimizer_steps_follow_their_formulas) {
  check_steps<float>();
  check_steps<double>();
}

template <class T>
void check_bits() {
  simd_limit(simd_available().front());
  const auto want = all_steps<T>(101, 101);
  for (const std::string& target : simd_available()) {
    simd_limit(target);
    for (const std::size_t cut : {0u, 1u, 16u, 50u, 99u, 101u})
      EXPECT_EQ(all_steps<T>(101, cut), want) << target << cut;
  }
  simd_limit(simd_available().front());
}

TEST(OptimizerSteps, optimizer_bits_do_not_depend_on_division_or_instruction_set) {
  check_bits<float>();
  check_bits<double>();
}

TEST(OptimizerSteps, small_weight_decay_is_kept_in_float) {
  // rate * decay = 1e-9 is lost in 1 - rate * decay in float, but over many steps it must affect the weights.
  std::vector<float> p = {1e-4f}, g = {0}, m = {0}, v = {0};
  AdamStep step = {1e-3, 0.9, 0.999, 1e-8, 1, 1, 1e-2, 1};
  for (int i = 0; i < 1000; ++i) adam_step<float>(p, g, m, v, step);
  EXPECT_NEAR(p[0], 1e-4 * (1 - 1e-2), 1e-4 * 2e-4);
}

}  // namespace
}  // namespace unfold::vector_test
