#include "graph/circuit/quadratic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// Returns random numbers, [rows x cols].
template <class T>
struct Table {
  Table(Index rows, Index cols, const char* name) : values(at(rows * cols)), view{values.data(), rows, cols, cols} {
    Random random(9, name);
    for (T& v : values) v = static_cast<T>(random.normal());
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  Matrix<const T> read() const { return view; }
  std::vector<T> values;
  Matrix<T> view;
};

constexpr Index kQuadInputs = 5, kQuadOutputs = 3, kQuadRows = 37, kQuadPairs = kQuadInputs * (kQuadInputs + 1) / 2;
constexpr double kQuadScale = 0.375;

/// V as a full tensor: the weight of each pair counts once.
double weight(Matrix<const double> w, Index i, Index j, Index k) {
  Index row = 0;
  for (Index a = 0; a < kQuadInputs; ++a)
    for (Index b = a; b < kQuadInputs; ++b, ++row)
      if (a == i && b == j) return w(row, k);
  return 0;
}

TEST(QuadraticForm, quadratic_form_and_derivatives_equal_explicit_sums) {
  const auto form = quadratic_form(kQuadInputs, kQuadOutputs, kQuadScale);
  const Table<double> w(kQuadPairs, kQuadOutputs, "w"), dw(kQuadPairs, kQuadOutputs, "dw");
  const Table<double> x(kQuadRows, kQuadInputs, "x"), dx(kQuadRows, kQuadInputs, "dx"), seed(kQuadRows, 3, "seed");
  std::vector<double> scratch(at(form->scratch()));
  const OperatorRows<double> in{.w = w.read(), .x = x.read(), .scratch = scratch.data()};
  Table<double> y(kQuadRows, 3, "y"), moved(kQuadRows, 3, "y"), back(kQuadRows, kQuadInputs, "back"),
      added(kQuadRows, kQuadInputs, "added"), g(kQuadPairs, 3, "g");
  const std::vector<double> start = y.values, before = added.values, gradient = g.values;
  form->apply(in, y.view);
  form->tangent(in, dw.read(), dx.read(), moved.view);
  form->transposed(in, seed.read(), back.view, true, false);
  form->transposed(in, seed.read(), added.view, false, false);
  form->gradient(in, seed.read(), g.view, {0, 3}, false);
  std::vector<double> expected_gradient = gradient;
  for (Index r = 0; r < kQuadRows; ++r) {
    std::vector<double> expected_back(at(kQuadInputs), 0.0);
    for (Index k = 0; k < 3; ++k) {
      double value = start[at(3 * r + k)], tangent = value;
      Index pair = 0;
      for (Index i = 0; i < kQuadInputs; ++i)
        for (Index j = i; j < kQuadInputs; ++j, ++pair) {
          const double v = kQuadScale * weight(w.read(), i, j, k), product = x.view(r, i) * x.view(r, j);
          value += v * product;
          tangent += kQuadScale * weight(dw.read(), i, j, k) * product +
                     v * (dx.view(r, i) * x.view(r, j) + x.view(r, i) * dx.view(r, j));
          expected_back[at(i)] += seed.view(r, k) * v * x.view(r, j);
          expected_back[at(j)] += seed.view(r, k) * v * x.view(r, i);
          expected_gradient[at(3 * pair + k)] += kQuadScale * seed.view(r, k) * product;
        }
      EXPECT_NEAR(y.view(r, k), value, 1e-12);
      EXPECT_NEAR(moved.view(r, k), tangent, 1e-12);
    }
    for (Index i = 0; i < kQuadInputs; ++i) {
      EXPECT_NEAR(back.view(r, i), expected_back[at(i)], 1e-12);
      EXPECT_NEAR(added.view(r, i), before[at(kQuadInputs * r + i)] + expected_back[at(i)], 1e-12);
    }
  }
  for (std::size_t i = 0; i < expected_gradient.size(); ++i) EXPECT_NEAR(g.values[i], expected_gradient[i], 1e-11);
}

TEST(QuadraticForm, quadratic_form_has_the_same_bits_per_row) {
  const auto form = quadratic_form(kQuadInputs, kQuadOutputs, kQuadScale);
  const Table<float> w(kQuadPairs, 3, "w"), x(kQuadRows, kQuadInputs, "x"), seed(kQuadRows, 3, "seed");
  std::vector<float> scratch(at(form->scratch()));
  Table<float> y(kQuadRows, 3, "y"), alone(kQuadRows, 3, "y"), dx(kQuadRows, kQuadInputs, "dx"),
      dx_alone(kQuadRows, kQuadInputs, "dx");
  const OperatorRows<float> in{.w = w.read(), .x = x.read(), .scratch = scratch.data()};
  form->apply(in, y.view);
  form->transposed(in, seed.read(), dx.view, false, false);
  for (Index r = 0; r < kQuadRows; ++r) {
    OperatorRows<float> one = in;
    one.x = x.read().rows_from(r, 1);
    form->apply(one, alone.view.rows_from(r, 1));
    form->transposed(one, seed.read().rows_from(r, 1), dx_alone.view.rows_from(r, 1), false, false);
  }
  EXPECT_EQ(y.values, alone.values);
  EXPECT_EQ(dx.values, dx_alone.values);
}

TEST(QuadraticForm, invalid_sizes_are_rejected) {
  for (const Index n : {-1, 0, 100000}) EXPECT_THROW(quadratic_form(n, 2), UsageError);
  EXPECT_THROW(quadratic_form(2, 0), UsageError);
}

}  // namespace
}  // namespace unfold
