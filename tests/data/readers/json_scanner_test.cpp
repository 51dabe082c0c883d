#include "data/readers/json_scanner.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "data/readers/json_lines.h"
#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;

std::string string_in(const std::string& text) {
  JsonScanner object;
  EXPECT_TRUE(object.scan(text)) << text;
  return std::string(object.members().at(0).text);
}

bool is_exact(const std::string& text) {
  JsonScanner object;
  EXPECT_TRUE(object.scan(text)) << text;
  return object.members().at(0).exact;
}

TEST(JsonScanner, members_are_in_their_written_order) {
  JsonScanner object;
  const std::string text = R"( {"b":"x y" ,"a" : -1.5e3,"c":null, "d":true,"" : 7 } )";
  ASSERT_TRUE(object.scan(text));
  const std::vector<JsonMember>& members = object.members();
  ASSERT_EQ(members.size(), 5u);
  EXPECT_EQ(members[0].key, "b");
  EXPECT_EQ(members[0].text, "x y");
  EXPECT_EQ(members[1].value, -1500);
  EXPECT_FALSE(members[1].integer);
  EXPECT_EQ(members[2].kind, JsonMember::Kind::null);
  EXPECT_EQ(members[3].kind, JsonMember::Kind::boolean);
  EXPECT_EQ(members[3].text, "true");
  EXPECT_TRUE(members[4].integer);
}

TEST(JsonScanner, escape_sequences_are_replaced) {
  EXPECT_EQ(string_in(R"({"x": "\"\\\/\b\f\n\r\t"})"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(string_in(R"({"x": "Zo\u00E9 \ud83d\ude00."})"), "Zoé 😀.");
  EXPECT_EQ(string_in(R"({"x": "\u0000"})"), std::string_view("\0", 1));
}

TEST(JsonScanner, integers_beyond_53_bits_are_not_exact) {
  EXPECT_TRUE(is_exact(R"({"x": 9007199254740992})"));
  EXPECT_FALSE(is_exact(R"({"x": 9007199254740993})"));
  EXPECT_FALSE(is_exact(R"({"x": -9007199254740993})"));
}

TEST(JsonScanner, repeated_keys_are_recognized) {
  JsonScanner object;
  const std::vector<std::string> lines = {R"({"x": 1, "y": 2})",
                                          R"({"x": "a", "y": 3})",
                                          R"({"y": 1, "x": 2})",
                                          R"({"y": 1})",
                                          R"({"y": [[1]]})",
                                          "{}",
                                          "{}",
                                          R"({"y": 1})"};
  std::vector<bool> repeats;
  repeats.reserve(lines.size());
  for (const std::string& line : lines) repeats.push_back(object.scan(line) && object.repeats_keys());
  EXPECT_EQ(repeats, (std::vector<bool>{false, true, false, false, false, false, true, false}));
}

TEST(JsonScanner, other_texts_are_rejected) {
  JsonScanner object;
  for (const char* text : {"",
                           "1",
                           "{",
                           "}",
                           "{}x",
                           "[{}]",
                           "{\"x\"}",
                           "{\"x\": }",
                           "{\"x\": 1,}",
                           "{\"x\": 1 \"y\": 2}",
                           "{\"x\": []}",
                           "{\"x\": [[1]]}",
                           "{\"x\": [1, \"a\"]}",
                           "{\"x\": [1",
                           "{\"x\": [1,]}",
                           "{\"x\": [{}]}",
                           "{\"x\": {}}",
                           "{\"x\": 1, \"x\": 2}",
                           "{\"\\u0078\": 1}",
                           "{\"x\": \"a}",
                           "{\"x\": \"a\nb\"}",
                           "{\"x\": \"\\x\"}",
                           "{\"x\": \"\\u12\"}",
                           "{\"x\": \"\\ud83d\"}",
                           "{\"x\": \"\\ude00\"}",
                           "{\"x\": 01}",
                           "{\"x\": .5}",
                           "{\"x\": 1.}",
                           "{\"x\": +1}",
                           "{\"x\": 1e}",
                           "{\"x\": 1e999}",
                           "{\"x\": -0}",
                           "{\"x\": NaN}",
                           "{\"x\": nul}",
                           "{\"x\": truer}",
                           "{\"x\": 12345678901234567890}",
                           "{'x': 1}",
                           "{\"x\": \"\\"}) {
    EXPECT_FALSE(object.scan(text)) << text;
  }
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

rc::Gen<std::string> pieces_of(std::vector<std::string> pieces) {
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(std::move(pieces))), joined);
}

rc::Gen<std::string> json_strings() {
  return rc::gen::map(pieces_of({"a", "key", " ", "é", "😀", "1.5", "null", "\\n", "\\\"", "\\\\", "\\u00e9",
                                 "\\ud83d\\ude00", "\\ud83d", "\\q", "\x7f", "\t", "abcdefgh", ",", "}"}),
                      [](const std::string& text) { return '"' + text + '"'; });
}

rc::Gen<std::string> json_scalars() {
  const auto number = rc::gen::map(pieces_of({"0", "1", "7", "25", "-", ".", "e", "E+", "e-3", "900719925474099", "3"}),
                                   [](const std::string& text) { return text.empty() ? std::string("8") : text; });
  const auto real = rc::gen::map(rc::gen::arbitrary<double>(), [](double x) { return nlohmann::json(x).dump(); });
  const auto integer = rc::gen::map(rc::gen::arbitrary<std::int64_t>(), [](auto n) { return std::to_string(n); });
  return rc::gen::oneOf(json_strings(), number, real, integer,
                        rc::gen::elementOf(std::vector<std::string>{"null", "true", "false", "[]", "[[1]]", "{}"}));
}

