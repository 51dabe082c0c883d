/// Residual stacks: explicit equations, derivatives, names, and invalid options.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/runner.h"
#include "unfold/base/error.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/circuit/parameters.h"
#include "unfold/graph/engine/unfolding.h"
#include "unfold/loss/loss.h"
#include "unfold/model/network/spec.h"

namespace unfold {
namespace {

using testing::HasSubstr;
using Sequence = std::vector<std::vector<double>>;  // positions, numbers

constexpr Index kSteps = 5;

Sequence read_sequence(Index size) {
  Sequence x(at(kSteps), std::vector<double>(at(size)));
  for (std::size_t t = 0; t < x.size(); ++t)
    for (std::size_t i = 0; i < x[t].size(); ++i) x[t][i] = std::sin(1.7 * static_cast<double>(t * 3 + i) + 0.4);
  return x;
}

/// A stack of rnn layers, position by position.
class StackReference {
 public:
  explicit StackReference(Parameters<double>& parameters) : p_(parameters) {}

  /// h_t = tanh(sum of x_t W + h_{t-1} U + b), in either direction. Several signals are read through one matrix each.
  Sequence layer(const std::string& name, const std::vector<Sequence>& reads, bool backwards = false) const {
    const auto U = p_.at(name + "z/U");
    const auto b = p_.at(name + "z/bias");
    const std::size_t n = at(U.cols);
    Sequence h(at(kSteps), std::vector<double>(n));
    for (Index step = 0; step < kSteps; ++step) {
      const Index t = backwards ? kSteps - 1 - step : step, before = backwards ? t + 1 : t - 1;
      for (std::size_t j = 0; j < n; ++j) {
        double sum = b(0, static_cast<Index>(j));
        for (std::size_t part = 0; part < reads.size(); ++part) {
          const auto W = p_.at(name + "z/W" + (reads.size() > 1 ? std::to_string(part + 1) : ""));
          for (Index i = 0; i < W.rows; ++i) sum += reads[part][at(t)][at(i)] * W(i, static_cast<Index>(j));
        }
        for (Index i = 0; i < U.rows && step > 0; ++i) sum += h[at(before)][at(i)] * U(i, static_cast<Index>(j));
        h[at(t)][j] = std::tanh(sum);
      }
    }
    return h;
  }

  Sequence normalized(const std::string& name, Sequence x) const {
    const auto gain = p_.at(name + "norm/gain"), bias = p_.at(name + "norm/bias");
    for (std::vector<double>& row : x) {
      double mean = 0, variance = 0;
      for (const double v : row) mean += v / static_cast<double>(row.size());
      for (const double v : row) variance += (v - mean) * (v - mean) / static_cast<double>(row.size());
      for (std::size_t i = 0; i < row.size(); ++i)
        row[i] = gain(0, static_cast<Index>(i)) * (row[i] - mean) / std::sqrt(variance + 1e-5) +
                 bias(0, static_cast<Index>(i));
    }
    return x;
  }

