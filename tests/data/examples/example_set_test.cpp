/// Conversion of examples to numbers: specifications, alphabets, standardization, missing and unseen values.

#include "unfold/data/examples/example_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;
using testing::ElementsAre;
using testing::HasSubstr;
using Type = FieldSpecification::Type;

ExampleColumn texts(const std::string& name, Texts entries, bool once = false) {
  return {.name = name, .once = once, .texts = std::move(entries)};
}

ExampleColumn numbers(const std::string& name, Numbers entries, Flags missing = {}, Index width = 1) {
  return {.name = name, .width = width, .numbers = std::move(entries), .missing = std::move(missing)};
}

/// Three examples of 3, 1 and 2 positions.
Examples three_examples() {
  return {.source = "data.txt",
          .columns = {texts("word", {"the", "dog", "runs", "Stop", "the", "cat"}),
                      texts("tag", {"D", "N", "V", "V", "D", "N"}), texts("class", {"long", "short", "short"}, true),
                      numbers("wind", {1, 2, 3, 4, 0, 6}, {0, 0, 0, 0, 1, 0})},
          .ends = {3, 4, 6},
          .lines = {1, 2, 3, 5, 7, 8},
          .example_lines = {1, 5, 7}};
}

Texts alphabet_of(const FieldSpecification& field) {
  Texts result;
  for (Symbol x = 0; x < field.size; ++x) result.emplace_back(field.alphabet->text(x));
  return result;
}

ExampleSet set_of(const Examples& examples, const FieldChoice& choice, const Examples& training,
                  UnknownPolicy unknown = UnknownPolicy::error) {
  const auto data = std::make_shared<const DataSpecification>(specify(training, choice, "columns"));
  return {examples, data, choice.predicts, unknown};
}

ExampleSet set_of(const Examples& examples, const FieldChoice& choice) { return set_of(examples, choice, examples); }

template <class Error = DataError>
std::string complaint(const std::function<void()>& f) {
  return message_of<Error>(f);
}

// ------------------------------------------------------------------------------------------------------- specification

TEST(Specify, specification_names_inputs_and_targets_with_kinds_and_sizes) {
  const DataSpecification data =
      specify(three_examples(), {.reads = {"word", "wind"}, .predicts = {"tag", "class"}}, "columns");
  EXPECT_EQ(data.source, "columns");
  ASSERT_EQ(data.fields.size(), 4U);
  EXPECT_EQ(data.field("word").type, Type::symbols);
  EXPECT_EQ(data.field("word").size, 6);
  EXPECT_EQ(data.field("wind").type, Type::values);
  EXPECT_EQ(data.field("wind").size, 1);
  EXPECT_FALSE(data.field("tag").once);
  EXPECT_TRUE(data.field("class").once);
}

TEST(Specify, input_alphabet_is_sorted_by_frequency_after_unk_and_target_alphabet_by_bytes) {
  const DataSpecification data =
      specify(three_examples(), {.reads = {"word"}, .predicts = {"tag", "class"}}, "columns");
  EXPECT_THAT(alphabet_of(data.field("word")), ElementsAre("<unk>", "the", "Stop", "cat", "dog", "runs"));
  EXPECT_THAT(alphabet_of(data.field("tag")), ElementsAre("D", "N", "V"));
  EXPECT_THAT(alphabet_of(data.field("class")), ElementsAre("long", "short"));
}

TEST(Specify, large_alphabets_keep_repeated_values_and_small_ones_keep_all) {
  for (const int distinct : {500, 501}) {
    Examples examples{.source = "data", .columns = {texts("word", {})}};
    TextList& words = examples.columns[0].texts;
    for (int i = 0; i < distinct; ++i) words.push_back("w" + std::to_string(i));
    words.emplace_back("w7");
    examples.ends = {static_cast<Index>(words.size())};
    const DataSpecification data = specify(examples, {.reads = {"word"}}, "columns");
    EXPECT_EQ(data.fields[0].size, distinct == 500 ? 501 : 2);
    const DataSpecification labels = specify(examples, {.predicts = {"word"}}, "columns");
    EXPECT_EQ(labels.fields[0].size, distinct);
  }
}

