/// Initialization from Gaussians, compared with densities computed by hand.

#include "model/network/initialization/gaussian_init.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// Six walks in the plane with two labels; those of b have a different location and the opposite slope.
Examples labeled_walks() {
  Examples walks{.source = "made",
                 .columns = {{.name = "place", .width = 2, .numbers = {}},
                             {.name = "label", .once = true, .texts = {"a", "b", "a", "b", "a", "b"}}},
                 .ends = {}};
  Random random(1, "walks");
  for (Index e = 0; e < 6; ++e) {
    for (Index t = 0; t < 20 + e; ++t) {
      const double along = random.normal(), lean = e % 2 == 0 ? 0.7 : -0.7;
      walks.columns[0].numbers.push_back(along + static_cast<double>(e % 2));
      walks.columns[0].numbers.push_back(lean * along + 0.5 * random.normal() + (t > 10 ? 3 : 0));
    }
    walks.ends.push_back(static_cast<Index>(walks.columns[0].numbers.size()) / 2);
  }
  return walks;
}

struct LabeledWalks {
  Examples examples = labeled_walks();
  std::shared_ptr<const DataSpecification> data = std::make_shared<const DataSpecification>(
      specify(examples, {.reads = {"place"}, .predicts = {"label"}, .once = {"label"}}, "walks"));
  ExampleSet set{examples, data, std::vector<std::string>{"label"}};
};

NetworkModel<double> hybrid_of(const LabeledWalks& data, const std::string& spec, const std::string& loss) {
  return {spec, *data.data, {.reads = {"place"}, .heads = {{.field = "label", .loss = loss}}}};
}

struct Moments {
  double count = 0, m[2] = {}, c[2][2] = {};  // NOLINT: the plane
};

/// Returns the moments of all positions of a label; the covariance has the prior of loss/hmm/vector_hmm.h.
Moments moments_of(const ExampleSet& set, Symbol label) {
  Moments found;
  const std::vector<float>& x = set.column("place").values;
  const auto each = [&](const auto& use) {
    for (Index e = 0; e < set.count(); ++e)
      for (Index r = set.begin(e); r < set.begin(e) + set.length(e) && set.column("label").symbols[at(e)] == label; ++r)
        use(&x[at(2 * r)]);
  };
  each([&](const float* row) {
    ++found.count;
    for (int i = 0; i < 2; ++i) found.m[i] += row[i];
  });
  for (double& mean : found.m) mean /= found.count;
  each([&](const float* row) {
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) found.c[i][j] += (row[i] - found.m[i]) * (row[j] - found.m[j]);
  });
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) found.c[i][j] = (found.c[i][j] + (i == j ? 0.01 : 0)) / (found.count + 1);
  return found;
}

double log_density(const Moments& of, double x, double y) {
  const double det = of.c[0][0] * of.c[1][1] - of.c[0][1] * of.c[1][0], u = x - of.m[0], v = y - of.m[1];
  const double square = (of.c[1][1] * u * u - 2 * of.c[0][1] * u * v + of.c[0][0] * v * v) / det;
  return -std::log(2 * std::numbers::pi) - std::log(det) / 2 - square / 2;
}

TEST(GaussianStart, state_scores_are_a_multiple_of_the_label_log_density) {
  const LabeledWalks data;
  NetworkModel<double> model = hybrid_of(data, "birnn:3,gaussians=0.25", "hybrid");
  model.initialize(1);
  Team team(1);
  initialize_from_gaussians(model, data.set, team);
  const auto table = [&](const char* name) { return model.parameters().at(std::string("output/") + name); };
  for (const char* name : {"a", "b"}) {
    const Symbol label = data.data->field("label").alphabet->find(name);
    const Moments moments = moments_of(data.set, label);
    for (const auto& [x, y] : {std::pair{0.0, 0.0}, {1.5, -0.5}, {-2.0, 3.0}})
      EXPECT_NEAR(table("bias")(0, label) + table("G")(0, label) * x + table("G")(1, label) * y +
                      table("G0")(0, label) * x * x + table("G0")(1, label) * y * y + table("G1")(0, label) * x * y,
                  0.25 * log_density(moments, x, y), 1e-9)
          << name;
  }
  for (const char* layers : {"V1", "V2"})
    for (Index i = 0; i < 3; ++i) EXPECT_EQ(table(layers)(i, 0), 0);
}

/// The second number of a walk jumps after some time.
TEST(GaussianStart, forward_states_are_initialized_in_sequence) {
  const LabeledWalks data;
  NetworkModel<double> model = hybrid_of(data, "rnn:3,gaussians=1", "hybrid:2,order=forward");
  Team team(1);
  initialize_from_gaussians(model, data.set, team);
  const Matrix<double> steps = model.parameters().at("output/transitions");
  const double stay = std::exp(steps(0, 0)), leave = std::exp(steps(0, 1));
  EXPECT_NEAR(stay + leave, 1, 1e-9);
  EXPECT_NEAR(leave, 1.0 / 11, 0.02);  // after eleven positions
  EXPECT_NEAR(std::exp(steps(1, 1)), 1, 1e-9);
  const auto likelier_late = [&](double y) {
    const auto score = [&](Index state) {
      return model.parameters().at("output/bias")(0, state) + model.parameters().at("output/G")(1, state) * y +
             model.parameters().at("output/G0")(1, state) * y * y;
    };
    return score(1) > score(0);
  };
  EXPECT_TRUE(likelier_late(1));
  EXPECT_FALSE(likelier_late(-1));
}

TEST(GaussianStart, other_models_are_unchanged_and_unsupported_ones_rejected) {
  const LabeledWalks data;
  NetworkModel<double> plain = hybrid_of(data, "rnn:3", "hybrid:2");
  Team team(1);
  initialize_from_gaussians(plain, data.set, team);
  for (const double x : plain.parameters().flat()) EXPECT_EQ(x, 0);
  const auto refusal = [&](const std::string& loss) -> std::string {
    try {
      hybrid_of(data, "rnn:3,gaussians=1", loss);
    } catch (const UsageError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(refusal("softmax"), testing::HasSubstr("predicted by hybrid"));
  EXPECT_EQ(refusal("hybrid:3"), "");
}

}  // namespace
}  // namespace unfold
