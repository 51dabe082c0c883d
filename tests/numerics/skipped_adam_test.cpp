/// Steps of Adam without a gradient, taken together: the bits of single steps with a gradient of zero.

#include "numerics/adam/skipped_adam.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "numerics/simd.h"
#include "unfold/numerics/random.h"

namespace unfold::skipped_adam_test {
namespace {

template <class T>
struct AdamState {
  std::vector<T> p, m, v;
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Contains stretches without moments, zeros of both signs, subnormal and tiny moments.
template <class T>
AdamState<T> adam_state(std::size_t n, std::uint64_t seed) {
  Random random(seed, "adam state");
  AdamState<T> s{std::vector<T>(n), std::vector<T>(n), std::vector<T>(n)};
  const T tiny = std::numeric_limits<T>::min();
  for (std::size_t i = 0; i < n; ++i) {
    s.p[i] = static_cast<T>(random.normal());
    if (random.below(9) == 0) s.p[i] = T{0};
    if (random.below(9) == 0) s.p[i] = -T{0};
    if ((i / 40) % 3 == 0) continue;
    s.m[i] = static_cast<T>(random.normal());
    s.v[i] = s.m[i] * s.m[i];
    switch (random.below(8)) {
      case 0: s.m[i] *= tiny; break;
      case 1: s.m[i] = -T{0}; break;
      case 2: s.m[i] *= static_cast<T>(1e-12); break;
      case 3: s.v[i] = 0; break;
      default: break;
    }
  }
  return s;
}

template <class T>
void expect_bits_of_single_steps(double decay) {
  for (const std::size_t n : {1, 7, 16, 31, 64, 100, 333}) {
    AdamState<T> single = adam_state<T>(n, n), together = single;
    const std::vector<T> zeros(n);
    std::vector<AdamFactors<T>> steps;
    double power1 = 0.9, power2 = 0.999;
    for (int t = 0; t < 50; ++t) {
      const AdamStep step{1e-3 * (1 + t % 3), 0.9, 0.999, 1e-8, 1 - power1, 1 - power2, decay, 0.5 + 0.01 * t};
      adam_step<T>(single.p, zeros, single.m, single.v, step);
      steps.push_back(AdamFactors<T>::of(step));
      power1 *= 0.9;
      power2 *= 0.999;
    }
    skipped_adam_steps<T>(together.p, together.m, together.v, steps);
    EXPECT_TRUE(same_bits(single.p, together.p)) << n;
    EXPECT_TRUE(same_bits(single.m, together.m)) << n;
    EXPECT_TRUE(same_bits(single.v, together.v)) << n;
  }
}

TEST(SkippedAdam, has_the_bits_of_single_steps) {
  for (const std::string& name : simd_available()) {
    simd_limit(name);
    for (const double decay : {0.0, 0.01}) {
      expect_bits_of_single_steps<float>(decay);
      expect_bits_of_single_steps<double>(decay);
    }
  }
  simd_limit(simd_available().front());
}

TEST(SkippedAdam, no_steps_change_nothing) {
  AdamState<float> state = adam_state<float>(50, 1);
  const AdamState<float> before = state;
  skipped_adam_steps<float>(state.p, state.m, state.v, {});
  EXPECT_TRUE(same_bits(before.p, state.p));
}

template <class T>
void expect_same_sums() {
  Random random(3, "ranges");
  for (const Index n : {Index{5}, Index{16}, Index{100}, Index{777}, kSumChunk}) {
    std::vector<T> x(at(n));
    std::vector<Range> ranges;
    for (Index begin = 0; begin < n; begin += 16) {
      const Index end = std::min(n, begin + 16);
      if (random.below(3) == 0) continue;
      for (Index i = begin; i < end; ++i) x[at(i)] = random.below(4) == 0 ? T{0} : static_cast<T>(random.normal());
      if (!ranges.empty() && ranges.back().end == begin && random.below(2) == 0)
        ranges.back().end = end;
      else
        ranges.push_back({begin, end});
    }
    EXPECT_EQ(sum_of_squares_within<T>(x, ranges), sum_of_squares<T>(x)) << n;
  }
}

TEST(SkippedAdam, sum_within_ranges_has_the_bits_of_the_whole_sum) {
  expect_same_sums<float>();
  expect_same_sums<double>();
}

}  // namespace
}  // namespace unfold::skipped_adam_test