TEST(Specify, derived_text_fields_are_created) {
  const Examples examples = three_examples();
  const ExampleSet set = set_of(examples, {.reads = {"word.lower.prefix1", "word.char4"}, .predicts = {"tag"}});
  EXPECT_THAT(alphabet_of(set.data().field("word.lower.prefix1")), ElementsAre("<unk>", "t", "c", "d", "r", "s"));
  EXPECT_THAT(set.column("word.char4").symbols,
              ElementsAre(kNoSymbol, kNoSymbol, set.data().field("word.char4").alphabet->find("s"),
                          set.data().field("word.char4").alphabet->find("p"), kNoSymbol, kNoSymbol));
}

TEST(Specify, field_predicted_at_the_end_uses_only_end_values) {
  Examples examples = three_examples();
  examples.columns.push_back(numbers("level", {100, 200, 1, 2, 300, 6}));
  const ExampleSet set = set_of(examples, {.reads = {"word"}, .predicts = {"tag", "level"}, .once = {"tag", "level"}});
  EXPECT_THAT(alphabet_of(set.data().field("tag")), ElementsAre("N", "V"));  // D is absent
  EXPECT_THAT(set.column("tag").symbols, ElementsAre(1, 1, 0));
  EXPECT_TRUE(set.data().field("tag").once);
  EXPECT_EQ(set.data().field("level").mean, Numbers{3});
  EXPECT_EQ(set.column("level").present.size(), 3U);
  EXPECT_NEAR(restored(set.data().field("level"), 0, set.column("level").values[2]), 6, 1e-6);
}

TEST(Specify, missing_and_empty_fields_are_rejected) {
  Examples examples = three_examples();
  EXPECT_THAT(complaint([&] { specify(examples, {.reads = {"words"}}, ""); }), HasSubstr("did you mean \"word\"?"));
  EXPECT_THAT(complaint([&] { specify(examples, {.reads = {"wind.lower"}}, ""); }),
              HasSubstr("no field \"wind.lower\""));
  examples.columns[0].missing = examples.columns[3].missing = Flags(6, 1);
  EXPECT_THAT(complaint([&] { specify(examples, {.reads = {"word"}}, ""); }), HasSubstr("field word is empty"));
  EXPECT_THAT(complaint([&] { specify(examples, {.reads = {"wind"}}, ""); }), HasSubstr("field wind is empty"));
}

TEST(Specify, target_predicted_once_cannot_be_read) {
  const auto specified = [](const FieldChoice& choice) {
    return complaint<UsageError>([&] { specify(three_examples(), choice, ""); });
  };
  EXPECT_THAT(specified({.reads = {"word", "class"}, .predicts = {"class"}}),
              HasSubstr("field class is predicted once"));
  EXPECT_THAT(specified({.reads = {"tag"}, .predicts = {"tag"}, .once = {"tag"}}), HasSubstr("cannot also be read"));
}

// ----------------------------------------------------------------------------------------------------- standardization

TEST(Standardization, standardization_uses_mean_and_deviation_of_present_values) {
  const DataSpecification data = specify(three_examples(), {.reads = {"wind"}}, "table");
  const FieldSpecification& wind = data.field("wind");
  const Numbers present = {1, 2, 3, 4, 6};
  double mean = 0, square = 0;
  for (const double x : present) mean += x / 5, square += x * x / 5;
  ASSERT_EQ(wind.mean.size(), 1U);
  EXPECT_NEAR(wind.mean[0], mean, 1e-14);
  EXPECT_NEAR(wind.deviation[0], std::sqrt(square - mean * mean), 1e-14);
}

TEST(Standardization, standardized_numbers_have_mean_0_and_deviation_1_and_can_be_restored) {
  Examples examples{.source = "data", .columns = {numbers("wind", {}, {}, 2)}, .ends = {50}};
  for (int i = 0; i < 50; ++i) {
    examples.columns[0].numbers.push_back(1e6 + 3 * i * i);  // far from 0
    examples.columns[0].numbers.push_back(1e-3 * ((i * 7) % 11));
  }
  const ExampleSet set = set_of(examples, {.reads = {"wind"}});
  const FieldColumn& column = set.column("wind");
  for (std::size_t c = 0; c < 2; ++c) {
    double sum = 0, squares = 0;
    for (std::size_t e = 0; e < 50; ++e) {
      const double z = column.values[2 * e + c];
      sum += z, squares += z * z;
      EXPECT_NEAR(restored(set.data().fields[0], static_cast<Index>(c), z), examples.columns[0].numbers[2 * e + c],
                  1e-6 * set.data().fields[0].deviation[c]);
    }
    EXPECT_NEAR(sum, 0, 1e-5);
    EXPECT_NEAR(squares, 50, 1e-4);
  }
}

