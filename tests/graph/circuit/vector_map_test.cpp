#include "graph/circuit/cell_maps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using Complex = std::complex<double>;
using Dense = std::vector<std::vector<Complex>>;

Dense zeros(Index n) { return Dense(at(n), std::vector<Complex>(at(n))); }
Dense operator*(const Dense& a, const Dense& b) {
  Dense c = zeros(static_cast<Index>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a.size(); ++j)
      for (std::size_t k = 0; k < a.size(); ++k) c[i][j] += a[i][k] * b[k][j];
  return c;
}

/// Returns random numbers, [rows x cols].
template <class T = double>
struct Numbers {
  Numbers(Index rows, Index cols, const char* name) : values(at(rows * cols)), view{values.data(), rows, cols, cols} {
    Random random(7, name);
    for (T& v : values) v = static_cast<T>(random.normal());
  }
  Numbers(const Numbers& other) : values(other.values), view(other.view) { view.data = values.data(); }
  std::vector<T> values;
  Matrix<T> view;
  Matrix<const T> read() const { return view; }
};

template <class T>
OperatorRows<T> on(Matrix<const T> w, Matrix<const T> x, std::vector<T>& scratch) {
  return {.w = w, .x = x, .scratch = scratch.data()};
}

/// D3 R2 F^-1 D2 P R1 F D1, factor by factor.
Dense dense_map(const std::vector<Index>& permutation, Matrix<const double> w) {
  const auto n = static_cast<Index>(permutation.size());
  const auto diagonal = [&](Index row) {
    Dense d = zeros(n);
    for (Index k = 0; k < n; ++k) d[at(k)][at(k)] = std::polar(1.0, w(row, k));
    return d;
  };
  const auto reflection = [&](Index row) {
    Dense r = zeros(n);
    double squares = 0;
    for (Index k = 0; k < n; ++k) squares += std::norm(Complex(w(row, k), w(row + 1, k)));
    for (Index j = 0; j < n; ++j)
      for (Index k = 0; k < n; ++k)
        r[at(j)][at(k)] = Complex(j == k ? 1.0 : 0.0) - 2.0 * Complex(w(row, j), w(row + 1, j)) *
                                                            std::conj(Complex(w(row, k), w(row + 1, k))) / squares;
    return r;
  };
  const auto fourier = [&](double sign) {
    Dense f = zeros(n);
    for (Index j = 0; j < n; ++j)
      for (Index k = 0; k < n; ++k)
        f[at(j)][at(k)] = std::polar(1 / std::sqrt(static_cast<double>(n)),
                                     sign * 2 * std::numbers::pi * static_cast<double>(j * k) / static_cast<double>(n));
    return f;
  };
  Dense p = zeros(n);
  for (Index k = 0; k < n; ++k) p[at(k)][at(permutation[at(k)])] = 1;
  return diagonal(2) * reflection(5) * fourier(1) * diagonal(1) * p * reflection(3) * fourier(-1) * diagonal(0);
}

TEST(CosSin, cos_and_sin_equal_the_library) {
  for (double angle = -40; angle < 40; angle += 0.0137) {
    EXPECT_NEAR(cos_sin(angle).cos, std::cos(angle), 4e-16);
    EXPECT_NEAR(cos_sin(angle).sin, std::sin(angle), 4e-16);
  }
  EXPECT_NEAR(cos_sin(1e6).sin, std::sin(1e6), 1e-15);
  EXPECT_EQ(cos_sin(0).cos, 1);
  EXPECT_EQ(cos_sin(0).sin, 0);
  EXPECT_TRUE(std::isnan(cos_sin(std::numeric_limits<double>::infinity()).cos));
}

