/// The checks pass on a correct circuit, and each planted fault is detected by the corresponding check.

#include "unfold/gradcheck/derivative_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/circuits.h"

namespace unfold {
namespace {

using Fault = std::function<void(std::vector<double>&, const Passes&)>;

/// Passes, one of which has a planted fault.
class FaultyPasses final : public Passes {
 public:
  using Passes::Passes;
  Fault in_gradient, in_modulus, in_tangent, in_product, in_path;

  std::vector<double> transposed(std::span<const double> seeds, Algebra algebra) override {
    return spoilt(Passes::transposed(seeds, algebra), algebra == Algebra::linear ? in_gradient : in_modulus);
  }
  std::vector<double> tangent(std::span<const double> direction) override {
    return spoilt(Passes::tangent(direction), in_tangent);
  }
  std::vector<double> gauss_newton_product(std::span<const double> direction, const Curvature& curvature) override {
    return spoilt(Passes::gauss_newton_product(direction, curvature), in_product);
  }
  double path(Index length, bool every_step, std::span<double> kappa) override {
    const double total = Passes::path(length, every_step, kappa);
    const std::vector<double> faulty = spoilt({kappa.begin(), kappa.end()}, in_path);
    std::copy(faulty.begin(), faulty.end(), kappa.begin());
    return total;
  }

 private:
  std::vector<double> spoilt(std::vector<double> result, const Fault& fault) const {
    if (fault) fault(result, *this);
    return result;
  }
};

class PlantedFault : public testing::Test {
 protected:
  Circuit circuit_;
  std::unique_ptr<FaultyPasses> passes_;
  std::unique_ptr<Loss<double>> loss_ = softmax_loss<double>();

  void SetUp() override {
    test::small_relu_net(circuit_);
    const Index lengths[] = {4, 2, 5};
    passes_ = std::make_unique<FaultyPasses>(circuit_, Structure::chains(lengths), 7);
  }

  CheckReport run() { return check_derivatives(*passes_, {loss_.get()}); }