TEST(Standardization, bits_and_unscaled_targets_are_not_standardized) {
  const Examples examples{.source = "data",
                          .columns = {numbers("bits", {0, 1, 1, 0}, {}, 2), numbers("mixed", {0, 1, 1, 2}, {}, 2)},
                          .ends = {2}};
  const DataSpecification data = specify(examples, {.reads = {"bits", "mixed"}}, "");
  EXPECT_TRUE(data.field("bits").mean.empty());
  EXPECT_EQ(data.field("mixed").mean.size(), 2U);
  const DataSpecification raw = specify(examples, {.reads = {"mixed"}, .unstandardized = {"mixed"}}, "");
  EXPECT_TRUE(raw.field("mixed").mean.empty());
  EXPECT_EQ(restored(raw.field("mixed"), 1, 2.5), 2.5);
}

/// Adding 0.1 thirty times does not give 3: sums of equal numbers would give a nonzero deviation due to rounding.
TEST(Standardization, standardization_of_a_constant_is_exact) {
  const Examples examples{.source = "data", .columns = {numbers("wind", Numbers(30, 0.1))}, .ends = {30}};
  const ExampleSet set = set_of(examples, {.reads = {"wind"}});
  EXPECT_EQ(set.data().fields[0].mean, Numbers{0.1});
  EXPECT_EQ(set.data().fields[0].deviation, Numbers{1});
  for (const float z : set.column("wind").values) EXPECT_EQ(z, 0);
}

TEST(Standardization, other_data_use_the_standardization_of_training) {
  Examples other = three_examples();
  other.columns[3].numbers = {10, 20, 30, 40, 50, 60};
  other.columns[3].missing.clear();
  const FieldChoice choice{.reads = {"wind"}};
  const ExampleSet training = set_of(three_examples(), choice), set = set_of(other, choice, three_examples());
  const FieldSpecification& wind = training.data().field("wind");
  EXPECT_EQ(set.data().field("wind"), wind);
  EXPECT_FLOAT_EQ(set.column("wind").values[1], static_cast<float>((20 - wind.mean[0]) / wind.deviation[0]));
}

TEST(Standardization, too_large_numbers_are_rejected) {
  const FieldChoice choice{.reads = {"wind"}, .unstandardized = {}};
  Examples large = three_examples();
  large.columns[3].numbers[5] = 1e200;
  EXPECT_THAT(complaint([&] { specify(large, choice, ""); }), HasSubstr("line 8: field wind: 1e+200 is too large"));
  EXPECT_THAT(complaint([&] { set_of(large, choice, three_examples()); }),
              HasSubstr("data.txt, line 8: field wind is 1e+200, which is too large"));
  // float can represent the value but not its square, so its likelihood would be 0.
  large.columns[3].numbers[5] = -1e28;
  EXPECT_THAT(complaint([&] { set_of(large, choice, three_examples()); }),
              HasSubstr("data.txt, line 8: field wind is -1e+28, which is too large"));
}

// ------------------------------------------------------------------------------------- missing and unknown values

TEST(ExampleSet, examples_and_positions_are_counted) {
  const ExampleSet set = set_of(three_examples(), {.reads = {"word"}});
  EXPECT_EQ(set.count(), 3);
  EXPECT_EQ(set.positions(), 6);
  EXPECT_EQ(set.longest(), 3);
  EXPECT_EQ(set.begin(2), 4);
  EXPECT_EQ(set.length(1), 1);
  EXPECT_FALSE(set.has("tag"));
  EXPECT_THAT(complaint([&] { set.column("tag"); }), HasSubstr("data.txt has no field \"tag\""));
}

TEST(ExampleSet, missing_values_are_marked) {
  Examples examples = three_examples();
  examples.columns[0].missing = {0, 1, 0, 0, 0, 0};
  const ExampleSet set = set_of(examples, {.reads = {"word", "wind"}});
  EXPECT_EQ(set.column("word").symbols[1], kNoSymbol);
  EXPECT_NE(set.column("word").symbols[2], kNoSymbol);
  EXPECT_THAT(set.column("wind").present, ElementsAre(1, 1, 1, 1, 0, 1));
  EXPECT_EQ(set.column("wind").values[4], 0);
  EXPECT_EQ(set.data().field("word").alphabet->find("dog"), kNoSymbol);  // it never occurred
}