TEST(UnitaryMap, unitary_map_is_the_product_of_its_factors_and_its_transpose_is_its_inverse) {
  for (const Index n : {2, 4, 8, 32}) {
    const auto map = unitary_map(n, 3);
    const Numbers w(7, n, "w"), x(21, 2 * n, "x");
    Numbers y(21, 2 * n, "y"), back(21, 2 * n, "back");
    const std::vector<double> before = y.values;
    std::vector<double> scratch(at(map->scratch()));
    map->apply(on(w.read(), x.read(), scratch), y.view);
    const Dense u = dense_map(unitary_permutation(n, 3), w.view);
    for (Index r = 0; r < x.view.rows; ++r)
      for (Index j = 0; j < n; ++j) {
        Complex sum;
        for (Index k = 0; k < n; ++k) sum += u[at(j)][at(k)] * Complex(x.view(r, k), x.view(r, n + k));
        EXPECT_NEAR(y.view(r, j), before[at(2 * n * r + j)] + sum.real(), 1e-13);
        EXPECT_NEAR(y.view(r, n + j), before[at(2 * n * r + n + j)] + sum.imag(), 1e-13);
      }
    for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] -= before[i];
    map->transposed(on(w.read(), x.read(), scratch), y.read(), back.view, true, false);
    for (std::size_t i = 0; i < x.values.size(); ++i) EXPECT_NEAR(back.values[i], x.values[i], 1e-13);
  }
}

TEST(UnitaryMap, sizes_other_than_powers_of_two_are_rejected) {
  for (const Index n : {0, 1, 3, 100}) EXPECT_THROW(unitary_map(n, 0), UsageError);
}

TEST(ModulusRelu, modulus_relu_scales_the_modulus_and_keeps_the_angle) {
  const auto map = modulus_relu(2);
  const double threshold[] = {-0.5, 0.25}, x[] = {3, 0.1, 4, -0.2};  // 3 + 4i, 0.1 - 0.2i
  const double off[] = {-5.1, -0.3};
  double y[4] = {};
  map->apply(OperatorRows<double>{{threshold, 1, 2, 2}, {x, 1, 4, 4}}, {y, 1, 4, 4});
  const double m = std::sqrt(25 + 1e-5), small = std::sqrt(0.05 + 1e-5);
  EXPECT_NEAR(y[0], 3 * (m - 0.5) / m, 1e-15);
  EXPECT_NEAR(y[2], 4 * (m - 0.5) / m, 1e-15);
  EXPECT_NEAR(y[1], 0.1 * (small + 0.25) / small, 1e-15);
  EXPECT_NEAR(y[3], -0.2 * (small + 0.25) / small, 1e-15);
  std::fill_n(y, 4, 0.0);
  map->apply(OperatorRows<double>{{off, 1, 2, 2}, {x, 1, 4, 4}}, {y, 1, 4, 4});
  for (const double value : y) EXPECT_EQ(value, 0);
}

TEST(LayerNorm, layer_norm_rows_have_mean_zero_and_variance_one_before_gains) {
  const auto map = layer_norm(4);
  const double gains[] = {1, 2, 3, -1}, x[] = {1, 4, -2, 9};
  double y[4] = {}, scratch[8];
  map->apply(OperatorRows<double>{.w = {gains, 1, 4, 4}, .x = {x, 1, 4, 4}, .scratch = scratch}, {y, 1, 4, 4});
  double variance = 0;
  for (const double v : x) variance += (v - 3) * (v - 3) / 4;
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(y[i], gains[i] * (x[i] - 3) / std::sqrt(variance + 1e-5), 1e-15);
}

/// Returns the Jacobian of an operator without parameters at x, by central differences: [outputs][inputs].
std::vector<std::vector<double>> jacobian(const Operator& op, std::vector<double> x) {
  std::vector<double> scratch(at(op.scratch()));
  const auto value = [&] {
    std::vector<double> y(at(op.outputs()), 0.0);
    op.apply(OperatorRows<double>{.x = {x.data(), 1, op.inputs(), op.inputs()}, .scratch = scratch.data()},
             {y.data(), 1, op.outputs(), op.outputs()});
    return y;
  };
  std::vector<std::vector<double>> result(at(op.outputs()), std::vector<double>(x.size()));
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double kept = x[j];
    x[j] = kept + 1e-5;
    const std::vector<double> above = value();
    x[j] = kept - 1e-5;
    const std::vector<double> below = value();
    x[j] = kept;
    for (std::size_t i = 0; i < above.size(); ++i) result[i][j] = (above[i] - below[i]) / 2e-5;
  }
  return result;
}

