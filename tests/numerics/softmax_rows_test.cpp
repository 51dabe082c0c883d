#include "numerics/softmax_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "numerics/functions.h"
#include "numerics/simd.h"
#include "unfold/numerics/random.h"

namespace unfold::softmax_rows_test {
namespace {

constexpr Index kRows = 70, kAlphabet = 19, kUnits = 11;

template <class T>
struct Data {
  std::vector<T> logits, weights;
  std::vector<Symbol> targets;
  Data() {
    Random random(6, "predictions");
    for (Index i = 0; i < kRows * kAlphabet; ++i) logits.push_back(static_cast<T>(3 * random.normal()));
    for (Index i = 0; i < kAlphabet * kUnits; ++i) weights.push_back(static_cast<T>(random.normal()));
    for (Index r = 0; r < kRows; ++r) targets.push_back(static_cast<Symbol>(random.below(kAlphabet)));
  }
  Matrix<const T> matrix() const { return {logits.data(), kRows, kAlphabet, kAlphabet}; }
};

template <class T>
struct Found {
  std::vector<T> errors, nats = std::vector<T>(kRows), hessians = std::vector<T>(kRows * kAlphabet);
  explicit Found(const Data<T>& data) : errors(data.logits) {
    const Matrix<T> rows{errors.data(), kRows, kAlphabet, kAlphabet};
    softmax_errors<T>(rows, data.targets.data(), nats.data());
    hessian_diagonals<T>(rows, data.targets.data(), {hessians.data(), kRows, kAlphabet, kAlphabet});
  }
};

TEST(SoftmaxErrors, softmax_errors_are_probabilities_minus_the_target) {
  const Data<double> data;
  const Found<double> found(data);
  for (Index r = 0; r < kRows; ++r) {
    double total = 0;
    for (Index x = 0; x < kAlphabet; ++x) total += std::exp(data.matrix()(r, x));
    const Symbol target = data.targets[static_cast<std::size_t>(r)];
    EXPECT_NEAR(found.nats[static_cast<std::size_t>(r)], std::log(total) - data.matrix()(r, target), 1e-13);
    for (Index x = 0; x < kAlphabet; ++x) {
      const double p = std::exp(data.matrix()(r, x)) / total;
      EXPECT_NEAR(found.errors[static_cast<std::size_t>(r * kAlphabet + x)], p - (x == target), 1e-14);
      EXPECT_NEAR(found.hessians[static_cast<std::size_t>(r * kAlphabet + x)], p * (1 - p), 1e-14);
    }
  }
}

TEST(SoftmaxErrors, float_softmax_errors_equal_double_to_float_precision) {
  const Data<float> data;
  const Data<double> exact;
  const Found<float> found(data);
  const Found<double> expected(exact);
  for (std::size_t i = 0; i < expected.errors.size(); ++i) EXPECT_NEAR(found.errors[i], expected.errors[i], 2e-6);
  for (std::size_t r = 0; r < expected.nats.size(); ++r) EXPECT_NEAR(found.nats[r], expected.nats[r], 1e-5);
}

TEST(SoftmaxErrors, nonfinite_logits_are_reported) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> logits(kAlphabet, 0);
    logits[4] = bad;
    const Symbol target = 2;
    float nats = 0;
    softmax_errors<float>({logits.data(), 1, kAlphabet, kAlphabet}, &target, &nats);
    EXPECT_FALSE(std::isfinite(nats));
  }
}

TEST(SoftmaxErrors, largest_logits_do_not_overflow) {
  std::vector<float> logits = {-1e30f, 3e30f, 0};
  const Symbol target = 1;
  float nats = 1;
  softmax_errors<float>({logits.data(), 1, 3, 3}, &target, &nats);
  EXPECT_EQ(nats, 0);
  EXPECT_EQ(logits, (std::vector<float>{0, 0, 0}));
}

/// The normalizers and gradients of rows, some of which have no target.
template <class T>
struct Gradients {
  std::vector<Symbol> targets;
  std::vector<T> normalizers = std::vector<T>(kRows), values = std::vector<T>(kRows * kAlphabet);
  explicit Gradients(const Data<T>& data) : targets(data.targets) {
    targets[3] = targets[40] = kNoSymbol;
    log_normalizers<T>(data.matrix(), targets.data(), normalizers.data());
    softmax_gradients<T>(data.matrix(), targets.data(), normalizers.data(), T(0.7),
                         {values.data(), kRows, kAlphabet, kAlphabet});
  }
};