TEST(ExampleSet, unseen_inputs_are_read_as_unk) {
  Examples other = three_examples();
  other.columns[0].texts.replace(1, "whale");
  const ExampleSet set = set_of(other, {.reads = {"word"}}, three_examples());
  EXPECT_EQ(set.data().field("word").alphabet->text(set.column("word").symbols[1]), "<unk>");
}

TEST(ExampleSet, unseen_label_is_rejected_with_its_line) {
  Examples other = three_examples();
  other.columns[1].texts.replace(4, "ADJ");
  const FieldChoice choice{.reads = {"word"}, .predicts = {"tag", "class"}};
  EXPECT_THAT(complaint([&] { set_of(other, choice, three_examples()); }),
              HasSubstr("data.txt, line 7: field tag is \"ADJ\", which did not occur in training"));
  other = three_examples();
  other.columns[2].texts.replace(1, "tiny");
  EXPECT_THAT(complaint([&] { set_of(other, choice, three_examples()); }),
              HasSubstr("data.txt, line 5: field class is \"tiny\""));
  other.lines.clear();
  other.example_lines.clear();
  EXPECT_THAT(complaint([&] { set_of(other, choice, three_examples()); }),
              HasSubstr("data.txt, example 2: field class"));
}

TEST(ExampleSet, unseen_labels_are_kept_separately_if_allowed) {
  Examples other = three_examples();
  other.columns[1].texts.replace(4, "ADJ");
  other.columns[2].texts.replace(1, "tiny");
  const FieldChoice choice{.reads = {"word"}, .predicts = {"tag", "class"}};
  const ExampleSet set = set_of(other, choice, three_examples(), UnknownPolicy::skip);
  EXPECT_EQ(set.column("tag").symbols[4], kNoSymbol);
  EXPECT_THAT(set.column("tag").unseen, ElementsAre(std::pair<const Index, std::string>(4, "ADJ")));
  EXPECT_THAT(set.column("class").unseen, ElementsAre(std::pair<const Index, std::string>(1, "tiny")));
}

/// Only the label at the end of an example is required.
TEST(ExampleSet, labels_before_the_end_are_not_required_if_only_the_end_is_predicted) {
  Examples other = three_examples();
  other.columns[1].texts.replace(0, "ADJ");
  const FieldChoice choice{.reads = {"word"}, .predicts = {"tag"}, .once = {"tag"}};
  const ExampleSet set = set_of(other, choice, three_examples());
  EXPECT_THAT(set.column("tag").symbols, ElementsAre(1, 1, 0));
  other.columns[1].texts.replace(5, "ADJ");
  EXPECT_THAT(complaint([&] { set_of(other, choice, three_examples()); }), HasSubstr("line 8: field tag is \"ADJ\""));
  const ExampleSet apart = set_of(other, choice, three_examples(), UnknownPolicy::skip);
  EXPECT_THAT(apart.column("tag").unseen, ElementsAre(std::pair<const Index, std::string>(2, "ADJ")));
}

TEST(ExampleSet, data_of_the_wrong_kind_are_rejected) {
  const FieldChoice choice{.reads = {"word", "wind"}, .predicts = {"tag"}};
  const auto refused = [&](const std::function<void(Examples&)>& change) {
    Examples other = three_examples();
    change(other);
    return complaint([&] { set_of(other, choice, three_examples()); });
  };
  EXPECT_THAT(refused([](Examples& e) {
                e.columns[0] = numbers("word", {1, 2, 3, 4, 5, 6});
              }),
              HasSubstr("field word contains numbers, but the model expects text"));
  EXPECT_THAT(refused([](Examples& e) {
                e.columns[3] = texts("wind", {"1", "2", "3", "4", "5", "6"});
              }),
              HasSubstr("field wind contains text, but the model expects numbers"));
  EXPECT_THAT(refused([](Examples& e) { e.columns[3] = numbers("wind", Numbers(12, 1), {}, 2); }),
              HasSubstr("field wind contains 2 numbers per position, but the model expects 1"));
  EXPECT_THAT(refused([](Examples& e) {
                e.columns[1] = texts("tag", {"D", "N", "V"}, true);
              }),
              HasSubstr("field tag has one entry per example, but the model expects one per position"));
}