/// Compares the rules of an operator without parameters with its dense Jacobian, row by row.
void expect_rules_of_jacobian(const Operator& op) {
  const Index rows = 5, n = op.inputs(), m = op.outputs();
  const Numbers x(rows, n, "x"), dx(rows, n, "dx"), dy(rows, m, "dy");
  std::vector<double> scratch(at(op.scratch()));
  const OperatorRows<double> in{.x = x.read(), .scratch = scratch.data()};
  for (const bool squared : {false, true}) {
    if (squared && !op.has_squared()) continue;
    Numbers sets(rows, n, "sets"), adds(rows, n, "adds");
    const Numbers before = adds;
    op.transposed(in, dy.read(), sets.view, true, squared);
    op.transposed(in, dy.read(), adds.view, false, squared);
    for (Index r = 0; r < rows; ++r) {
      const auto j = jacobian(op, {x.view.row(r), x.view.row(r) + n});
      for (Index k = 0; k < n; ++k) {
        double sum = 0;
        for (Index i = 0; i < m; ++i) sum += (squared ? j[at(i)][at(k)] : 1) * j[at(i)][at(k)] * dy.view(r, i);
        EXPECT_NEAR(sets.view(r, k), sum, 1e-8) << op.name();
        EXPECT_NEAR(adds.view(r, k), before.view(r, k) + sum, 1e-8) << op.name();
      }
    }
  }
  Numbers moved(rows, m, "moved");
  const Numbers before = moved;
  op.tangent(in, {nullptr, 0, m, m}, dx.read(), moved.view);
  for (Index r = 0; r < rows; ++r) {
    const auto j = jacobian(op, {x.view.row(r), x.view.row(r) + n});
    for (Index i = 0; i < m; ++i) {
      double sum = before.view(r, i);
      for (Index k = 0; k < n; ++k) sum += j[at(i)][at(k)] * dx.view(r, k);
      EXPECT_NEAR(moved.view(r, i), sum, 1e-8) << op.name();
    }
  }
}

TEST(Softmax, softmax_and_mixture_means_follow_their_jacobians) {
  expect_rules_of_jacobian(*softmax_operator(1));
  expect_rules_of_jacobian(*softmax_operator(5));
  expect_rules_of_jacobian(*mixture_mean(1, 2));
  expect_rules_of_jacobian(*mixture_mean(3, 2));
  EXPECT_THROW(softmax_operator(0), UsageError);
  EXPECT_THROW(mixture_mean(0, 2), UsageError);
}

TEST(Softmax, softmax_of_large_numbers_is_finite) {
  const double x[] = {1000, 999, -1000};
  double y[3] = {1, 1, 1}, scratch[3];
  softmax_operator(3)->apply(OperatorRows<double>{.x = {x, 1, 3, 3}, .scratch = scratch}, {y, 1, 3, 3});
  EXPECT_NEAR(y[0], 1 + 1 / (1 + std::exp(-1.0)), 1e-15);
  EXPECT_NEAR(y[1], 1 + 1 / (1 + std::exp(1.0)), 1e-15);
  EXPECT_EQ(y[2], 1);
}

TEST(Softmax, mixture_mean_weighs_the_means_of_components) {
  const double x[] = {std::log(1.0), std::log(3.0), 4, 8, 0, 12};
  double y[2] = {}, scratch[4];
  mixture_mean(2, 2)->apply(OperatorRows<double>{.x = {x, 1, 6, 6}, .scratch = scratch}, {y, 1, 2, 2});
  EXPECT_NEAR(y[0], 1, 1e-14);
  EXPECT_NEAR(y[1], 11, 1e-14);
}

TEST(Leak, leak_rates_have_log_spaced_time_constants) {
  const std::vector<double> times = initial_time_constants(4, 16);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(times[i], std::pow(16.0, (static_cast<double>(i) + 0.5) / 4), 1e-12);
  const auto learned = learned_leak(4), fixed = fixed_leak({0.5, 0.25, 1, 0.125});
  const std::vector<double> starts = initial_leaks(times);
  const double x[] = {1, -2, 3, 4};
  double y[4] = {}, z[4] = {}, scratch[8];
  learned->apply(OperatorRows<double>{.w = {starts.data(), 1, 4, 4}, .x = {x, 1, 4, 4}, .scratch = scratch},
                 {y, 1, 4, 4});
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(y[i], x[i] / times[i], 1e-12);
  fixed->apply(OperatorRows<double>{.w = {nullptr, 0, 4, 4}, .x = {x, 1, 4, 4}, .scratch = scratch}, {z, 1, 4, 4});
  EXPECT_EQ(std::vector<double>(z, z + 4), (std::vector<double>{0.5, -0.5, 3, 0.5}));
}

