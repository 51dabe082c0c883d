/// Labels of networks that read earlier labels: searches and samples, compared with the enumeration of all labelings.

#include "model/decoding/label_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "unfold/base/error.h"
#include "unfold/data/examples/example_batches.h"
#include "unfold/model/network/network_model.h"
#include "unfold/numerics/random.h"
#include "unfold/train/evaluate.h"

namespace unfold {
namespace {

using testing::HasSubstr;

struct DecodedCase {
  std::string spec;
  std::vector<std::string> reads;
  std::vector<HeadSpecification> heads;
};

const std::vector<DecodedCase> kDecodedCases = {
    {"rnn:3", {"word", "previous tag"}, {{.field = "tag"}}},
    {"lstm:3,layers=2", {"word", "depth", "previous tag", "previous(2) tag"}, {{.field = "tag"}}},
    {"tdnn:4,width=2,dilations=1", {"depth", "topic", "previous tag"}, {{.field = "tag"}}},
    {"gru:3,embedding=2", {"word", "previous tag", "previous mood"}, {{.field = "mood"}, {.field = "tag"}}},
    {"mrnn:3", {"word", "previous(2) mood"}, {{.field = "tag"}, {.field = "mood"}, {.field = "level"}}},
};

const std::vector<std::string> kTags = {"A", "B", "C"}, kMoods = {"x", "y"};

/// Two sequences of three and two positions.
Examples some_examples() {
  Examples examples{.source = "sentences", .ends = {3, 5}};
  examples.columns = {{.name = "word", .texts = {"a", "b", "a", "c", "b"}},
                      {.name = "depth", .width = 1, .numbers = {0.5, -1, 2, 0.25, -0.5}},
                      {.name = "topic", .once = true, .texts = {"s", "t"}},
                      {.name = "tag", .texts = {"A", "B", "C", "A", "A"}},
                      {.name = "mood", .texts = {"x", "y", "x", "x", "y"}},
                      {.name = "level", .width = 1, .numbers = {1, 2, 3, 4, 5}}};
  return examples;
}

std::shared_ptr<const DataSpecification> specification_of(const DecodedCase& of) {
  FieldChoice choice;
  for (const std::string& read : of.reads) choice.reads.push_back(parse_read(read).field);
  for (const HeadSpecification& head : of.heads) choice.predicts.push_back(head.field);
  return std::make_shared<const DataSpecification>(specify(some_examples(), choice, "columns"));
}

class DecodedModel {
 public:
  explicit DecodedModel(const DecodedCase& of)
      : of_(of), data_(specification_of(of)), model_(of.spec, *data_, {.reads = of.reads, .heads = of.heads}) {
    model_.initialize(3);
    Random noise(5, "parameters");
    for (double& p : model_.parameters().flat()) p += noise.normal();
  }

  const NetworkModel<double>& model() const { return model_; }
  ExampleSet set(const Examples& examples) const { return {examples, data_, {}}; }
  /// The fields that the network reads back, in the order of the results.
  std::vector<std::string> fields() const {
    std::vector<std::string> names;
    for (const LabelRead& read : label_reads(model_.network()))
      if (read.field == names.size()) names.push_back(read.read.field);
    return names;
  }

