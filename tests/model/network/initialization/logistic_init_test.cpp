/// Initialization by logistic regression, compared with a regression on rows written by hand.

#include "model/network/initialization/logistic_init.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "data/text/example_weights.h"
#include "model/network/initialization/logistic_regression.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Three texts with two labels. Good ones contain a (twice) and b; the bad one contains b.
Examples labeled_texts() {
  return {.source = "made",
          .columns = {{.name = "word", .texts = {"a", "b", "a", "b", "b", "b"}},
                      {.name = "label", .once = true, .texts = {"good", "good", "bad"}}},
          .ends = {2, 4, 6}};
}

struct LabeledData {
  Examples examples = labeled_texts();
  std::shared_ptr<const DataSpecification> data = std::make_shared<const DataSpecification>(
      specify(examples, {.reads = {"word"}, .predicts = {"label"}}, "labelled"));
  ExampleSet set{examples, data, std::vector<std::string>{"label"}};
};

NetworkModel<double> bag_of(const LabeledData& data, const std::string& spec) {
  return {spec, *data.data, {.reads = {"word"}, .heads = {{.field = "label"}}}};
}

/// Returns the logit of each label that the network gives to one text whose positions have these words.
std::vector<double> logits_of(NetworkModel<double>& model, const LabeledData& data,
                              const std::vector<std::string>& text,
                              const std::vector<std::pair<std::string, Symbol>>& others = {}) {
  const Matrix<double> output = model.parameters().at("output/V");
  std::vector<double> mean(at(output.rows), 0), logits;
  const bool fields = !others.empty();
  const Matrix<double> table = model.parameters().at(fields ? "fields/word" : "layer1/z/W");
  for (const std::string& word : text)
    for (Index i = 0; i < output.rows; ++i)
      mean[at(i)] += table(data.data->field("word").alphabet->find(word), i) / static_cast<double>(text.size());
  for (const auto& [field, symbol] : others)
    for (Index i = 0; i < output.rows; ++i) mean[at(i)] += model.parameters().at("fields/" + field)(symbol, i);
  for (Index c = 0; c < output.cols; ++c) {
    double sum = model.parameters().at("output/bias")(0, c);
    for (Index i = 0; i < output.rows; ++i) sum += mean[at(i)] * output(i, c);
    logits.push_back(sum);
  }
  return logits;
}

/// The regression that the network starts from, on rows written by hand.
LogisticWeights regression(SparseRows rows, const std::vector<std::int32_t>& labels, Index count,
                           const std::vector<double>& weights, std::vector<double>& factors) {
  std::vector<double> containing(at(rows.width), 0);
  for (const std::int32_t a : rows.columns) ++containing[at(a)];
  const double examples = static_cast<double>(rows.count());
  factors.clear();
  factors.reserve(containing.size());
  for (const double n : containing) factors.push_back(1 + std::log((1 + examples) / (1 + n)));
  double squares = 0;
  for (std::size_t k = 0; k < rows.values.size(); ++k)
    squares += std::pow(rows.values[k] *= factors[at(rows.columns[k])], 2);
  for (double& x : rows.values) x *= std::sqrt(examples / squares);
  for (double& x : factors) x *= std::sqrt(examples / squares);
  return fit_logistic_regression(rows, labels, count, weights, kRegressionPenalty, kRegressionSteps);
}

TEST(LogisticStart, the_network_starts_as_the_regression) {
  const LabeledData data;
  NetworkModel<double> model = bag_of(data, "bag:64,start=logistic,pool=mean");  // its parameters are zero
  initialize_from_regression(model, data.set, 3);
  const Alphabet& labels = *data.data->field("label").alphabet;
  const Symbol good = labels.find("good"), bad = labels.find("bad");
  std::vector<double> f;
  const LogisticWeights w =
      regression({.ends = {2, 4, 5}, .columns = {0, 1, 0, 1, 1}, .values = {0.5, 0.5, 0.5, 0.5, 1}, .width = 2},
                 {good, good, bad}, labels.size(), {1, 1, 1}, f);
  const auto expected = [&](double a, double b, Symbol c) {
    return w.bias[at(c)] + a * f[0] * w.weights[at(c)] + b * f[1] * w.weights[at(labels.size() + c)];
  };
  for (const Symbol c : {good, bad}) {
    EXPECT_NEAR(logits_of(model, data, {"a", "b"})[at(c)], expected(0.5, 0.5, c), 1e-12);
    EXPECT_NEAR(logits_of(model, data, {"a", "a", "b"})[at(c)], expected(2.0 / 3, 1.0 / 3, c), 1e-12);
  }
  EXPECT_GT(logits_of(model, data, {"a"})[at(good)], logits_of(model, data, {"a"})[at(bad)]);
}

