/// Default fields to read and predict, and how examples are split.

#include "app/fields/field_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/fields/defaults/problem_defaults.h"
#include "app/fields/example_split.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Returns `count` sentences of two words, with a tag per word and a label per sentence.
Examples sentences(Index count) {
  ExampleColumn word{.name = "word"}, tag{.name = "tag"}, label{.name = "label", .once = true};
  Examples examples{.source = "made"};
  for (Index e = 0; e < count; ++e) {
    word.texts.push_back("w" + std::to_string(e));
    word.texts.push_back("end");
    tag.texts.push_back("B-x");
    tag.texts.push_back("O");
    label.texts.emplace_back(e < count / 2 ? "first" : "second");
    examples.ends.push_back(2 * (e + 1));
  }
  examples.columns = {word, tag, label};
  return examples;
}

Examples series(Index length) {
  Examples examples{.source = "made"};
  ExampleColumn value{.name = "value", .width = 1};
  for (Index t = 0; t < length; ++t) value.numbers.push_back(static_cast<double>(t));
  examples.columns = {value};
  examples.ends = {length};
  return examples;
}

TrainSettings predicting(const std::string& fields) {
  TrainSettings settings;
  settings.predict = fields;
  return settings;
}

TEST(FieldPlan, example_labels_are_predicted_by_default) {
  TrainSettings settings;
  const FieldPlan plan = plan_fields(sentences(4), settings);
  EXPECT_EQ(settings.predict, "label");
  EXPECT_EQ(plan.problem, Problem::classifying);
  EXPECT_THAT(plan.layout.reads, ElementsAre("word", "tag"));
}

/// Returns sentences with the fields of CoNLL-U, of which `xpos` has no entries.
Examples annotated_sentences() {
  Examples examples{.source = "made.conllu", .ends = {2, 4}};
  for (const char* name : {"id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"}) {
    ExampleColumn column{.name = name, .texts = {"a", "b", "c", "d"}};
    if (column.name == "xpos") column.missing.assign(4, 1);
    examples.columns.push_back(column);
  }
  return examples;
}

TEST(FieldPlan, annotations_of_conllu_are_not_read_by_default) {
  TrainSettings settings;
  EXPECT_THAT(plan_fields(annotated_sentences(), settings).layout.reads, ElementsAre("form"));
  EXPECT_EQ(settings.predict, "upos");
  TrainSettings crf{.model = "crf"};
  for (const std::string& read : plan_fields(annotated_sentences(), crf).choice.reads)
    EXPECT_THAT(read, testing::StartsWith("form["));
  TrainSettings stated = predicting("deprel");
  stated.read = "form,upos";
  EXPECT_THAT(plan_fields(annotated_sentences(), stated).layout.reads, ElementsAre("form", "upos"));
  TrainSettings words = predicting("form");
  EXPECT_THAT(plan_fields(annotated_sentences(), words).layout.reads, testing::Contains("lemma"));
}

TEST(FieldPlan, position_fields_default_to_a_tagger_that_reads_the_other_fields) {
  TrainSettings settings = predicting("tag");
  const FieldPlan plan = plan_fields(sentences(4), settings);
  EXPECT_EQ(plan.problem, Problem::tagging);
  EXPECT_EQ(settings.ahead, 0);
  EXPECT_THAT(plan.layout.reads, ElementsAre("word"));
}

TEST(FieldPlan, open_vocabulary_words_are_also_read_by_their_parts) {
  TrainSettings settings = predicting("tag");
  EXPECT_THAT(
      plan_fields(sentences(600), settings).layout.reads,
      ElementsAre("word", "word.lower", "word.shape", "word.prefix2", "word.prefix3", "word.suffix2", "word.suffix3"));
}

TEST(FieldPlan, SmallTextsOfWordsThatOccurRarelyAreReadInPairs) {
  Examples few = sentences(20);  // 21 different words
  few.columns.erase(few.columns.begin() + 1);
  TrainSettings lists;
  EXPECT_THAT(plan_fields(few, lists).layout.reads, ElementsAre("word"));
  few.columns[0].name = "text";
  TrainSettings defaults, chosen{.model = "bilstm:8"}, numbers;
  EXPECT_THAT(plan_fields(few, defaults).layout.reads, ElementsAre("text.plain", "text.plain.run2"));
  EXPECT_THAT(plan_fields(few, chosen).layout.reads, ElementsAre("text"));
  few.columns[1] = {.name = "label", .once = true, .width = 1, .numbers = std::vector<double>(20, 1.5)};
  EXPECT_THAT(plan_fields(few, numbers).layout.reads, ElementsAre("text"));
}

