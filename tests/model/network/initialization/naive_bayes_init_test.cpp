/// Initialization from counts, compared with naive Bayes computed by hand.

#include "model/network/initialization/naive_bayes_init.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/text/example_weights.h"
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

TEST(CountsStart, words_are_initialized_with_naive_bayes_evidence) {
  const LabeledData data;
  NetworkModel<double> model = bag_of(data, "bag:64,start=counts,pool=mean");  // its parameters are zero
  initialize_from_counts(model, data.set, 3);
  const Alphabet& words = *data.data->field("word").alphabet;
  const Alphabet& labels = *data.data->field("label").alphabet;
  const Symbol good = labels.find("good"), bad = labels.find("bad");
  const Matrix<double> table = model.parameters().at("layer1/z/W"), output = model.parameters().at("output/V");
  double together = 0, length = 0;  // of the two sign vectors
  for (Index i = 0; i < 64; ++i) {
    together += output(i, good) * output(i, bad);
    length += output(i, good) * output(i, good);
    EXPECT_EQ(std::fabs(output(i, good)), std::fabs(output(0, bad)));
  }
  EXPECT_NEAR(length, 0.25 * 2, 1e-12);  // a quarter of the sum over two words
  // Numbers of good and bad texts that contain the word, with add-one smoothing; the alphabet also has <unk>.
  const double symbols = words.size(), all_good = 2 + 2 + symbols, all_bad = 1 + symbols;
  for (const auto& [word, in_good, in_bad] : {std::tuple{"a", 2.0, 0.0}, {"b", 2.0, 1.0}}) {
    const double ratio = std::log((in_good + 1) / all_good * all_bad / (in_bad + 1));
    double evidence = 0;
    for (Index i = 0; i < 64; ++i) evidence += table(words.find(word), i) * (output(i, good) - output(i, bad));
    EXPECT_NEAR(evidence, ratio * (length - together), 1e-12) << word;
  }
}

TEST(CountsStart, weights_of_examples_are_counts_with_mean_one) {
  LabeledData data;
  data.examples.columns.push_back({.name = kExampleWeights, .once = true, .width = 1, .numbers = {3, 3, 12}});
  const ExampleSet set(data.examples, data.data, std::vector<std::string>{"label"});
  NetworkModel<double> model = bag_of(data, "bag:64,start=counts,pool=mean");
  initialize_from_counts(model, set, 3);
  const Alphabet& words = *data.data->field("word").alphabet;
  const Alphabet& labels = *data.data->field("label").alphabet;
  const Symbol good = labels.find("good"), bad = labels.find("bad");
  const Matrix<double> table = model.parameters().at("layer1/z/W"), output = model.parameters().at("output/V");
  double together = 0, length = 0;
  for (Index i = 0; i < 64; ++i) {
    together += output(i, good) * output(i, bad);
    length += output(i, good) * output(i, good);
  }
  // The scaled weights are 1/2, 1/2 and 2. Each good text has two words and the bad one has one.
  const double symbols = words.size(), all_good = 0.5 * 4 + symbols, all_bad = 2 + symbols;
  for (const auto& [word, in_good, in_bad] : {std::tuple{"a", 1.0, 0.0}, {"b", 1.0, 2.0}}) {
    double evidence = 0;
    for (Index i = 0; i < 64; ++i) evidence += table(words.find(word), i) * (output(i, good) - output(i, bad));
    EXPECT_NEAR(evidence, std::log((in_good + 1) / all_good * all_bad / (in_bad + 1)) * (length - together), 1e-12);
  }
}

TEST(CountsStart, fields_with_one_entry_per_example_count_once_and_numbers_stay_random) {
  LabeledData data;
  data.examples.columns.push_back({.name = "topic", .once = true, .texts = {"x", "y", "y"}});
  data.examples.columns.push_back({.name = "size", .once = true, .width = 1, .numbers = {1, 2, 4}});
  data.data = std::make_shared<const DataSpecification>(
      specify(data.examples, {.reads = {"word", "topic", "size"}, .predicts = {"label"}}, "labelled"));
  const ExampleSet set(data.examples, data.data, std::vector<std::string>{"label"});
  NetworkModel<double> model("bag:64,start=counts,pool=mean", *data.data,
                             {.reads = {"word", "topic", "size"}, .heads = {{.field = "label"}}});
  initialize_from_counts(model, set, 3);
  const Alphabet& labels = *data.data->field("label").alphabet;
  const Symbol good = labels.find("good"), bad = labels.find("bad");
  const Matrix<double> output = model.parameters().at("output/V");
  double together = 0, length = 0;
  for (Index i = 0; i < 64; ++i) {
    together += output(i, good) * output(i, bad);
    length += output(i, good) * output(i, good);
  }
  const auto evidence = [&](const char* field, const char* symbol) {
    const Matrix<double> table = model.parameters().at(std::string("fields/") + field);
    const Symbol a = data.data->field(field).alphabet->find(symbol);
    double sum = 0;
    for (Index i = 0; i < 64; ++i) sum += table(a, i) * (output(i, good) - output(i, bad));
    return sum / (length - together);
  };
  const double words = data.data->field("word").alphabet->size(), topics = data.data->field("topic").alphabet->size();
  EXPECT_NEAR(evidence("word", "a"), std::log(3 / (4 + words) * (1 + words) / 1), 1e-12);
  // The examples have two words on average, so a topic has half of the weight of a word at each position.
  EXPECT_NEAR(evidence("topic", "x"), std::log(2 / (2 + topics) * (1 + topics) / 1) / 2, 1e-12);
  EXPECT_NEAR(evidence("topic", "y"), std::log(2 / (2 + topics) * (1 + topics) / 2) / 2, 1e-12);
  const Matrix<double> numbers = model.parameters().at("fields/size");
  for (Index i = 0; i < 64; ++i) EXPECT_EQ(numbers(0, i), 0);
}

TEST(CountsStart, other_models_are_unchanged_and_unsupported_ones_rejected) {
  const LabeledData data;
  NetworkModel<double> plain = bag_of(data, "bag:8,pool=mean");
  initialize_from_counts(plain, data.set, 3);
  for (const double x : plain.parameters().flat()) EXPECT_EQ(x, 0);
  const auto refusal = [](NetworkModel<double> model, const ExampleSet& set) -> std::string {
    try {
      initialize_from_counts(model, set, 3);
    } catch (const UsageError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(refusal(bag_of(data, "bag:8,start=counts,embedding=4"), data.set),
              testing::HasSubstr("embeddings with the width of the bag"));
  Examples tagged = labeled_texts();
  tagged.columns[1] = {.name = "label", .texts = {"x", "y", "x", "y", "x", "y"}};
  const auto specification =
      std::make_shared<const DataSpecification>(specify(tagged, {.reads = {"word"}, .predicts = {"label"}}, "columns"));
  EXPECT_THAT(refusal({"bag:8,start=counts", *specification, {.reads = {"word"}, .heads = {{.field = "label"}}}},
                      ExampleSet(tagged, specification, std::vector<std::string>{"label"})),
              testing::HasSubstr("one predicted label per sequence"));
}

}  // namespace
}  // namespace unfold
