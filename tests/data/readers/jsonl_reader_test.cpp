#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;

TEST(JsonlReader, lists_are_position_fields_and_scalars_are_example_fields) {
  const Examples examples =
      read_as("jsonl",
              "{\"word\": [\"a\", \"b\"], \"x\": [1, 2.5], \"v\": [[1, 2], [3, 4]], \"label\": \"l\"}\n\n"
              "{\"word\": [\"c\"], \"x\": [-3], \"v\": [[5, 6]], \"label\": \"m\"}\n");
  EXPECT_EQ(entries_of(examples, "word"), (Texts{"a", "b", "c"}));
  EXPECT_EQ(column_of(examples, "x").numbers, (Numbers{1, 2.5, -3}));
  EXPECT_EQ(column_of(examples, "v").width, 2);
  EXPECT_EQ(column_of(examples, "v").numbers, (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(column_of(examples, "label").once);
  EXPECT_EQ(entries_of(examples, "label"), (Texts{"l", "m"}));
  EXPECT_EQ(examples.ends, (Indices{2, 3}));
  EXPECT_EQ(examples.lines, (Indices{1, 1, 3}));
  EXPECT_EQ(examples.example_lines, (Indices{1, 3}));
}

TEST(JsonlReader, text_key_is_plain_text) {
  const std::string lines = "{\"text\": \"It is so.\", \"y\": true}\n{\"text\": \"Yes, sir\", \"y\": false}\n";
  const Examples words = read_as("jsonl", lines);
  EXPECT_EQ(entries_of(words, "text"), (Texts{"It", "is", "so.", "Yes,", "sir"}));
  EXPECT_EQ(entries_of(words, "y"), (Texts{"true", "false"}));
  EXPECT_EQ(read_as("jsonl", lines, {.text = SymbolKind::chars, .text_kind_set = true}).ends, (Indices{9, 17}));
  EXPECT_EQ(read_as("jsonl", "{\"text\": \"Zoé\"}\n").positions(), 3);
}

TEST(JsonlReader, texts_are_read_as_characters_if_they_have_few_words) {
  const std::string name = "{\"text\": \"Zoé\"}\n", words = "{\"text\": \"Al B\"}\n";
  EXPECT_EQ(entries_of(read_as("jsonl", name + name + words), "text").size(), 10U);          // 4 words in 3 texts
  EXPECT_EQ(entries_of(read_as("jsonl", name + words), "text"), (Texts{"Zoé", "Al", "B"}));  // 3 words in 2 texts
}

TEST(JsonlReader, lines_that_are_not_json_are_reported_before_other_errors) {
  const std::string message = refusal("jsonl", "{\"text\": \"a b c\"}\n{\"text\": \"\"}\n{\"text\": \n");
  EXPECT_TRUE(contains(message, "data: line 3: not valid JSON")) << message;
}

TEST(JsonlReader, null_and_absent_keys_are_missing) {
  const Examples examples = read_as("jsonl",
                                    "{\"x\": [1, null], \"z\": [null, null]}\n"
                                    "{\"x\": [2], \"late\": 5, \"z\": [[1, 2]], \"w\": [\"a\"]}\n"
                                    "{\"x\": [3], \"late\": null, \"z\": null}\n");
  EXPECT_EQ(column_of(examples, "x").missing, (Flags{0, 1, 0, 0}));
  EXPECT_EQ(column_of(examples, "late").missing, (Flags{1, 0, 1}));
  EXPECT_EQ(column_of(examples, "z").missing, (Flags{1, 1, 0, 1}));
  EXPECT_EQ(column_of(examples, "z").numbers.size(), 8u);
  EXPECT_EQ(column_of(examples, "w").missing, (Flags{1, 1, 0, 1}));
}

TEST(JsonlReader, lines_of_scalars_have_one_position) {
  const Examples examples = read_as("jsonl", "{\"x\": 1, \"y\": \"a\"}\n{\"x\": 2, \"y\": \"b\"}\n");
  EXPECT_EQ(examples.ends, (Indices{1, 2}));
  EXPECT_EQ(column_of(examples, "x").numbers, (Numbers{1, 2}));
}

TEST(JsonlReader, keys_of_records_keep_their_written_order) {
  const Examples rows =
      read_as("records", "{\"width\": 1, \"height\": 2}\n{\"area\": 3, \"height\": 4, \"depth\": 5}\n");
  std::vector<std::string> names;
  for (const ExampleColumn& column : rows.columns) names.push_back(column.name);
  EXPECT_EQ(names, (std::vector<std::string>{"width", "height", "area", "depth"}));
}

TEST(JsonlReader, lists_of_objects_are_read_like_lines) {
  const Examples lines = read_as("jsonl", "{\"x\": [1, 2], \"y\": \"a}\"}\n{\"x\": [3], \"y\": \"]\\\"\"}\n");
  const Examples list = read_as("jsonl", "\n[{\"x\": [1, 2], \"y\": \"a}\"},\n {\"x\": [3],\n  \"y\": \"]\\\"\"}\n]\n");
  EXPECT_EQ(list.columns, lines.columns);
  EXPECT_EQ(list.ends, lines.ends);
  EXPECT_EQ(list.example_lines, (Indices{2, 3}));
  const Examples rows = read_as("records", "[{\"x\": 1, \"y\": \"a\"}, {\"x\": 2, \"y\": \"b\"}]");
  EXPECT_EQ(column_of(rows, "x").numbers, (Numbers{1, 2}));
  EXPECT_EQ(entries_of(rows, "y"), (Texts{"a", "b"}));
}

TEST(JsonlReader, invalid_lists_are_rejected_with_their_line) {
  const auto refused = [](const std::string& text, const std::string& part) {
    const std::string message = refusal("records", text);
    EXPECT_TRUE(contains(message, part)) << message;
  };
  refused("[{\"x\": 1},\n{\"x\": 2}", "line 2");
  refused("[{\"x\": 1},\n{\"x\": 2", "line 2");
  refused("[{\"x\": 1},\n]", "line 2");
  refused("[{\"x\": 1}] {\"x\": 2}]", "line 1");
  refused("[{\"x\": 1},\n 7]", "line 2");
}

TEST(JsonlReader, invalid_jsonl_is_rejected_with_its_line) {
  const auto refused = [](const std::string& lines, const std::string& part) {
    const std::string message = refusal("jsonl", lines);
    EXPECT_TRUE(contains(message, part)) << message;
  };
  refused("{\"x\": [1]}\n{\"x\": [1, 2], \"y\": [3]}\n",
          "data: line 2: \"x\" has 2 entries, but \"y\" has 1; the lists of an example must have the same length");
  refused("{\"x\": [1]}\n{\"x\": [\"a\"]}\n",
          "data: line 2: \"x\" is a list whose entries are each a text, but in line 1");
  refused("{\"x\": [1]}\n{\"x\": 1}\n", "data: line 2: \"x\" is one number");
  refused("{\"x\": [1, \"a\"]}\n", "entries of different kinds");
  refused("{\"x\": [[1, 2], [3]]}\n", "entries of different kinds or widths;");
  refused("{\"x\": [[1], 2]}\n", "entries of different kinds");
  refused("{\"x\": []}\n", "data: line 1: \"x\" is empty");
  refused("{\"x\": [1], \"text\": \"\"}\n", "line 1: \"text\" is empty");
  refused("{\"x\": [{\"y\": 1}, {\"y\": 2}]}\n",
          "line 1: \"x\" is a list of objects; write one list for each of their keys, for example with jq -c "
          "'.\"x.y\" = [.\"x\"[].\"y\"] | del(.\"x\")'");
  refused("{\"x\": [[]]}\n", "\"x\" must be a string, a number, or a list");
  refused("{\"x\": [1]}\n[1]\n", "data: line 2: not a JSON object");
  refused("{\"x\": [1]}\n{\"x\": [NaN]}\n", "data: line 2: not valid JSON");
  refused("{\"x\": [1]}\n{\"y\": 1}\n", "data: line 2: there is no list and no text");
  refused("{\"x\": [1], \"x\": [2]}\n", "the key \"x\" occurs twice");
  refused("{\"x\": [1e999]}\n", "data: line 1");
}

TEST(JsonlReader, MembersOfNestedObjectsAreColumnsOfATable) {
  const std::string lines =
      "{\"user\": \"a\", \"geo\": {\"lat\": 1.5, \"place\": {\"city\": \"x\", \"zip\": null}}, \"label\": 3}\n"
      "{\"user\": \"b\", \"geo\": {}, \"label\": 4}\n"
      "{\"user\": \"c\", \"geo.lat\": 2.5, \"geo\": {\"place\": {\"city\": \"y\"}, \"new\": true}, \"label\": 5}\n";
  EXPECT_EQ(format_of("data.jsonl", lines), "records");
  const Examples rows = read_as("records", lines);
  EXPECT_EQ(names_of(rows), (Texts{"user", "geo.lat", "geo.place.city", "geo.place.zip", "label", "geo.new"}));
  EXPECT_EQ(column_of(rows, "geo.lat").numbers, (Numbers{1.5, 0, 2.5}));
  EXPECT_EQ(column_of(rows, "geo.lat").missing, (Flags{0, 1, 0}));
  EXPECT_EQ(entries_of(rows, "geo.place.city"), (Texts{"x", "", "y"}));
  ASSERT_EQ(std::ranges::count_if(rows.remarks, [](const auto& note) { return contains(note, "nested objects"); }), 1);
  EXPECT_TRUE(contains(refusal("records", "{\"a.b\": 1, \"a\": {\"b\": 2}}\n"),
                       "data: line 1: \"a.b\" is a key and the path of a value in a nested object"));
  EXPECT_TRUE(contains(refusal("records", "{\"a\": {\"b\": [1]}}\n"), "line 1: \"a.b\" is a list"));
}

TEST(JsonlReader, MembersOfNestedObjectsAreFieldsOfExamples) {
  const std::string lines =
      "{\"text\": \"it is so\", \"meta\": {\"k\": 1, \"tag\": [\"a\", \"b\", \"c\"]}, \"label\": \"p\"}\n"
      "{\"text\": \"yes sir\", \"meta\": {\"k\": 2, \"tag\": [\"a\", \"b\"]}, \"label\": \"q\"}\n";
  EXPECT_EQ(format_of("data.jsonl", lines), "jsonl");
  const Examples examples = read_as("jsonl", lines);
  EXPECT_EQ(names_of(examples), (Texts{"label", "meta.k", "meta.tag", "text"}));
  EXPECT_EQ(column_of(examples, "meta.k").numbers, (Numbers{1, 2}));
  EXPECT_TRUE(column_of(examples, "meta.k").once);
  EXPECT_EQ(entries_of(examples, "meta.tag"), (Texts{"a", "b", "c", "a", "b"}));
  ASSERT_FALSE(examples.remarks.empty());
  EXPECT_TRUE(contains(examples.remarks.back(), "such as \"meta.k\"")) << examples.remarks.back();
  EXPECT_TRUE(contains(refusal("jsonl", "{\"a.b\": 1, \"a\": {\"b\": 2}}\n"), "\"a.b\" is a key and the path"));
  EXPECT_TRUE(contains(refusal("jsonl", "{\"a.b\": [1], \"a\": {\"b\": [2]}}\n"), "\"a.b\" is a key and the path"));
}

TEST(JsonlReader, TheDepthOfNestedObjectsIsBounded) {
  const auto nested = [](int depth) {
    std::string object = "1";
    for (int level = 0; level < depth; ++level) object = "{\"a\": " + object + "}";
    return object + "\n";
  };
  EXPECT_EQ(names_of(read_as("records", nested(8))), (Texts{"a.a.a.a.a.a.a.a"}));
  EXPECT_TRUE(contains(refusal("records", nested(9)), "data: line 1"));
  EXPECT_TRUE(contains(message_of<DataError>([&] { read_as("", nested(30'000), {}, "data.jsonl"); }), "line 1"));
}

RC_GTEST_PROP(JsonlReader, written_jsonl_round_trips, ()) {
  using Row = std::vector<std::pair<double, std::string>>;
  const auto rows = *rc::gen::nonEmpty(rc::gen::container<std::vector<Row>>(rc::gen::nonEmpty(rc::gen::container<Row>(
      rc::gen::pair(rc::gen::arbitrary<double>(), rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)))))));
  std::string file;
  Numbers numbers;
  Texts texts;
  for (const Row& row : rows) {
    nlohmann::json object;
    for (const auto& [number, text] : row) {
      object["x"].push_back(number);
      object["t"].push_back(text);
      numbers.push_back(number);
      texts.push_back(text);
    }
    file += object.dump() + "\n";
  }
  const Examples examples = read_as("jsonl", file);
  RC_ASSERT(column_of(examples, "x").numbers == numbers);
  RC_ASSERT(entries_of(examples, "t") == texts);
  RC_ASSERT(examples.count() == static_cast<Index>(rows.size()));
}

}  // namespace
}  // namespace unfold