// -------------------------------------------------------------------------------------------------------- several
// files

Examples file_of(const std::string& source, ExampleColumn load, ExampleColumn note) {
  const Index rows = load.entries();
  Examples examples{.source = source, .columns = {std::move(load), std::move(note)}, .ends = {rows}};
  for (Index row = 0; row < rows; ++row) examples.lines.push_back(row + 2);
  return examples;
}

TEST(SeveralFiles, empty_column_takes_its_kind_from_other_files) {
  const Examples full = file_of("full", numbers("load", {1, 2}), texts("note", {"a", "b"}));
  Examples nothing = file_of("nothing", texts("load", {"", "NA"}), numbers("note", {0, 0}));
  for (ExampleColumn& column : nothing.columns) column.missing = {1, 1};
  for (const bool first : {true, false}) {
    Examples both = first ? nothing : full;
    append(both, first ? full : nothing);
    EXPECT_EQ(both.columns[0].width, 1);
    EXPECT_TRUE(both.columns[1].is_text());
    const ExampleSet set = set_of(both, {.reads = {"load"}, .predicts = {"note"}}, full);
    EXPECT_THAT(set.column("load").present, first ? ElementsAre(0, 0, 1, 1) : ElementsAre(1, 1, 0, 0));
    EXPECT_EQ(set.column("note").symbols[first ? 0 : 2], kNoSymbol);
  }
}

TEST(SeveralFiles, column_of_mixed_kind_matters_only_if_read) {
  Examples both = file_of("a.csv", numbers("load", {1, 2}), numbers("note", {17, 1.5}));
  append(both, file_of("b.csv", numbers("load", {3, 4}), texts("note", {"5", "door open"})));
  append(both, file_of("c.csv", numbers("load", {5}), numbers("note", {6})));
  EXPECT_THAT(both.columns[1].texts, ElementsAre("17", "1.5", "5", "door open", "6"));
  EXPECT_EQ(set_of(both, {.reads = {}, .predicts = {"load"}}, both).count(), 3);
  const std::string message = complaint([&] { set_of(both, {.reads = {"note"}, .predicts = {"load"}}, both); });
  EXPECT_THAT(
      message,
      HasSubstr(
          "field note: a.csv contains numbers (17 in line 2), and b.csv contains strings (\"door open\" in line 3); "));
  EXPECT_THAT(message, HasSubstr("--read"));
  const std::vector<Index> last = {2};
  EXPECT_THROW(specify(subset(both, last), {.reads = {"note"}, .predicts = {"load"}}, "table"), DataError);
}

TEST(SeveralFiles, files_must_have_the_same_fields_and_shapes) {
  const Examples one = file_of("one", numbers("load", {1}), numbers("note", {1}));
  const auto refused = [&](const ExampleColumn& load, const ExampleColumn& note) {
    return complaint([&] {
      Examples both = one;
      append(both, file_of("two", load, note));
    });
  };
  EXPECT_THAT(refused(numbers("note", {1}), numbers("load", {1})),
              HasSubstr("field 1 is named \"load\" in one and \"note\" in two"));
  EXPECT_THAT(refused(numbers("load", {1}), numbers("note", {1, 2}, {}, 2)), HasSubstr("1 numbers per entry in one"));
}

// -------------------------------------------------------------------------------------------------------------- parts

TEST(ExampleSet, subsets_have_the_requested_order) {
  Examples other = three_examples();
  other.columns[1].texts.replace(4, "ADJ");
  other.columns[2].texts.replace(2, "tiny");
  const FieldChoice choice{.reads = {"word", "wind"}, .predicts = {"tag", "class"}};
  const ExampleSet all = set_of(other, choice, three_examples(), UnknownPolicy::skip);
  const Indices chosen = {2, 0};
  const ExampleSet some = all.subset(chosen);
  EXPECT_EQ(some.count(), 2);
  EXPECT_EQ(some.length(0), 2);
  EXPECT_EQ(some.length(1), 3);
  const auto& words = all.column("word").symbols;
  EXPECT_THAT(some.column("word").symbols, ElementsAre(words[4], words[5], words[0], words[1], words[2]));
  EXPECT_THAT(some.column("wind").present, ElementsAre(0, 1, 1, 1, 1));
  EXPECT_THAT(some.column("tag").unseen, ElementsAre(std::pair<const Index, std::string>(0, "ADJ")));
  EXPECT_THAT(some.column("class").unseen, ElementsAre(std::pair<const Index, std::string>(0, "tiny")));
  EXPECT_EQ(some.column("class").symbols[1], all.column("class").symbols[0]);
  EXPECT_EQ(some.source(), all.source());
}

