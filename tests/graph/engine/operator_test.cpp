/// A user-defined operator works without changes to the engine.

#include <gtest/gtest.h>

#include "graph/paths/path_pass.h"
#include "tests/support/runner.h"
#include "unfold/gradcheck/derivative_check.h"

namespace unfold {
namespace {

/// y_i += w_i x_i
class Diagonal final : public OperatorOf<Diagonal> {
 public:
  explicit Diagonal(Index n) : n_(n) {}

  std::string_view name() const override { return "diagonal"; }
  Index inputs() const override { return n_; }
  Index outputs() const override { return n_; }
  ParameterShape parameter_shape(Index) const override { return {1, n_}; }
  double operations() const override { return 2.0 * static_cast<double>(n_); }
  bool has_squared() const override { return true; }

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    for_each(y.rows, [&](Index r, Index i) { y(r, i) += in.w(0, i) * in.x(r, i); });
  }
  template <class T>
  void transposed_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets, bool squared) const {
    for_each(dy.rows, [&](Index r, Index i) {
      const T slope = squared ? in.w(0, i) * in.w(0, i) : in.w(0, i);
      dx(r, i) = (sets ? T{0} : dx(r, i)) + slope * dy(r, i);
    });
  }
  template <class T>
  void gradient_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> g, Range, bool squared) const {
    for_each(dy.rows, [&](Index r, Index i) {
      const Index row = dy.rows - 1 - r;
      g(0, i) += (squared ? in.x(row, i) * in.x(row, i) : in.x(row, i)) * dy(row, i);
    });
  }
  template <class T>
  void tangent_rows(const OperatorRows<T>& in, Matrix<const T> dw, Matrix<const T> dx, Matrix<T> dy) const {
    for_each(dy.rows, [&](Index r, Index i) {
      dy(r, i) += dw(0, i) * in.x(r, i) + (dx.data != nullptr ? in.w(0, i) * dx(r, i) : T{0});
    });
  }

 private:
  template <class Do>
  void for_each(Index rows, Do&& act) const {
    for (Index r = 0; r < rows; ++r)
      for (Index i = 0; i < n_; ++i) act(r, i);
  }
  Index n_;
};

/// The operator inside a loop, outside one, and on an input.
void build(Circuit& c, const std::shared_ptr<const Operator>& op, Index n) {
  const Signal x = c.input("x", n), h = c.link(n, Delay::previous(2), true);
  const Signal next = tanh(c.affine("z", n, {{"W", x}, {.parameter = "D", .source = h, .op = op}}));
  c.feed(h, next);
  c.output(c.affine("o", n, {{.parameter = "A", .source = next, .op = op}, {.parameter = "B", .source = x, .op = op}}));
}

const Index kOperatorLengths[] = {3, 6, 1, 4};

TEST(UserDefinedOperator, user_operator_has_correct_derivatives) {
  Circuit c;
  build(c, std::make_shared<const Diagonal>(3), 3);
  const CheckReport report = check_derivatives(c, *gaussian_loss<double>(), Structure::chains(kOperatorLengths));
  EXPECT_TRUE(report.passed()) << report.text();
}

void expect_near(const std::vector<double>& x, const std::vector<double>& y) {
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 1e-12) << i;
}

TEST(UserDefinedOperator, user_operator_equals_the_sparse_term_with_the_same_weights) {
  Circuit own, sparse;
  build(own, std::make_shared<const Diagonal>(5), 5);
  std::vector<std::pair<std::int32_t, std::int32_t>> loops;
  for (std::int32_t i = 0; i < 5; ++i) loops.emplace_back(i, i);
  build(sparse, sparse_operator(std::make_shared<const Edges>(5, 5, loops)), 5);
  const auto expected = test::Runner<double>(sparse).run(Structure::chains(kOperatorLengths));
  for (const int threads : {1, 2}) {
    const auto found = test::Runner<double>(own, {}, threads).run(Structure::chains(kOperatorLengths));
    expect_near(found.outputs, expected.outputs);
    expect_near(found.tangents, expected.tangents);
    expect_near(found.gradient, expected.gradient);
    expect_near(found.squared, expected.squared);
  }
}

TEST(UserDefinedOperator, operator_without_a_path_reading_is_named_in_the_error) {
  Circuit c;
  const Signal x = c.input("x", 3);
  c.output(c.affine("z", 3, {{.parameter = "D", .source = x, .op = std::make_shared<const Diagonal>(3)}}));
  Team team(1);
  try {
    PathPass<double> pass(c, team);
    FAIL() << "not refused";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("z/D of a diagonal map"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace unfold