  static const ParameterInfo& block(const Passes& passes, const std::string& name) {
    for (const ParameterInfo& p : passes.circuit().parameters())
      if (p.name == name) return p;
    throw UsageError("no parameter " + name);
  }
  /// Applies f to every number of one block.
  static Fault on_block(const std::string& name, const std::function<double(double)>& f) {
    return [=](std::vector<double>& v, const Passes& passes) {
      const ParameterInfo& p = block(passes, name);
      for (Index i = 0; i < p.size(); ++i)
        v[static_cast<std::size_t>(p.offset + i)] = f(v[static_cast<std::size_t>(p.offset + i)]);
    };
  }
  static void expect_caught(const CheckReport& report, const std::string& name, const std::string& where = "") {
    EXPECT_FALSE(report.passed());
    for (const CheckResult& result : report.results)
      if (result.name == name) {
        EXPECT_TRUE(result.run);
        EXPECT_FALSE(result.passed()) << report.text();
        EXPECT_NE(result.where.find(where), std::string::npos) << report.text();
        return;
      }
    ADD_FAILURE() << "no check " << name;
  }
};

TEST_F(PlantedFault, correct_circuit_passes_and_every_check_runs) {
  const CheckReport report = run();
  EXPECT_TRUE(report.passed()) << report.text();
  EXPECT_EQ(report.results.size(), 10u);
  for (const CheckResult& result : report.results) EXPECT_TRUE(result.run) << report.text();
}

TEST_F(PlantedFault, flipped_sign_is_caught_in_each_block) {
  for (const ParameterInfo& p : circuit_.parameters()) {
    passes_->in_gradient = on_block(p.name, [](double x) { return -x; });
    const CheckReport report = run();
    for (const char* check : {"gradient", "transpose", "adjoint"}) expect_caught(report, check, p.name);
  }
}

TEST_F(PlantedFault, missing_term_is_caught_in_each_block) {
  for (const ParameterInfo& p : circuit_.parameters()) {
    passes_->in_gradient = [&](std::vector<double>& v, const Passes&) {
      *std::max_element(v.begin() + p.offset, v.begin() + p.offset + p.size(),
                        [](double a, double b) { return std::fabs(a) < std::fabs(b); }) = 0;
    };
    expect_caught(run(), "adjoint", p.name);
    passes_->in_gradient = on_block(p.name, [](double) { return 0; });
    expect_caught(run(), "gradient", p.name);
  }
}

TEST_F(PlantedFault, factor_two_is_caught) {
  passes_->in_gradient = on_block("a/bias", [](double x) { return 2 * x; });
  const CheckReport report = run();
  expect_caught(report, "gradient", "worst element a/bias");
  expect_caught(report, "transpose", "a/bias");
  expect_caught(report, "adjoint", "a/bias");
}

TEST_F(PlantedFault, transposed_weight_is_caught) {
  passes_->in_gradient = [](std::vector<double>& v, const Passes& passes) {
    const ParameterInfo& p = block(passes, "a/U");
    for (Index i = 0; i < p.rows; ++i)
      for (Index j = 0; j < i; ++j)
        std::swap(v[static_cast<std::size_t>(p.offset + i * p.cols + j)],
                  v[static_cast<std::size_t>(p.offset + j * p.cols + i)]);
  };
  const CheckReport report = run();
  expect_caught(report, "gradient", "a/U");
  expect_caught(report, "transpose", "a/U");
  expect_caught(report, "adjoint", "a/U");
}

TEST_F(PlantedFault, error_of_one_part_in_ten_thousand_is_caught) {
  passes_->in_gradient = on_block("a/W", [](double x) { return 1.0001 * x; });
  expect_caught(run(), "gradient", "a/W");
}

TEST_F(PlantedFault, nan_is_caught) {
  passes_->in_gradient = on_block("o/bias", [](double) { return std::numeric_limits<double>::quiet_NaN(); });
  const CheckReport report = run();
  for (const char* check : {"gradient", "transpose", "adjoint"}) expect_caught(report, check);
}

TEST_F(PlantedFault, tangent_without_a_term_is_caught) {
  passes_->in_tangent = [](std::vector<double>& v, const Passes&) {
    for (std::size_t i = 2; i < v.size(); i += 3) v[i] = 0;
  };
  const CheckReport report = run();
  for (const char* check : {"tangent", "transpose", "jacobian", "dense"}) expect_caught(report, check);
}

TEST_F(PlantedFault, faulty_product_is_caught) {
  passes_->in_product = on_block("a/U", [](double x) { return -x; });
  expect_caught(run(), "gauss-newton");
  expect_caught(run(), "dense", "a/U");
  passes_->in_product = [](std::vector<double>& v, const Passes&) {
    for (double& x : v) x *= 2;
  };
  expect_caught(run(), "dense");
}

TEST_F(PlantedFault, modulus_with_linear_derivatives_is_caught) {
  passes_->in_modulus = on_block("a/U", [](double x) { return 1.000001 * x; });
  expect_caught(run(), "modulus", "a/U");
}

TEST_F(PlantedFault, faulty_path_pass_is_caught) {
  passes_->in_path = on_block("a/U", [](double x) { return 2 * x; });
  expect_caught(run(), "path", "a/U");
}

TEST(DerivativeCheck, skipped_check_is_explained) {
  Circuit c;
  test::small_lstm(c);
  CheckOptions options;
  options.dense_parameters = 10;
  options.graph_edges = 100;
  const CheckReport report = check_derivatives(c, *softmax_loss<double>(), Structure::chains(2, 3), options);
  EXPECT_TRUE(report.passed()) << report.text();
  const std::string text = report.text();
  for (const char* part :
       {"too many for a dense matrix", "too many for the scalar graph", "not positively homogeneous"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(PlantedFault, last_line_names_the_failed_checks) {
  EXPECT_EQ(run().summary(), "10 of 10 checks ran, all passed");
  passes_->in_path = on_block("a/U", [](double x) { return 2 * x; });
  EXPECT_EQ(run().summary(), "10 of 10 checks ran, FAILED: path");
}

TEST(DerivativeCheck, last_line_names_skipped_checks_with_reasons) {
  Circuit c;
  const Signal e = c.affine("e", 4, {{"W", c.symbols("x", 3)}});
  const Signal z = c.affine("z", 4, {{.parameter = "U", .source = e, .op = unitary_map(2, 1)}});
  c.output(z);
  const CheckReport report = check_derivatives(c, *softmax_loss<double>(), Structure::chains(2, 3));
  EXPECT_EQ(report.summary(),
            "6 of 10 checks ran, all passed; not run: forward, adjoint, modulus (the scalar graph does not support "
            "vector maps), path (vector maps have no paths)");
  EXPECT_TRUE(report.text().ends_with(report.summary() + "\n")) << report.text();
}

TEST(DerivativeCheck, report_is_reproducible_by_seed) {
  Circuit c;
  test::small_lstm(c);
  const auto report = [&] { return check_derivatives(c, *softmax_loss<double>(), Structure::chains(2, 3)).text(); };
  EXPECT_EQ(report(), report());
}

}  // namespace
}  // namespace unfold