template <class T>
void expect_bits_of_single_rows() {
  const Data<T> data;
  const Gradients<T> found(data);
  for (Index r = 0; r < kRows; ++r) {
    const Symbol target = found.targets[static_cast<std::size_t>(r)];
    const T normalizer = target == kNoSymbol ? T{0} : log_sum_exp(data.matrix().row(r), kAlphabet);
    EXPECT_EQ(found.normalizers[static_cast<std::size_t>(r)], normalizer);
    for (Index x = 0; x < kAlphabet; ++x) {
      T p = data.matrix()(r, x) - normalizer;
      vector_exp(&p, &p, 1);
      const T expected = target == kNoSymbol ? T{0} : T(0.7) * (x == target ? p - 1 : p);
      EXPECT_EQ(found.values[static_cast<std::size_t>(r * kAlphabet + x)], expected);
    }
  }
}

TEST(SoftmaxGradients, have_the_bits_of_single_rows) {
  expect_bits_of_single_rows<float>();
  expect_bits_of_single_rows<double>();
}

TEST(SoftmaxGradients, may_overwrite_the_logits) {
  Data<float> data;
  const Gradients<float> expected(data);
  const Matrix<float> rows{data.logits.data(), kRows, kAlphabet, kAlphabet};
  softmax_gradients<float>(rows, expected.targets.data(), expected.normalizers.data(), 0.7f, rows);
  EXPECT_EQ(data.logits, expected.values);
}

TEST(SoftmaxGradients, normalizers_of_nonfinite_logits_equal_log_sum_exp) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::vector<float>> cases = {
      {1, kInfinity, 0},   {-kInfinity, -kInfinity, -kInfinity}, {1, kNan, 0}, {kNan, kNan, kNan}, {kInfinity, kNan, 0},
      {-kInfinity, 2, -1}, {-kInfinity, kNan, -kInfinity}};
  for (const std::vector<float>& logits : cases) {
    const Symbol target = 0;
    float found = 0;
    log_normalizers<float>({logits.data(), 1, 3, 3}, &target, &found);
    const float expected = log_sum_exp(logits.data(), 3);
    EXPECT_TRUE(found == expected || (std::isnan(found) && std::isnan(expected))) << found << " " << expected;
  }
}

/// Returns the variances of the weights; the given means do not include the weights of the targets.
template <class T>
std::vector<T> variances(const Data<T>& data) {
  std::vector<T> p = Found<T>(data).errors, result(kRows * kUnits, 0);
  for (Index r = 0; r < kRows; ++r)
    p[static_cast<std::size_t>(r * kAlphabet + data.targets[static_cast<std::size_t>(r)])] += 1;
  for (Index r = 0; r < kRows; ++r)
    for (Index x = 0; x < kAlphabet; ++x)
      for (Index i = 0; i < kUnits; ++i)
        result[static_cast<std::size_t>(r * kUnits + i)] +=
            (p[static_cast<std::size_t>(r * kAlphabet + x)] - (x == data.targets[static_cast<std::size_t>(r)])) *
            data.weights[static_cast<std::size_t>(x * kUnits + i)];
  const Matrix<T> means{result.data(), kRows, kUnits, kUnits};
  column_variances<T>({p.data(), kRows, kAlphabet, kAlphabet}, {data.weights.data(), kAlphabet, kUnits, kUnits},
                      data.targets.data(), means, means);
  return result;
}

TEST(ColumnVariances, column_variances_equal_those_of_the_distribution) {
  const Data<double> data;
  const std::vector<double> found = variances(data);
  for (Index r = 0; r < kRows; ++r) {
    double total = 0;
    for (Index x = 0; x < kAlphabet; ++x) total += std::exp(data.matrix()(r, x));
    for (Index i = 0; i < kUnits; ++i) {
      double mean = 0, square = 0;
      for (Index x = 0; x < kAlphabet; ++x) {
        const double p = std::exp(data.matrix()(r, x)) / total,
                     w = data.weights[static_cast<std::size_t>(x * kUnits + i)];
        mean += p * w, square += p * w * w;
      }
      EXPECT_NEAR(found[static_cast<std::size_t>(r * kUnits + i)], square - mean * mean, 1e-13);
    }
  }
}

TEST(PredictionRows, prediction_rows_do_not_depend_on_the_instruction_set) {
  const Data<float> data;
  const Found<float> first(data);
  const Gradients<float> first_gradients(data);
  const std::vector<float> expected = variances(data);
  for (const std::string& simd : simd_available()) {
    simd_limit(simd);
    const Found<float> found(data);
    const Gradients<float> gradients(data);
    EXPECT_EQ(gradients.normalizers, first_gradients.normalizers) << simd;
    EXPECT_EQ(gradients.values, first_gradients.values) << simd;
    EXPECT_EQ(found.errors, first.errors) << simd;
    EXPECT_EQ(found.nats, first.nats) << simd;
    EXPECT_EQ(found.hessians, first.hessians) << simd;
    EXPECT_EQ(variances(data), expected) << simd;
  }
  simd_limit(simd_available().front());
}

}  // namespace
}  // namespace unfold::softmax_rows_test