TEST(LogisticStart, weights_of_examples_have_mean_one) {
  LabeledData data;
  data.examples.columns.push_back({.name = kExampleWeights, .once = true, .width = 1, .numbers = {3, 3, 12}});
  const ExampleSet set(data.examples, data.data, std::vector<std::string>{"label"});
  NetworkModel<double> model = bag_of(data, "bag:64,start=logistic,pool=mean");
  initialize_from_regression(model, set, 3);
  const Alphabet& labels = *data.data->field("label").alphabet;
  const Symbol good = labels.find("good"), bad = labels.find("bad");
  std::vector<double> f;
  const LogisticWeights w =
      regression({.ends = {2, 4, 5}, .columns = {0, 1, 0, 1, 1}, .values = {0.5, 0.5, 0.5, 0.5, 1}, .width = 2},
                 {good, good, bad}, labels.size(), {0.5, 0.5, 2}, f);
  EXPECT_NEAR(logits_of(model, data, {"a"})[at(bad)], w.bias[at(bad)] + f[0] * w.weights[at(bad)], 1e-12);
}

TEST(LogisticStart, fields_with_one_entry_per_example_are_read_once_and_numbers_stay_random) {
  LabeledData data;
  data.examples.columns.push_back({.name = "topic", .once = true, .texts = {"x", "y", "y"}});
  data.examples.columns.push_back({.name = "size", .once = true, .width = 1, .numbers = {1, 2, 4}});
  data.data = std::make_shared<const DataSpecification>(
      specify(data.examples, {.reads = {"word", "topic", "size"}, .predicts = {"label"}}, "labelled"));
  const ExampleSet set(data.examples, data.data, std::vector<std::string>{"label"});
  NetworkModel<double> model("bag:64,start=logistic,pool=mean", *data.data,
                             {.reads = {"word", "topic", "size"}, .heads = {{.field = "label"}}});
  initialize_from_regression(model, set, 3);
  const Alphabet& labels = *data.data->field("label").alphabet;
  const Symbol good = labels.find("good"), bad = labels.find("bad");
  std::vector<double> f;  // columns: a, b, x, y
  const LogisticWeights w = regression(
      {.ends = {3, 6, 8}, .columns = {0, 1, 2, 0, 1, 3, 1, 3}, .values = {0.5, 0.5, 1, 0.5, 0.5, 1, 1, 1}, .width = 4},
      {good, good, bad}, labels.size(), {1, 1, 1}, f);
  const Symbol y = data.data->field("topic").alphabet->find("y");
  EXPECT_NEAR(
      logits_of(model, data, {"b"}, {{"topic", y}})[at(bad)],
      w.bias[at(bad)] + f[1] * w.weights[at(labels.size() + bad)] + f[3] * w.weights[at(3 * labels.size() + bad)],
      1e-12);
  const Matrix<double> numbers = model.parameters().at("fields/size");
  for (Index i = 0; i < 64; ++i) EXPECT_EQ(numbers(0, i), 0);
}

TEST(LogisticStart, signs_of_up_to_64_labels_are_orthogonal_with_64_units) {
  Examples examples{.source = "made", .columns = {{.name = "word"}, {.name = "label", .once = true}}};
  for (int c = 0; c < 40; ++c) {
    examples.columns[0].texts.push_back(std::string("w") += std::to_string(c));
    examples.columns[1].texts.push_back(std::string("l") += std::to_string(c));
    examples.ends.push_back(c + 1);
  }
  LabeledData data{.examples = examples};
  NetworkModel<double> model = bag_of(data, "bag:64,start=logistic,pool=mean");
  initialize_from_regression(model, data.set, 3);
  const Matrix<double> output = model.parameters().at("output/V");
  for (Index c = 0; c < 40; ++c)
    for (Index d = 0; d < c; ++d) {
      double product = 0;
      for (Index i = 0; i < 64; ++i) product += output(i, c) * output(i, d);
      EXPECT_NEAR(product, 0, 1e-12) << c << ' ' << d;
      EXPECT_EQ(std::fabs(output(0, c)), std::fabs(output(1, d)));
    }
}

TEST(LogisticStart, other_models_are_unchanged_and_unsupported_ones_rejected) {
  const LabeledData data;
  NetworkModel<double> plain = bag_of(data, "bag:8,pool=mean");
  initialize_from_regression(plain, data.set, 3);
  for (const double x : plain.parameters().flat()) EXPECT_EQ(x, 0);
  const auto refusal = [](NetworkModel<double> model, const ExampleSet& set) -> std::string {
    try {
      initialize_from_regression(model, set, 3);
    } catch (const UsageError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(refusal(bag_of(data, "bag:8,start=logistic,embedding=4"), data.set),
              testing::HasSubstr("embeddings with the width of the bag"));
  Examples tagged = labeled_texts();
  tagged.columns[1] = {.name = "label", .texts = {"x", "y", "x", "y", "x", "y"}};
  const auto specification =
      std::make_shared<const DataSpecification>(specify(tagged, {.reads = {"word"}, .predicts = {"label"}}, "columns"));
  EXPECT_THAT(refusal({"bag:8,start=logistic", *specification, {.reads = {"word"}, .heads = {{.field = "label"}}}},
                      ExampleSet(tagged, specification, std::vector<std::string>{"label"})),
              testing::HasSubstr("one predicted label per sequence"));
}

}  // namespace
}  // namespace unfold
