/// Models of lengths: sums, fits and samples, compared with slow references.

#include "model/network/length_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "unfold/base/error.h"

namespace unfold {
namespace {

const std::vector<Index> kLengths = {3, 5, 4, 3, 8, 1, 2, 3, 12, 4, 4, 5, 3, 6};

double mean_of(const std::vector<Index>& lengths) {
  double sum = 0;
  for (const Index length : lengths) sum += static_cast<double>(length);
  return sum / static_cast<double>(lengths.size());
}

double log_likelihood(const LengthModel& model, const std::vector<Index>& lengths) {
  double sum = 0;
  for (const Index length : lengths) sum += model.log_probability(length);
  return sum;
}

TEST(LengthModel, every_length_model_sums_to_one) {
  for (const std::string& kind : LengthModel::kinds()) {
    const LengthModel model = LengthModel::fit(kind, kLengths);
    double sum = 0;
    for (Index length = 1; length < 2000; ++length) sum += std::exp(model.log_probability(length));
    EXPECT_NEAR(sum, 1, 1e-12) << kind;
    EXPECT_EQ(std::exp(model.log_probability(0)), 0) << kind;
    EXPECT_EQ(std::exp(model.log_probability(-3)), 0) << kind;
  }
}

TEST(LengthModel, length_probabilities_match_the_textbook) {
  const double mean = mean_of(kLengths) - 1, q = 1 / mean_of(kLengths);
  const LengthModel geometric = LengthModel::fit("geometric", kLengths),
                    poisson = LengthModel::fit("poisson", kLengths);
  const LengthModel table = LengthModel::fit("table", kLengths), nb = LengthModel::fit("negative-binomial", kLengths);
  const double r = nb.to_json()["parameters"][0].get<double>();
  for (Index length = 1; length < 30; ++length) {
    const auto k = static_cast<double>(length - 1);
    EXPECT_NEAR(std::exp(geometric.log_probability(length)), std::pow(1 - q, k) * q, 1e-13);
    EXPECT_NEAR(std::exp(poisson.log_probability(length)), std::exp(-mean) * std::pow(mean, k) / std::tgamma(k + 1),
                1e-13);
    EXPECT_NEAR(nb.log_probability(length),
                std::lgamma(r + k) - std::lgamma(r) - std::lgamma(k + 1) + r * std::log(r / (r + mean)) +
                    k * std::log(mean / (r + mean)),
                1e-9);
  }
  // (4 + 1) / (14 + 12 + 1): one is added for each length, and one for all longer ones
  EXPECT_NEAR(std::exp(table.log_probability(3)), 5.0 / 27, 1e-13);
  EXPECT_NEAR(std::exp(table.log_probability(7)), 1.0 / 27, 1e-13);
  EXPECT_NEAR(std::exp(table.log_probability(14)), 0.25 / 27, 1e-13);
}

TEST(LengthModel, weights_of_lengths_equal_repetitions) {
  std::vector<Index> repeated;
  std::vector<double> weights;
  for (std::size_t i = 0; i < kLengths.size(); ++i) {
    weights.push_back(static_cast<double>(1 + i % 3));
    repeated.insert(repeated.end(), 1 + i % 3, kLengths[i]);
  }
  for (const std::string& kind : LengthModel::kinds()) {
    const LengthModel weighted = LengthModel::fit(kind, kLengths, weights), expected = LengthModel::fit(kind, repeated);
    for (Index length = 1; length < 20; ++length)
      EXPECT_NEAR(weighted.log_probability(length), expected.log_probability(length), 1e-12) << kind;
  }
}

/// No shape on a fine grid has a higher likelihood.
TEST(LengthModel, negative_binomial_fit_maximizes_the_likelihood) {
  const LengthModel best = LengthModel::fit("negative-binomial", kLengths);
  const double mean = best.to_json()["parameters"][1].get<double>();
  EXPECT_NEAR(mean, mean_of(kLengths) - 1, 1e-12);
  for (double log_r = -3; log_r < 6; log_r += 0.01) {
    const nlohmann::json other = {{"kind", "negative-binomial"}, {"parameters", {std::exp(log_r), mean}}};
    EXPECT_LE(log_likelihood(LengthModel::from_json(other), kLengths), log_likelihood(best, kLengths) + 1e-9);
  }
}

TEST(LengthModel, lengths_are_sampled_with_their_probabilities) {
  constexpr int kDraws = 40000;
  for (const std::string& kind : LengthModel::kinds()) {
    const LengthModel model = LengthModel::fit(kind, kLengths);
    std::vector<int> seen(4000);
    Random random(1, "draws");
    for (int i = 0; i < kDraws; ++i) ++seen[static_cast<std::size_t>(model.draw(random))];
    EXPECT_EQ(seen[0], 0);
    for (std::size_t length = 1; length < 20; ++length) {
      const double p = std::exp(model.log_probability(static_cast<Index>(length)));
      EXPECT_NEAR(seen[length], kDraws * p, 5 * std::sqrt(kDraws * p) + 1) << kind << " " << length;
    }
  }
}

TEST(LengthModel, most_probable_length_is_found) {
  for (const std::string& kind : LengthModel::kinds()) {
    const LengthModel model = LengthModel::fit(kind, kLengths);
    const double best = model.log_probability(model.most_probable());
    for (Index length = 1; length < 100; ++length) EXPECT_LE(model.log_probability(length), best) << kind;
  }
}

TEST(LengthModel, constant_lengths_leave_probability_for_others) {
  for (const std::string& kind : LengthModel::kinds()) {
    const LengthModel model = LengthModel::fit(kind, std::vector<Index>{1, 1});
    EXPECT_TRUE(std::isfinite(model.log_probability(5))) << kind;
    EXPECT_EQ(model.most_probable(), 1) << kind;
  }
}

TEST(LengthModel, length_model_round_trips_and_rejects_invalid_cards) {
  for (const std::string& kind : LengthModel::kinds()) {
    const LengthModel model = LengthModel::fit(kind, kLengths), again = LengthModel::from_json(model.to_json());
    for (Index length = 1; length < 40; ++length)
      EXPECT_EQ(model.log_probability(length), again.log_probability(length)) << kind;
  }
  for (const char* text : {R"({})", R"({"kind":"poisson","parameters":[]})", R"({"kind":"poisson","parameters":[-1]})",
                           R"({"kind":"geometric","parameters":[1]})", R"({"kind":"weibull","parameters":[1]})",
                           R"({"kind":"table","parameters":[-1]})", R"({"kind":"poisson","parameters":"x"})"})
    EXPECT_THROW(LengthModel::from_json(nlohmann::json::parse(text)), ModelError) << text;
  EXPECT_THROW(LengthModel::fit("weibull", kLengths), UsageError);
  EXPECT_THROW(LengthModel::fit("poisson", {}), UsageError);
  EXPECT_THROW(LengthModel::fit("poisson", std::vector<Index>{0}), UsageError);
}

}  // namespace
}  // namespace unfold