rc::Gen<std::string> json_values() {
  const auto list = rc::gen::map(rc::gen::container<std::vector<std::string>>(json_scalars()), [](const auto& entries) {
    std::string text = "[";
    for (const std::string& entry : entries) text += (text.size() > 1 ? ", " : "") + entry;
    return text + "]";
  });
  const auto numbers = rc::gen::map(rc::gen::container<std::vector<int>>(rc::gen::inRange(-20, 20)),
                                    [](const auto& entries) { return nlohmann::json(entries).dump(); });
  return rc::gen::oneOf(json_scalars(), json_scalars(), list, numbers);
}

void compare_values(const JsonScanner& scanner, const JsonMember& member, const nlohmann::json& value) {
  using Kind = JsonMember::Kind;
  RC_ASSERT(value.is_null() == (member.kind == Kind::null));
  RC_ASSERT(value.is_boolean() == (member.kind == Kind::boolean));
  RC_ASSERT(value.is_string() == (member.kind == Kind::string));
  RC_ASSERT(value.is_array() == (member.kind == Kind::list));
  if (value.is_array()) {
    RC_ASSERT(value.size() == member.size);
    for (std::size_t i = 0; i < value.size(); ++i) compare_values(scanner, scanner.entries(member)[i], value[i]);
  }
  if (is_json_text(value)) RC_ASSERT(json_text(value) == member.text);
  if (!value.is_number()) return;
  RC_ASSERT(std::bit_cast<std::uint64_t>(value.get<double>()) == std::bit_cast<std::uint64_t>(member.value));
  RC_ASSERT(value.is_number_integer() == member.integer);
  RC_ASSERT(is_inexact_integer(value) == !member.exact);
  if (member.integer) RC_ASSERT(json_text(value) == member.text);
}

/// An accepted object must be valid, with the same members as those of the parser.
void compare_with_parser(JsonScanner& scanner, const std::string& text) {
  if (!scanner.scan(text)) return;
  const nlohmann::json parsed = object_in_line("data", text, 1);
  RC_ASSERT(parsed.size() == scanner.members().size());
  for (const JsonMember& member : scanner.members())
    compare_values(scanner, member, parsed.at(std::string(member.key)));
}

RC_GTEST_PROP(JsonScanner, members_equal_those_of_the_parser, ()) {
  const auto members = *rc::gen::container<std::vector<std::pair<std::string, std::string>>>(
      rc::gen::pair(json_strings(), json_values()));
  const std::string blanks = *rc::gen::elementOf(std::vector<std::string>{"", " ", "\r\n\t"});
  std::string text = "{";
  for (const auto& [key, value] : members)
    text += (text.size() > 1 ? "," + blanks : blanks) + key + blanks + ":" + blanks + value + blanks;
  text += "}";
  JsonScanner object;
  compare_with_parser(object, text);
  compare_with_parser(object, text);
  std::string damaged = text;
  damaged[*rc::gen::inRange<std::size_t>(0, text.size())] = *rc::gen::elementOf(std::string("\"\\{}[],:-.e0x \n"));
  if (find_invalid_utf8(damaged) < 0) compare_with_parser(object, damaged);
}

std::string records_of(const Examples& examples) {
  nlohmann::json all;
  for (const ExampleColumn& column : examples.columns)
    all.push_back({column.name, column.width, Texts(column.texts.begin(), column.texts.end()), column.numbers,
                   column.missing, column.integers});
  return all.dump();
}

TEST(JsonScanner, lists_have_entries) {
  JsonScanner scanner;
  const std::string text = R"({"a": [1, null,2.5], "b" : [ "x" , true ], "c": [null]})";
  ASSERT_TRUE(scanner.scan(text));
  const std::vector<JsonMember>& members = scanner.members();
  EXPECT_EQ(members[0].kind, JsonMember::Kind::list);
  ASSERT_EQ(scanner.entries(members[0]).size(), 3u);
  EXPECT_EQ(scanner.entries(members[0])[1].kind, JsonMember::Kind::null);
  EXPECT_EQ(scanner.entries(members[0])[2].value, 2.5);
  ASSERT_EQ(scanner.entries(members[1]).size(), 2u);
  EXPECT_EQ(scanner.entries(members[1])[0].text, "x");
  EXPECT_EQ(scanner.entries(members[1])[1].text, "true");
  EXPECT_EQ(scanner.entries(members[2]).size(), 1u);
}

/// A key with an escape sequence sends its line to the parser. The columns must not depend on that.
RC_GTEST_PROP(JsonScanner, records_do_not_depend_on_the_scanner, ()) {
  const auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::pair<double, std::string>>>(
      rc::gen::pair(rc::gen::arbitrary<double>(), json_values())));
  const auto file = [&](const std::string& key) {
    std::string text;
    for (const auto& [number, value] : values)
      text += "{\"k\": " + nlohmann::json(number).dump() + ", " + key + ": " + value + "}\n";
    return text;
  };
  const auto read = [&](const std::string& format, const std::string& key) {
    try {
      return records_of(read_as(format, file(key)));
    } catch (const DataError& error) {
      return std::string(error.what());
    }
  };
  const auto same = [](const std::string& a, const std::string& b) {
    return a == b || (a.find("not valid JSON") != std::string::npos && b.find("not valid JSON") != std::string::npos);
  };
  for (const char* format : {"records", "jsonl"}) RC_ASSERT(same(read(format, "\"x\""), read(format, "\"\\u0078\"")));
}

}  // namespace
}  // namespace unfold
