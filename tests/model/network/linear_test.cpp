/// The linear model, compared with sums over all labels, and the list of its pairs.

#include "model/network/linear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "unfold/base/error.h"
#include "unfold/data/examples/example_batches.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/model/network/network_model.h"
#include "unfold/train/evaluate.h"

namespace unfold {
namespace {

const std::vector<std::string> kLinearReads = {"word[0]", "word[-1]", "word[0]|tag[1]"};

/// Three examples; the last label of the second is unknown.
Examples linear_examples() {
  return {.source = "made",
          .columns = {{.name = "word", .texts = {"a", "b", "a", "b", "a", "c"}},
                      {.name = "tag", .texts = {"x", "y", "y", "x", "x", "x"}},
                      {.name = "label", .texts = {"P", "Q", "Q", "R", "", "P"}, .missing = {0, 0, 0, 0, 1, 0}}},
          .ends = {3, 5, 6}};
}

struct LinearData {
  Examples examples = linear_examples();
  std::shared_ptr<const DataSpecification> data = std::make_shared<const DataSpecification>(
      specify(examples, {.reads = kLinearReads, .predicts = {"label"}, .least = 1}, "columns"));
  ExampleSet set{examples, data, std::vector<std::string>{"label"}};

  /// With `steps`, word[-1] weights both transitions and labels, word[0]|tag[1] only transitions.
  NetworkLayout layout_with_steps() const {
    const LinearOptions options{.steps = "word[-1];" + kLinearReads.back() + "!"};
    const std::string loss = "crf:steps=read";
    return {
        .reads = kLinearReads,
        .heads = {{.field = "label", .loss = loss, .listing = list_pairs(set, kLinearReads, "label", options, loss)}}};
  }
  NetworkLayout layout(bool all = false) const {
    return {.reads = kLinearReads,
            .heads = {{.field = "label", .loss = "crf", .listing = list_pairs(set, kLinearReads, "label", all)}}};
  }
};

NetworkModel<double> linear_model_of(const LinearData& data, bool steps = false) {
  NetworkModel<double> model("crf", *data.data, steps ? data.layout_with_steps() : data.layout());
  Random random(5, "linear");
  for (double& x : model.parameters().flat()) x = random.normal();
  return model;
}

TEST(Linear, pairs_are_those_that_occur_in_the_data) {
  const LinearData data;
  const auto listing = data.layout().heads.front().listing;
  std::vector<std::string> pairs;
  Index first = 0;
  for (const std::string& read : kLinearReads) {
    const FieldSpecification& field = data.data->field(read);
    for (Symbol x = 0; x < field.size; ++x)
      for (Index k = listing->begin[at(first + x)]; k < listing->begin[at(first + x + 1)]; ++k)
        pairs.push_back(std::string(field.alphabet->text(x)) + " " +
                        std::string(data.data->field("label").alphabet->text(listing->outputs_of[at(k)])));
    first += field.size;
  }
  EXPECT_THAT(pairs, testing::UnorderedElementsAre("a P", "a Q", "b Q", "b R", "c P",                    // word[0]
                                                   "_B-1 P", "_B-1 R", "a Q", "b Q",                     // word[-1]
                                                   "a|y P", "b|y Q", "a|_B+1 Q", "b|x R", "c|_B+1 P"));  // a|y: tag[1]
  EXPECT_EQ(data.layout(true).heads.front().listing->pairs(), 3 * (3 + 3 + 5));
}

/// Returns the score of labels, computed directly from the texts.
double score_of(const LinearData& data, const NetworkModel<double>& model, Index example,
                const std::vector<Symbol>& labels) {
  const auto listing = model.layout().heads.front().listing;
  const auto parameter = [&](const std::string& name) {
    for (const ParameterInfo& info : model.parameters().info())
      if (info.name == name) return model.parameters().flat().data() + info.offset;
    throw UsageError(name);
  };
  const double *features = parameter("output/features"), *transitions = parameter("output/transitions");
  double score = parameter("output/start")[labels.front()] + parameter("output/stop")[labels.back()];
  for (std::size_t t = 0; t < labels.size(); ++t) {
    if (t > 0) score += transitions[labels[t - 1] * 3 + labels[t]];
    Index first = 0;
    for (const std::string& read : kLinearReads) {
      const Symbol x = data.set.column(read).symbols[at(data.set.begin(example)) + t];
      for (Index k = listing->begin[at(first + x)]; k < listing->begin[at(first + x + 1)]; ++k)
        if (listing->outputs_of[at(k)] == labels[t] ||
            (t > 0 && listing->outputs_of[at(k)] == 3 + 3 * labels[t - 1] + labels[t]))
          score += features[k];
      first += data.data->field(read).size;
    }
  }
  return score;
}

class LinearWithSteps : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Linear, LinearWithSteps, testing::Bool());

TEST_P(LinearWithSteps, nats_equal_enumeration) {
  const LinearData data;
  const NetworkModel<double> model = linear_model_of(data, GetParam());
  double expected = 0;
  for (Index e = 0; e < data.set.count(); ++e) {
    double all = 0, known = 0;
    std::vector<Symbol> labels(at(data.set.length(e)), 0);
    while (true) {
      const double weight = std::exp(score_of(data, model, e, labels));
      bool agrees = true;
      for (std::size_t t = 0; t < labels.size(); ++t) {
        const Symbol given = data.set.column("label").symbols[at(data.set.begin(e)) + t];
        agrees = agrees && (given == kNoSymbol || given == labels[t]);
      }
      all += weight;
      known += agrees ? weight : 0;
      std::size_t t = 0;
      while (t < labels.size() && ++labels[t] == 3) labels[t++] = 0;
      if (t == labels.size()) break;
    }
    expected -= std::log(known / all);
  }
  Team team(1);
  Evaluator<double> evaluator(model.network(), team);
  const auto reader = example_reader(data.set, {.reads = kLinearReads, .predicts = {"label"}, .batch = 2});
  EXPECT_NEAR(evaluator.run(model.parameters(), *reader).nats, expected, 1e-10);
}

TEST(Linear, linear_model_has_correct_derivatives) {
  const LinearData data;
  for (const bool listed : {true, false}) {
    NetworkLayout layout = data.layout();
    layout.heads.front().loss = "softmax";
    if (!listed) layout.heads.front().listing = nullptr;
    Circuit circuit;
    const auto network = build_network<double>(parse_model_spec("crf"), *data.data, layout, circuit);
    const CheckReport report = check_derivatives(network, Structure::chains(std::vector<Index>{4, 1, 3}));
    EXPECT_TRUE(report.passed()) << report.text();
  }
}

TEST(Linear, transitions_are_listed_if_their_labels_are_adjacent) {
  const LinearData data;
  const auto listing = data.layout_with_steps().heads.front().listing;
  EXPECT_EQ(listing->outputs, 3 + 9);
  std::vector<std::string> pairs;
  Index first = 0;
  const Alphabet& labels = *data.data->field("label").alphabet;
  for (const std::string& read : kLinearReads) {
    const FieldSpecification& field = data.data->field(read);
    for (Symbol x = 0; x < field.size; ++x)
      for (Index k = listing->begin[at(first + x)]; k < listing->begin[at(first + x + 1)]; ++k) {
        const Index output = listing->outputs_of[at(k)];
        std::string what(output < 3 ? labels.text(static_cast<Symbol>(output))
                                    : labels.text(static_cast<Symbol>((output - 3) / 3)));
        if (output >= 3) what += std::string(labels.text(static_cast<Symbol>((output - 3) % 3)));
        pairs.push_back(std::string(field.alphabet->text(x)) + " " + what);
      }
    first += field.size;
  }
  EXPECT_THAT(pairs, testing::UnorderedElementsAre("a P", "a Q", "b Q", "b R", "c P",                 // word[0]
                                                   "_B-1 P", "_B-1 R", "a Q", "b Q", "a PQ", "b QQ",  // word[-1]
                                                   "b|y PQ", "a|_B+1 QQ"));  // word[0]|tag[1], only transitions
  EXPECT_EQ(StepReads::parse("a[0];b[1]!").option(), "a[0];b[1]!");
  EXPECT_THROW(list_pairs(data.set, kLinearReads, "label", LinearOptions{.steps = "word[0]"}, "crf"), UsageError);
  EXPECT_THROW(list_pairs(data.set, kLinearReads, "label", LinearOptions{}, "crf:steps=read"), UsageError);
}

TEST(Linear, hidden_states_of_a_label_have_separate_weights) {
  const LinearData data;
  const auto listing = list_pairs(data.set, {"word[0]"}, "label", LinearOptions{}, "hybrid:2");
  EXPECT_EQ(listing->outputs, 6);
  EXPECT_EQ(listing->pairs(), 10);
}

TEST_P(LinearWithSteps, file_contains_pairs_and_weights) {
  const LinearData data;
  const NetworkModel<double> model = linear_model_of(data, GetParam());
  const auto back = ModelFile::from_bytes(model.bytes(), "copy");
  const NetworkModel<double> again(back);
  EXPECT_EQ(again.bytes(), model.bytes());
  EXPECT_EQ(again.layout().heads.front().listing->outputs_of, model.layout().heads.front().listing->outputs_of);
  EXPECT_EQ(again.spec_text(), "crf");
}

TEST(Linear, rare_and_unknown_texts_have_no_pairs) {
  const Examples examples = linear_examples();
  const auto data = std::make_shared<const DataSpecification>(
      specify(examples, {.reads = {"word[0]"}, .predicts = {"label"}, .least = 2}, "columns"));
  const ExampleSet set(examples, data, {});
  const auto listing = list_pairs(set, {"word[0]"}, "label", false);
  EXPECT_EQ(listing->pairs(), 4);  // c, which occurs once, has none
  EXPECT_EQ(parse_model_spec("crf:cut=2").options.as<LinearOptions>().cut, 2);
}

TEST(Linear, unsupported_linear_options_are_rejected) {
  for (const char* spec : {"crf:8", "crf:layers=2", "crf:direct=1", "crf:dropout=0.5", "crf:embedding=4", "bicrf"})
    EXPECT_THROW(parse_model_spec(spec), UsageError) << spec;
  const LinearData data;
  EXPECT_THROW(list_pairs(data.set.subset({}), kLinearReads, "label", false), DataError);
}

}  // namespace
}  // namespace unfold
