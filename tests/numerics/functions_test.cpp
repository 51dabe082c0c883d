#include "numerics/functions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "numerics/simd.h"
#include "unfold/numerics/random.h"

namespace unfold::functions_test {
namespace {

template <class T>
using Limits = std::numeric_limits<T>;

/// A type that holds the exact result with many more bits than T.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

template <class W>
W wide_sigmoid(W x) {
  const W e = std::exp(-std::fabs(x));
  return (x < 0 ? e : W{1}) / (1 + e);
}

template <class W>
W wide_softplus(W x) {
  return (x > 0 ? x : W{0}) + std::log1p(std::exp(-std::fabs(x)));
}

/// Returns |got - want| in units in the last place of `want`; 0 for equal special values, infinite for wrong ones.
template <class T>
double ulps(T got, Wide<T> want) {
  const double wrong = Limits<double>::infinity();
  if (std::isnan(want)) return std::isnan(got) ? 0 : wrong;
  const T rounded = static_cast<T>(want);
  if (std::isinf(rounded) || std::isinf(got)) {
    const bool beyond = std::fabs(want) >= Limits<T>::max() && std::signbit(got) == std::signbit(want);
    return got == rounded || beyond ? 0 : wrong;
  }
  if (want == 0) return got == 0 && std::signbit(got) == std::signbit(want) ? 0 : wrong;
  int exponent;
  std::frexp(want, &exponent);
  const Wide<T> unit = std::ldexp(Wide<T>{1}, std::max(exponent, Limits<T>::min_exponent) - Limits<T>::digits);
  return static_cast<double>(std::fabs((got - want) / unit));
}

template <class T>
struct Function {
  const char* name;
  void (*vector)(const T*, T*, Index);
  Wide<T> (*exact)(Wide<T>);
  double bound;  // ulp, as stated in functions.h
};

template <class T>
std::vector<Function<T>> functions() {
  using W = Wide<T>;
  const bool single = sizeof(T) == sizeof(float);
  return {{"exp", vector_exp<T>, [](W x) { return std::exp(x); }, 1.1},
          {"log", vector_log<T>, [](W x) { return x < 0 ? Limits<W>::quiet_NaN() : std::log(x); }, 0.9},
          {"tanh", vector_tanh<T>, [](W x) { return std::tanh(x); }, single ? 1.4 : 1.5},
          {"sigmoid", vector_sigmoid<T>, wide_sigmoid<W>, single ? 2.4 : 2.5},
          {"softplus", vector_softplus<T>, wide_softplus<W>, 1.8}};
}

template <class T>
void expect_within_bounds(const std::vector<T>& x, double& largest, const Function<T>& f) {
  std::vector<T> y(x.size());
  f.vector(x.data(), y.data(), static_cast<Index>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = ulps<T>(y[i], f.exact(x[i]));
    largest = std::max(largest, error);
    ASSERT_LE(error, f.bound) << f.name << "(" << x[i] << ") = " << y[i];
  }
}

TEST(Functions, float_functions_stay_within_bounds_over_all_bit_patterns) {
  // Every 1009th pattern: 1009 is prime, so mantissas and exponents of all kinds are covered.
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 1009) {
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  for (const auto& f : functions<float>()) {
    double largest = 0;
    expect_within_bounds(x, largest, f);
    RecordProperty(f.name, std::to_string(largest));
  }
}

TEST(Functions, float_functions_stay_within_bounds_in_their_varying_range) {
  Random random(1, "float functions");
  std::vector<float> x;
  for (const float reach : {0.01f, 0.6f, 1.5f, 10.0f, 105.0f}) {
    for (int i = 0; i < 300'000; ++i) x.push_back(static_cast<float>(random.uniform(-reach, reach)));
  }
  for (const auto& f : functions<float>()) {
    double largest = 0;
    expect_within_bounds(x, largest, f);
    RecordProperty(f.name, std::to_string(largest));
  }
}

TEST(Functions, double_functions_stay_within_bounds) {
  Random random(2, "double functions");
  std::vector<double> x;
  for (int i = 0; i < 200'000; ++i) x.push_back(std::bit_cast<double>(random.bits64()));
  for (const double reach : {1e-3, 0.1, 0.6, 1.0, 3.0, 20.0, 750.0}) {
    for (int i = 0; i < 100'000; ++i) x.push_back(random.uniform(-reach, reach));
  }
  for (int i = 0; i < 100'000; ++i) x.push_back(random.uniform(-746, -700));  // denormal results
  for (int i = 0; i < 200'000; ++i) x.push_back(random.uniform(0.5, 2));
  for (const auto& f : functions<double>()) {
    double largest = 0;
    expect_within_bounds(x, largest, f);
    RecordProperty(f.name, std::to_string(largest));
  }
}

template <class T>
void check_special_values() {
  const T infinity = Limits<T>::infinity(), nan = Limits<T>::quiet_NaN(), tiny = Limits<T>::denorm_min();
  const std::vector<T> x = {
      T{0}, -T{0}, infinity, -infinity, nan, tiny, -tiny, T{1}, Limits<T>::max(), -Limits<T>::max(), Limits<T>::min(),
      T{-1}};
  std::vector<T> y(x.size());
  for (const auto& f : functions<T>()) {
    f.vector(x.data(), y.data(), static_cast<Index>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_LE(ulps<T>(y[i], f.exact(x[i])), f.bound) << f.name << "(" << x[i] << ") = " << y[i];
    }
  }
  const T zeros[] = {T{0}, -T{0}, T{1}};
  vector_exp(zeros, y.data(), 3);
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], 1);
  vector_tanh(zeros, y.data(), 3);
  EXPECT_TRUE(std::signbit(y[1]));
  vector_sigmoid(zeros, y.data(), 3);
  EXPECT_EQ(y[0], T{0.5});
  vector_log(zeros, y.data(), 3);
  EXPECT_EQ(y[2], 0);
}

TEST(Functions, special_values_match_the_c_library) {
  check_special_values<float>();
  check_special_values<double>();
}

/// Returns the results of all functions for n elements, as bits.
template <class T>
std::vector<T> everything(const std::vector<T>& x) {
  const Index n = static_cast<Index>(x.size());
  std::vector<T> all, y(x.size());
  for (const auto f : {vector_exp<T>, vector_log<T>, vector_tanh<T>, vector_sigmoid<T>, vector_softplus<T>, softmax<T>,
                       log_softmax<T>}) {
    f(x.data(), y.data(), n);
    all.insert(all.end(), y.begin(), y.end());
  }
  all.push_back(log_sum_exp(x.data(), n));
  return all;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0) return false;
  }
  return true;
}

template <class T>
void check_targets() {
  Random random(3, "targets");
  for (Index n = 0; n <= 130; n += n < 36 ? 1 : 17) {
    std::vector<T> x;
    for (Index i = 0; i < n; ++i)
      x.push_back(static_cast<T>(random.uniform(-1, 1) * std::pow(10.0, random.uniform(-3, 3))));
    std::vector<T> first;
    for (const std::string& target : simd_available()) {
      simd_limit(target);
      const std::vector<T> all = everything(x);
      if (first.empty()) first = all;
      ASSERT_TRUE(same_bits(first, all)) << target << ", n = " << n;
    }
  }
  simd_limit(simd_available().front());
}

TEST(Functions, function_bits_do_not_depend_on_the_instruction_set) {
  check_targets<float>();
  check_targets<double>();
}

template <class T>
void check_split_and_ends() {
  Random random(4, "ends");
  constexpr Index kSize = 67;
  std::vector<T> x(kSize), whole(kSize);
  for (T& v : x) v = static_cast<T>(3 * random.normal());
  for (const auto& f : functions<T>()) {
    f.vector(x.data(), whole.data(), kSize);
    for (Index n = 0; n <= kSize; ++n) {
      std::vector<T> y(kSize + 1, T{42});
      f.vector(x.data(), y.data(), n);
      f.vector(x.data() + n, y.data() + n, kSize - n);
      ASSERT_TRUE(std::equal(whole.begin(), whole.end(), y.begin(),
                             [](T a, T b) { return a == b || (std::isnan(a) && std::isnan(b)); }))
          << f.name << " split at " << n;
      ASSERT_EQ(y.back(), T{42}) << f.name << " wrote beyond its end";
      std::vector<T> in_place = x;
      f.vector(in_place.data(), in_place.data(), kSize);
      ASSERT_TRUE(same_bits(in_place, whole)) << f.name << " in place";
    }
  }
}

TEST(Functions, functions_depend_only_on_their_element) {
  for (const std::string& target : simd_available()) {
    simd_limit(target);
    check_split_and_ends<float>();
    check_split_and_ends<double>();
  }
  simd_limit(simd_available().front());
}

template <class T>
void check_log_sum_exp(Index n, T offset) {
  Random random(5, "log sum exp");
  std::vector<T> x(static_cast<std::size_t>(n)), y(x.size());
  for (T& v : x) v = offset + static_cast<T>(4 * random.normal());
  long double sum = 0;
  for (const T v : x) sum += std::exp(static_cast<long double>(v) - offset);
  const long double exact = offset + std::log(sum);
  const double unit = Limits<T>::epsilon();
  EXPECT_NEAR(log_sum_exp(x.data(), n), static_cast<double>(exact), 4 * unit * (1 + std::fabs(exact)));
  log_softmax(x.data(), y.data(), n);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(y[i], static_cast<double>(x[i] - exact), 4 * unit * (8 + std::fabs(x[i] - exact)));
  }
  softmax(x.data(), y.data(), n);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double probability = static_cast<double>(std::exp(x[i] - exact));
    EXPECT_NEAR(y[i], probability, 20 * unit * probability);
  }
}

TEST(LogSumExp, log_sum_exp_and_softmax_agree_with_long_double) {
  for (const Index n : {1, 2, 5, 16, 17, 64, 1000}) {
    check_log_sum_exp<float>(n, 0);
    check_log_sum_exp<double>(n, 0);
    check_log_sum_exp<double>(n, 5000);
    check_log_sum_exp<double>(n, -5000);
  }
}

TEST(LogSumExp, log_sum_exp_handles_empty_and_infinite_inputs) {
  const double infinity = Limits<double>::infinity();
  EXPECT_EQ(log_sum_exp<double>(nullptr, 0), -infinity);
  const double none[] = {-infinity, -infinity, -infinity};
  EXPECT_EQ(log_sum_exp(none, 3), -infinity);
  const double some[] = {-infinity, 2.0, -infinity};
  EXPECT_EQ(log_sum_exp(some, 3), 2.0);
  const double high[] = {0.0, infinity};
  EXPECT_EQ(log_sum_exp(high, 2), infinity);
  const double broken[] = {0.0, Limits<double>::quiet_NaN(), infinity};
  EXPECT_TRUE(std::isnan(log_sum_exp(broken, 3)));
  EXPECT_TRUE(std::isnan(log_sum_exp(broken, 2)));
}

}  // namespace
}  // namespace unfold::functions_test