TEST(ComplexDecay, complex_decay_multiplies_within_the_unit_circle) {
  const auto map = complex_decay(2);
  const double w[] = {-3, 0.5, 0.4, 2.5}, x[] = {1, -2, 0.5, 3};
  double y[4] = {}, scratch[6];
  map->apply(OperatorRows<double>{.w = {w, 1, 4, 4}, .x = {x, 1, 4, 4}, .scratch = scratch}, {y, 1, 4, 4});
  for (std::size_t k = 0; k < 2; ++k) {
    const Complex want = std::exp(Complex(-std::exp(w[k]), w[2 + k])) * Complex(x[k], x[2 + k]);
    EXPECT_NEAR(y[k], want.real(), 1e-15);
    EXPECT_NEAR(y[2 + k], want.imag(), 1e-15);
  }
}

TEST(ComplexDecay, complex_decay_initialization_keeps_the_variance) {
  const std::vector<double> decays = initial_decays(50, 0.99, 0.6, 1), gains = variance_preserving_gains(decays);
  ASSERT_EQ(gains.size(), 50u);
  for (std::size_t k = 0; k < 50; ++k) {
    const double modulus = std::exp(-std::exp(decays[k]));
    EXPECT_GT(modulus, 0.6);
    EXPECT_LT(modulus, 0.99);
    EXPECT_NEAR(std::exp(gains[k]), std::sqrt(1 - modulus * modulus), 1e-14);
    EXPECT_GE(decays[50 + k], 0);
    EXPECT_LT(decays[50 + k], 1);
  }
}

class EveryVectorMap : public testing::TestWithParam<std::shared_ptr<const VectorMap>> {};

TEST_P(EveryVectorMap, vector_map_derivatives_equal_finite_differences) {
  const VectorMap& map = *GetParam();
  const Index rows = 18, size = map.size(), cols = map.parameter_cols();
  Numbers w(map.parameter_rows(), cols, "w"), x(rows, size, "x");
  const Numbers dw(map.parameter_rows(), cols, "dw"), dx(rows, size, "dx"), adjoint(rows, size, "adjoint");
  std::vector<double> scratch(at(map.scratch()));
  const auto moved = [&](double step) {
    Numbers<double> at_w = w, at_x = x;
    std::vector<double> y(at(rows * size));
    for (std::size_t i = 0; i < w.values.size(); ++i) at_w.values[i] += step * dw.values[i];
    for (std::size_t i = 0; i < x.values.size(); ++i) at_x.values[i] += step * dx.values[i];
    map.apply(on(Matrix<const double>{at_w.values.data(), w.view.rows, cols, cols},
                 Matrix<const double>{at_x.values.data(), rows, size, size}, scratch),
              {y.data(), rows, size, size});
    return y;
  };
  std::vector<double> tangent(at(rows * size)), still = tangent, gradient(w.values.size()), back(at(rows * size));
  const auto view = [&](std::vector<double>& v) { return Matrix<double>{v.data(), rows, size, size}; };
  map.tangent(on(w.read(), x.read(), scratch), dw.read(), dx.read(), view(tangent));
  const auto above = moved(1e-5), below = moved(-1e-5);
  for (std::size_t i = 0; i < tangent.size(); ++i) EXPECT_NEAR(tangent[i], (above[i] - below[i]) / 2e-5, 2e-7);

  map.tangent(on(w.read(), x.read(), scratch), dw.read(), Matrix<const double>{}, view(still));
  map.gradient(on(w.read(), x.read(), scratch), adjoint.read(), {gradient.data(), w.view.rows, cols, cols}, {0, cols},
               false);
  map.transposed(on(w.read(), x.read(), scratch), adjoint.read(), view(back), true, false);
  double forward = 0, weights = 0, of_gradient = 0, of_back = 0;
  for (std::size_t i = 0; i < tangent.size(); ++i) {
    forward += adjoint.values[i] * tangent[i];
    weights += adjoint.values[i] * still[i];
    of_back += back[i] * dx.values[i];
  }
  for (std::size_t i = 0; i < gradient.size(); ++i) of_gradient += gradient[i] * dw.values[i];
  EXPECT_NEAR(weights, of_gradient, 1e-11 * (1 + std::abs(weights)));
  EXPECT_NEAR(forward, of_gradient + of_back, 1e-11 * (1 + std::abs(forward)));
}