  /// log p of the labels of an example, from all true earlier labels.
  double log_probability(Index example, const std::vector<std::vector<std::string>>& labels) const {
    Examples examples = some_examples();
    const std::vector<std::string> own = fields();
    for (ExampleColumn& column : examples.columns)
      for (std::size_t f = 0; f < own.size(); ++f)
        for (std::size_t t = 0; column.name == own[f] && t < labels[f].size(); ++t)
          column.texts.replace(static_cast<std::size_t>(examples.begin(example)) + t, labels[f][t]);
    const ExampleSet all = set(examples);
    const std::vector<Index> chosen = {example};
    const ExampleSet one = all.subset(chosen);
    Team team(1);
    Evaluator<double> evaluator(model_.network(), team);
    double nats = 0;
    const auto see = [&](const Batch& batch, std::span<const Matrix<const double>> outputs) {
      for (std::size_t h = 0; h < outputs.size(); ++h) {
        const Head<double>& head = model_.network().heads[h];
        if (std::ranges::find(own, head.field) == own.end()) continue;
        const auto& target = std::get<SymbolRows>(batch.field(head.field));
        for (Index r = 0; r < outputs[h].rows; ++r) {
          double sum = 0;
          for (Index x = 0; x < outputs[h].cols; ++x) sum += std::exp(outputs[h](r, x));
          nats += std::log(sum) - outputs[h](r, target.symbols[at(r)]);
        }
      }
    };
    ExampleBatchOptions reading{.reads = of_.reads};
    for (const HeadSpecification& head : of_.heads) reading.predicts.push_back(head.field);
    evaluator.run(model_.parameters(), *example_reader(one, reading), {}, see);
    return -nats;
  }