/// Returns `count` texts of four words, of which there are two, with a label.
Examples texts_of_two_words(Index count) {
  ExampleColumn text{.name = "text"}, label{.name = "label", .once = true};
  Examples examples{.source = "made"};
  for (Index e = 0; e < count; ++e) {
    for (Index w = 0; w < 4; ++w) text.texts.push_back((e >> w) % 2 == 0 ? "up" : "down");
    label.texts.push_back(e % 2 == 0 ? "a" : "b");
    examples.ends.push_back(4 * (e + 1));
  }
  examples.columns = {text, label};
  return examples;
}

TEST(FieldPlan, TextsOfFewWordsAreReadInGroupsIfTheTimeIsShort) {
  const Examples examples = texts_of_two_words(50'000);
  const auto groups = ElementsAre("text.plain", "text.plain.run2");
  TrainSettings hurried{.minutes = 0.1};
  const TrainSettings unplanned = hurried;
  const FieldPlan plan = plan_fields(examples, hurried);
  EXPECT_THAT(plan.layout.reads, groups);
  EXPECT_THAT(note_on_minutes(plan, examples, unplanned),
              HasSubstr("in 0.1 minutes, a network that reads the words in their order"));
  TrainSettings all = hurried;
  Given given;
  FieldPlan settled = plan;
  set_problem_defaults(settled, examples, given, all);
  EXPECT_THAT(all.model, testing::StartsWith("bag:256,start=logistic"));

  for (TrainSettings slow :
       {TrainSettings{}, TrainSettings{.minutes = 5}, TrainSettings{.model = "bilstm:8", .minutes = 0.1}}) {
    const TrainSettings before = slow;
    const FieldPlan ordered = plan_fields(examples, slow);
    EXPECT_THAT(ordered.layout.reads, ElementsAre("text"));
    EXPECT_EQ(note_on_minutes(ordered, examples, before), "");
  }
}

TEST(FieldPlan, numbers_are_predicted_from_their_previous_values) {
  TrainSettings settings;
  const FieldPlan plan = plan_fields(series(20), settings);
  EXPECT_EQ(plan.problem, Problem::forecasting);
  EXPECT_EQ(settings.ahead, 1);
  EXPECT_THAT(plan.layout.reads, ElementsAre("previous value"));
  EXPECT_EQ(plan.layout.heads.front().loss, "normal");
}

TEST(FieldPlan, networks_that_always_read_their_outputs_do_not_read_true_entries) {
  TrainSettings tags = predicting("tag");
  tags.feedback = "always";
  const FieldPlan tagger = plan_fields(sentences(4), tags);
  EXPECT_THAT(tagger.layout.reads, ElementsAre("word"));
  EXPECT_THAT(tagger.layout.feedback, ElementsAre("previous tag"));
  EXPECT_EQ(tagger.problem, Problem::tagging);
  TrainSettings numbers;
  numbers.feedback = "always";
  const FieldPlan autonomous = plan_fields(series(20), numbers);
  EXPECT_THAT(autonomous.layout.reads, ElementsAre());
  EXPECT_THAT(autonomous.choice.reads, ElementsAre());
  EXPECT_THAT(autonomous.layout.feedback, ElementsAre("previous value"));
  EXPECT_EQ(autonomous.problem, Problem::forecasting);
  TrainSettings label = predicting("label");
  label.feedback = "always";
  EXPECT_THROW(plan_fields(sentences(4), label), UsageError);
  TrainSettings ends;
  ends.feedback = "always", ends.predict = "tag", ends.ends = "symbol";
  EXPECT_THROW(plan_fields(sentences(4), ends), UsageError);
}

TEST(FieldPlan, field_names_may_contain_separators) {
  Examples examples = sentences(4);
  examples.columns[0].name = "load, \"net\"";
  examples.columns[1].name = "b=normal";
  examples.columns[2].name = "a@end";
  TrainSettings settings = predicting("b=normal=crf,a@end=softmax");
  settings.read = "load, \"net\"";
  const FieldPlan plan = plan_fields(examples, settings);
  EXPECT_THAT(plan.layout.reads, ElementsAre("load, \"net\""));
  EXPECT_THAT(plan.choice.predicts, ElementsAre("b=normal", "a@end"));
  EXPECT_EQ(plan.layout.heads[0].loss, "crf");
  EXPECT_EQ(plan.layout.heads[1].loss, "softmax");
  TrainSettings both = predicting("b=normal@end");
  both.read = "load, \"net\".lower,load, \"net\",a@end";
  EXPECT_THAT(plan_fields(examples, both).layout.reads, ElementsAre("load, \"net\".lower", "load, \"net\"", "a@end"));
  EXPECT_EQ(both.read, "load, \"net\".lower,load, \"net\",a@end");
}

TEST(FieldPlan, unknown_field_is_rejected_with_the_nearest_name) {
  TrainSettings settings = predicting("tga");
  EXPECT_THAT([&] { plan_fields(sentences(4), settings); },
              testing::ThrowsMessage<DataError>(HasSubstr("did you mean \"tag\"?")));
}

/// Returns the numbers of the examples in each part, identified by a field that differs between examples.
std::array<std::vector<Index>, 3> parts_of(Problem problem, Index count, const SplitShares& shares) {
  const Examples examples = sentences(count);
  const ExampleSplit split(examples, shares, problem);
  const auto data = std::make_shared<const DataSpecification>(
      specify(examples, {.reads = {"word"}, .predicts = {"label"}}, "columns"));
  const std::array<ExampleSet, 3> sets = split.parts(ExampleSet(examples, data, std::vector<std::string>{"label"}), 0);
  std::array<std::vector<Index>, 3> result;
  for (std::size_t p = 0; p < 3; ++p)
    for (Index e = 0; e < sets[p].count(); ++e) {
      const Symbol word = sets[p].column("word").symbols[at(sets[p].begin(e))];
      result[p].push_back(std::stoll(std::string(data->field("word").alphabet->text(word)).substr(1)));
    }
  return result;
}

constexpr SplitShares kShares{{80'000'000, 10'000'000, 10'000'000}};

TEST(ExampleSplit, tagged_examples_are_split_consecutively) {
  const auto parts = parts_of(Problem::tagging, 20, kShares);
  EXPECT_EQ(parts[0].size(), 16U);
  EXPECT_THAT(parts[1], ElementsAre(16, 17));
  EXPECT_THAT(parts[2], ElementsAre(18, 19));
}

TEST(ExampleSplit, classified_examples_are_split_across_the_whole_file) {
  const auto parts = parts_of(Problem::classifying, 100, kShares);
  std::vector<Index> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  std::ranges::sort(all);
  ASSERT_EQ(all.size(), 100U);
  for (Index e = 0; e < 100; ++e) EXPECT_EQ(all[at(e)], e);
  EXPECT_NEAR(static_cast<double>(parts[0].size()), 80, 1);
  EXPECT_NEAR(static_cast<double>(parts[1].size()), 10, 1);
  const auto of_first_class = std::ranges::count_if(parts[1], [](Index e) { return e < 50; });
  EXPECT_NEAR(static_cast<double>(of_first_class), 5, 1);
}

TEST(ExampleSplit, single_series_is_split_by_position_and_keeps_its_context) {
  const Examples examples = series(100);
  const ExampleSplit split(examples, kShares, Problem::forecasting);
  EXPECT_EQ(split.training(examples).positions(), 80);
  const auto data = std::make_shared<const DataSpecification>(
      specify(split.training(examples), {.reads = {"value"}, .predicts = {"value"}}, "table"));
  EXPECT_DOUBLE_EQ(data->field("value").mean.front(), 39.5);  // mean of 0 ... 79
  const auto parts = split.parts(ExampleSet(examples, data, std::vector<std::string>{"value"}), 7);
  EXPECT_EQ(parts[0].positions(), 80);
  EXPECT_EQ(parts[1].positions(), 17);
  EXPECT_EQ(parts[1].warmup(0), 7);
  EXPECT_EQ(parts[2].positions(), 17);
}

}  // namespace
}  // namespace unfold