 private:
  Parameters<double>& p_;
};

Sequence operator+(Sequence a, const Sequence& b) {
  for (std::size_t t = 0; t < a.size(); ++t)
    for (std::size_t i = 0; i < a[t].size(); ++i) a[t][i] += b[t][i];
  return a;
}

/// Returns the output of a model's last layer, in both directions.
std::vector<Sequence> last_layer(const std::string& spec, Index inputs, Circuit& c, Parameters<double>& p) {
  const Signal input = c.input("x", inputs);
  const Layers layers = build_layers(parse_model_spec(spec), input, c);
  for (const Signal s : layers.last) c.output(s);
  p = test::some_parameters<double>(c);
  Team team(1);
  Unfolding<double> u(std::make_shared<const Plan>(c), team);
  const Structure chain = Structure::chains(std::vector<Index>{kSteps});
  u.lay(chain);
  u.set_parameters(p);
  const Sequence x = read_sequence(inputs);
  for (Index t = 0; t < kSteps; ++t) std::ranges::copy(x[at(t)], u.input(input).row(chain.row(0, t)));
  u.forward(nullptr);
  std::vector<Sequence> result;
  for (const Signal s : layers.last) {
    Sequence& given = result.emplace_back();
    for (Index t = 0; t < kSteps; ++t) {
      const double* row = u.value(s).row(chain.row(0, t));
      given.emplace_back(row, row + s.size());
    }
  }
  return result;
}

void expect_near(const Sequence& found, const Sequence& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t t = 0; t < found.size(); ++t)
    for (std::size_t i = 0; i < found[t].size(); ++i) EXPECT_NEAR(found[t][i], expected[t][i], 1e-12) << t << " " << i;
}

TEST(Residual, residual_layers_add_inputs_of_equal_size) {
  for (const Index inputs : {3, 2}) {
    Circuit c;
    Parameters<double> p(c);
    const std::vector<Sequence> found = last_layer("rnn:3,layers=3,residual=plain", inputs, c, p);
    const StackReference net(p);
    const Sequence x = read_sequence(inputs);
    Sequence h = net.layer("layer1/", {x});
    if (inputs == 3) h = h + x;
    h = net.layer("layer2/", {h}) + h;
    h = net.layer("layer3/", {h}) + h;
    expect_near(found.at(0), h);
  }
}

TEST(Residual, residual_layers_read_normalized_inputs) {
  for (const Index inputs : {3, 2}) {
    Circuit c;
    Parameters<double> p(c);
    const std::vector<Sequence> found = last_layer("rnn:3,layers=2,residual=norm", inputs, c, p);
    const StackReference net(p);
    const Sequence x = read_sequence(inputs);
    Sequence h =
        inputs == 3 ? net.layer("layer1/", {net.normalized("layer1/read/", x)}) + x : net.layer("layer1/", {x});
    h = net.layer("layer2/", {net.normalized("layer2/read/", h)}) + h;
    expect_near(found.at(0), h);
  }
}

TEST(Residual, each_direction_has_its_own_residual) {
  Circuit c;
  Parameters<double> p(c);
  const std::vector<Sequence> found = last_layer("birnn:3,layers=2,residual=norm", 3, c, p);
  const StackReference net(p);
  const std::vector<Sequence> x = {read_sequence(3)};
  const Sequence there = net.layer("layer1/forward/", x), back = net.layer("layer1/backward/", x, true);
  const std::vector<Sequence> read = {net.normalized("layer2/read-forward/", there),
                                      net.normalized("layer2/read-backward/", back)};
  expect_near(found.at(0), net.layer("layer2/forward/", read) + there);
  expect_near(found.at(1), net.layer("layer2/backward/", read, true) + back);
}

TEST(Residual, residual_stack_has_correct_derivatives) {
  for (const char* spec : {"rnn:3,layers=2,residual=plain", "lstm:2,embedding=2,layers=2,residual=norm",
                           "lru:2,layers=2,residual=norm", "bimingru:2,layers=2,residual=norm"}) {
    Circuit c;
    build_model(parse_model_spec(spec), c.symbols("symbols", 4), 4, c);
    const CheckReport report =
        check_derivatives(c, *softmax_loss<double>(), Structure::chains(std::vector<Index>{4, 1, 3}));
    EXPECT_TRUE(report.passed()) << spec << "\n" << report.text();
  }
}

TEST(Residual, dropout_does_not_affect_residuals) {
  Circuit c;
  build_layers(parse_model_spec("rnn:3,layers=2,residual=plain,dropout=0.5"), c.input("x", 3), c);
  Index masks = 0, sums = 0;
  for (const Node& node : c.nodes()) {
    masks += node.kind() == Node::Kind::mask;
    sums += node.kind() == Node::Kind::pointwise && node.pointwise().map == Map::add;
  }
  EXPECT_EQ(masks, 2);
  EXPECT_EQ(sums, 2);
}

TEST(Residual, invalid_residuals_are_rejected) {
  const auto refusal = [](const char* text) -> std::string {
    try {
      Circuit c;
      build_layers(parse_model_spec(text), c.input("x", 4), c);
    } catch (const UsageError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(refusal("linear-gnn:4,residual=plain"), HasSubstr("a sum of probabilities is not a probability"));
  EXPECT_THAT(refusal("grid-lstm:4,residual=plain"), HasSubstr("layers over grids have different sizes"));
  EXPECT_THAT(refusal("urnn:4,residual=plain"), HasSubstr("their sizes are 4 and 8"));
  EXPECT_EQ(refusal("urnn:2,layers=2,residual=norm"), "");
  EXPECT_EQ(to_string(parse_model_spec("gru:4,layers=2,residual=norm,dropout=0.1")),
            "gru:4,layers=2,residual=norm,dropout=0.1");
}

}  // namespace
}  // namespace unfold