 private:
  DecodedCase of_;
  std::shared_ptr<const DataSpecification> data_;
  NetworkModel<double> model_;
};

std::vector<std::vector<std::string>> texts_of(const DecodedModel& made, const DecodedLabels& decoded) {
  std::vector<std::vector<std::string>> texts;
  const std::vector<std::string> fields = made.fields();
  for (std::size_t f = 0; f < fields.size(); ++f) {
    texts.emplace_back();
    for (const Symbol x : decoded.labels[f])
      texts.back().emplace_back(made.model().data().field(fields[f]).alphabet->text(x));
  }
  return texts;
}

/// All labelings of an example, with their log probabilities, best first.
std::vector<std::pair<double, std::vector<std::vector<std::string>>>> all_labelings(const DecodedModel& made,
                                                                                    Index example, Index length) {
  std::vector<std::vector<std::vector<std::string>>> labelings = {{}};
  for (const std::string& field : made.fields()) {
    std::vector<std::vector<std::string>> own = {{}};
    for (Index t = 0; t < length; ++t) {
      std::vector<std::vector<std::string>> longer;
      for (const auto& one : own)
        for (const std::string& label : field == "tag" ? kTags : kMoods) {
          longer.push_back(one);
          longer.back().push_back(label);
        }
      own = longer;
    }
    std::vector<std::vector<std::vector<std::string>>> joined;
    for (const auto& labeling : labelings)
      for (const auto& one : own) {
        joined.push_back(labeling);
        joined.back().push_back(one);
      }
    labelings = joined;
  }
  std::vector<std::pair<double, std::vector<std::vector<std::string>>>> result;
  result.reserve(labelings.size());
  for (const auto& labeling : labelings) result.emplace_back(made.log_probability(example, labeling), labeling);
  std::ranges::stable_sort(result, std::ranges::greater(), [](const auto& one) { return one.first; });
  return result;
}

TEST(LabelDecoder, a_beam_that_keeps_everything_finds_all_labelings_in_order) {
  for (const DecodedCase& of : kDecodedCases) {
    const DecodedModel made(of);
    const ExampleSet examples = made.set(some_examples());
    Team team(1);
    LabelDecoder<double> decoder(made.model().network(), made.model().parameters(), examples, team);
    for (Index example = 0; example < 2; ++example) {
      const auto wanted = all_labelings(made, example, examples.length(example));
      const auto count = static_cast<Index>(wanted.size());
      const auto found = decoder.best(example, {.beam = count, .best = count + 5});
      ASSERT_EQ(found.size(), wanted.size()) << of.spec;
      double total = 0;
      for (std::size_t n = 0; n < found.size(); ++n) {
        EXPECT_NEAR(found[n].log_probability, wanted[n].first, 1e-10) << of.spec;
        EXPECT_EQ(texts_of(made, found[n]), wanted[n].second) << of.spec << " " << n;
        total += std::exp(found[n].log_probability);
      }
      EXPECT_NEAR(total, 1, 1e-10);
    }
  }
}

TEST(LabelDecoder, greedy_search_chooses_the_most_probable_label_after_the_chosen_ones) {
  for (const DecodedCase& of : kDecodedCases) {
    const DecodedModel made(of);
    const ExampleSet examples = made.set(some_examples());
    Team team(1);
    LabelDecoder<double> decoder(made.model().network(), made.model().parameters(), examples, team);
    const DecodedLabels found = decoder.best(0, {}).front();
    const auto all = all_labelings(made, 0, 3);
    // The sums over all continuations are the probabilities of the prefixes.
    std::vector<std::vector<std::string>> prefix(made.fields().size());
    for (std::size_t t = 0; t < 3; ++t) {
      std::map<std::vector<std::string>, double> sums;
      for (const auto& [log_p, labeling] : all) {
        bool extends = true;
        std::vector<std::string> next;
        for (std::size_t f = 0; f < prefix.size(); ++f) {
          extends = extends && std::equal(prefix[f].begin(), prefix[f].end(), labeling[f].begin());
          next.push_back(labeling[f][t]);
        }
        if (extends) sums[next] += std::exp(log_p);
      }
      const auto best = std::ranges::max_element(sums, {}, [](const auto& sum) { return sum.second; });
      for (std::size_t f = 0; f < prefix.size(); ++f) prefix[f].push_back(best->first[f]);
    }
    EXPECT_EQ(texts_of(made, found), prefix) << of.spec;
    EXPECT_NEAR(found.log_probability, made.log_probability(0, prefix), 1e-10) << of.spec;
  }
}

/// A chi-squared test with fixed seeds.
TEST(LabelDecoder, samples_have_the_probabilities_of_the_labelings) {
  const DecodedModel made(kDecodedCases.front());
  const ExampleSet examples = made.set(some_examples());
  Team team(1);
  LabelDecoder<double> decoder(made.model().network(), made.model().parameters(), examples, team);
  constexpr int kDraws = 4000;
  std::map<std::vector<std::vector<std::string>>, int> counts;
  Random random(8, "labels");
  for (int n = 0; n < kDraws; ++n) {
    const DecodedLabels drawn = decoder.sample(1, random);
    ++counts[texts_of(made, drawn)];
    if (n == 0) {
      EXPECT_NEAR(drawn.log_probability, made.log_probability(1, texts_of(made, drawn)), 1e-10);
    }
  }
  double chi = 0;
  for (const auto& [log_p, labeling] : all_labelings(made, 1, 2)) {
    const double expected = kDraws * std::exp(log_p);
    chi += (counts[labeling] - expected) * (counts[labeling] - expected) / expected;
  }
  EXPECT_LT(chi, 26.1);  // 8 degrees of freedom, probability 0.001
}

TEST(LabelDecoder, labels_of_the_data_have_no_effect) {
  const DecodedModel made(kDecodedCases[1]);
  Examples examples = some_examples(), other = examples, without = examples;
  for (ExampleColumn& column : other.columns)
    if (column.name == "tag") column.texts.assign(5, "B");
  std::erase_if(without.columns, [](const ExampleColumn& column) { return column.name == "tag"; });
  Team team(1);
  std::optional<double> log_p;
  for (const Examples* each : {&examples, &other, &without}) {
    const ExampleSet all = made.set(*each);
    LabelDecoder<double> decoder(made.model().network(), made.model().parameters(), all, team);
    const auto found = decoder.best(0, {.beam = 3, .best = 3});
    ASSERT_EQ(found.size(), 3U);
    if (log_p) {
      EXPECT_EQ(found.front().log_probability, *log_p);
    }
    log_p = found.front().log_probability;
  }
}

TEST(LabelDecoder, losses_without_labels_at_single_positions_are_rejected) {
  const DecodedModel made({"rnn:3", {"word", "previous tag"}, {{.field = "tag", .loss = "crf"}}});
  const ExampleSet examples = made.set(some_examples());
  Team team(1);
  try {
    LabelDecoder<double>(made.model().network(), made.model().parameters(), examples, team);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("use tag=softmax"));
  }
}

}  // namespace
}  // namespace unfold