TEST_P(EveryVectorMap, vector_maps_have_the_same_bits_by_row_and_in_gradient_parts) {
  const VectorMap& map = *GetParam();
  const Index rows = 37, size = map.size();
  const Numbers<float> w(map.parameter_rows(), map.parameter_cols(), "w"), x(rows, size, "x"),
      adjoint(rows, size, "adjoint");
  std::vector<float> scratch(at(map.scratch()));
  Numbers<float> whole(rows, size, "y"), parts(rows, size, "y");
  Numbers<float> gradient(map.parameter_rows(), map.parameter_cols(), "g"),
      sum(map.parameter_rows(), map.parameter_cols(), "g");
  map.apply(on(w.read(), x.read(), scratch), whole.view);
  for (Index r = 0; r < rows; ++r)
    map.apply(on(w.read(), x.read().rows_from(r, 1), scratch), parts.view.rows_from(r, 1));
  EXPECT_EQ(whole.values, parts.values);
  const Range columns{0, map.parameter_cols()};
  map.gradient(on(w.read(), x.read(), scratch), adjoint.read(), gradient.view, columns, false);
  for (const auto& [begin, count] : {std::pair<Index, Index>{20, 17}, {3, 17}, {0, 3}})
    map.gradient(on(w.read(), x.read().rows_from(begin, count), scratch), adjoint.read().rows_from(begin, count),
                 sum.view, columns, false);
  EXPECT_EQ(gradient.values, sum.values);
}

TEST_P(EveryVectorMap, squared_rules_square_every_entry_of_the_jacobian) {
  const VectorMap& map = *GetParam();
  if (!map.has_squared()) GTEST_SKIP() << map.name() << " has no entries";
  const Index rows = 3, size = map.size(), cols = map.parameter_cols(), count = map.parameter_rows() * cols;
  const Numbers w(map.parameter_rows(), cols, "w"), x(rows, size, "x"), weights(rows, size, "weights");
  std::vector<double> scratch(at(map.scratch())), moduli(at(rows * size)), back(moduli), gradient(at(count));
  for (std::size_t i = 0; i < moduli.size(); ++i) moduli[i] = weights.values[i] * weights.values[i];
  const Matrix<const double> phi{moduli.data(), rows, size, size};
  map.transposed(on(w.read(), x.read(), scratch), phi, {back.data(), rows, size, size}, true, true);
  map.gradient(on(w.read(), x.read(), scratch), phi, {gradient.data(), w.view.rows, cols, cols}, {0, cols}, true);
  std::vector<double> expected(at(count));
  for (Index r = 0; r < rows; ++r) {
    std::vector<double> of_row(at(size));
    for (Index i = 0; i < size; ++i) {
      std::vector<double> unit(at(size)), entries(at(size)), slopes(at(count));
      unit[at(i)] = 1;
      const auto in = on(w.read(), x.read().rows_from(r, 1), scratch);
      map.transposed(in, {unit.data(), 1, size, size}, {entries.data(), 1, size, size}, true, false);
      map.gradient(in, {unit.data(), 1, size, size}, {slopes.data(), w.view.rows, cols, cols}, {0, cols}, false);
      for (Index j = 0; j < size; ++j) of_row[at(j)] += phi(r, i) * entries[at(j)] * entries[at(j)];
      for (Index k = 0; k < count; ++k) expected[at(k)] += phi(r, i) * slopes[at(k)] * slopes[at(k)];
    }
    for (Index j = 0; j < size; ++j) EXPECT_NEAR(back[at(r * size + j)], of_row[at(j)], 1e-11 * (1 + of_row[at(j)]));
  }
  for (Index k = 0; k < count; ++k) EXPECT_NEAR(gradient[at(k)], expected[at(k)], 1e-11 * (1 + expected[at(k)]));
}

INSTANTIATE_TEST_SUITE_P(, EveryVectorMap,
                         testing::Values(unitary_map(8, 1), unitary_map(2, 1), modulus_relu(5), layer_norm(7),
                                         complex_decay(4), complex_gain(3)));

}  // namespace
}  // namespace unfold