RC_GTEST_PROP(ExampleSet, subsets_contain_the_entries_of_their_examples, ()) {
  const auto lengths = *rc::gen::nonEmpty(rc::gen::container<Indices>(rc::gen::inRange<Index>(1, 6)));
  Examples examples{.source = "data", .columns = {texts("word", {}), numbers("wind", {})}};
  for (const Index length : lengths) {
    for (Index p = 0; p < length; ++p) {
      examples.columns[0].texts.push_back(std::to_string(*rc::gen::inRange(0, 5)));
      examples.columns[1].numbers.push_back(*rc::gen::inRange(0, 50));
      examples.columns[1].missing.push_back(*rc::gen::inRange<char>(0, 2));
    }
    examples.ends.push_back(examples.positions() + length);
  }
  examples.columns[1].missing[0] = 0;
  const ExampleSet all = set_of(examples, {.reads = {"word", "wind"}});
  const auto chosen = *rc::gen::container<Indices>(rc::gen::inRange<Index>(0, all.count()));
  const ExampleSet some = all.subset(chosen);
  RC_ASSERT(some.count() == static_cast<Index>(chosen.size()));
  for (Index k = 0; k < some.count(); ++k) {
    RC_ASSERT(some.length(k) == all.length(chosen[at(k)]));
    for (Index p = 0; p < some.length(k); ++p) {
      const auto to = at(some.begin(k) + p), from = at(all.begin(chosen[at(k)]) + p);
      RC_ASSERT(some.column("word").symbols[to] == all.column("word").symbols[from]);
      RC_ASSERT(some.column("wind").values[to] == all.column("wind").values[from]);
      RC_ASSERT(some.column("wind").present[to] == all.column("wind").present[from]);
    }
  }
}

TEST(ExampleSet, parts_of_one_example_include_their_context) {
  const ExampleSet all = set_of(three_examples(), {.reads = {"word"}, .predicts = {"class"}});
  const ExampleSet part = all.part(0, 1, 3, 5);  // only one position precedes it
  EXPECT_EQ(part.count(), 1);
  EXPECT_EQ(part.length(0), 3);
  EXPECT_EQ(part.warmup(0), 1);
  const auto& words = all.column("word").symbols;
  EXPECT_THAT(part.column("word").symbols, ElementsAre(words[0], words[1], words[2]));
  const ExampleSet tail = all.part(0, 2, 3, 1);
  EXPECT_EQ(tail.warmup(0), 1);
  EXPECT_THAT(tail.column("word").symbols, ElementsAre(words[1], words[2]));
  EXPECT_EQ(tail.column("class").symbols.size(), 1U);
  const ExampleSet none = all.part(0, 2, 2, 1);
  EXPECT_EQ(none.count(), 0);
  EXPECT_EQ(none.positions(), 0);
  EXPECT_TRUE(none.column("word").symbols.empty());
}

// ------------------------------------------------------------------------------------------------------------ reading

TEST(FieldRead, field_name_may_include_an_offset) {
  EXPECT_EQ((FieldRead{"word", 0}).name(), "word");
  EXPECT_EQ((FieldRead{"word", 1}).name(), "previous word");
  EXPECT_EQ((FieldRead{"word", 3}).name(), "previous(3) word");
  for (const char* plain : {"word", "previous", "previously", "previous(x) word", "previous(0) word", "previous(3)word",
                            "previous(3 word", "previous(99999999999999999999) word"}) {
    EXPECT_EQ(parse_read(plain).field, plain);
    EXPECT_EQ(parse_read(plain).back, 0);
  }
}

RC_GTEST_PROP(FieldRead, field_name_round_trips, ()) {
  const FieldRead read{*rc::gen::element<std::string>("word", "a b", "previous(2) x", "1.suffix2"),
                       *rc::gen::inRange<Index>(1, 1000)};
  const FieldRead back = parse_read(read.name());
  RC_ASSERT(back.field == read.field);
  RC_ASSERT(back.back == read.back);
}

}  // namespace
}  // namespace unfold
