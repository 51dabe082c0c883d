#include "unfold/base/formats/json.h"

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/formats/trusted_json.h"
#include "tests/base/scratch.h"

namespace unfold {
namespace {

using nlohmann::json;
using testing_support::contains;
using testing_support::message_of;

std::string json_refusal(const std::string& text, const JsonLimits& limits = {}) {
  return message_of<ModelError>([&] { parse_json(text, "here", limits); });
}

TEST(Json, json_reads_like_the_reference_library) {
  for (const char* text : {"null", "true", "-3", "18446744073709551615", "1.5e300", R"("é\n")", "[]", "{}",
                           R"({"a":[1,{"b":[[],{}]},"c"],"":{"d":null},"e":-0.5})", "[[1,[2,[3]]],4]"})
    EXPECT_EQ(parse_json(text, "here"), json::parse(text)) << text;
}

TEST(Json, invalid_json_is_rejected_with_its_position) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1,}", "1 2", "nul", "\"\xFF\"", "[1}", "{1:2}", "\"\\ud800\""})
    EXPECT_TRUE(contains(json_refusal(text), "here: not valid JSON")) << text;
  EXPECT_TRUE(contains(json_refusal(R"({"a":1,"b":{"a":2,"a":3}})"), "the key \"a\" occurs twice"));
  EXPECT_EQ(json_refusal(R"({"a":1,"b":{"a":2}})"), "");
}

TEST(Json, json_limits_are_enforced) {
  EXPECT_EQ(json_refusal(std::string(32, '[') + std::string(32, ']')), "");
  EXPECT_TRUE(contains(json_refusal(std::string(33, '[') + std::string(33, ']')), "deeper than 32"));
  EXPECT_TRUE(contains(json_refusal(std::string(10'000'000, '[')), "deeper than 32"));
  EXPECT_EQ(json_refusal("[1,2,3]", {.values = 4}), "");
  EXPECT_TRUE(contains(json_refusal("[1,2,3,4]", {.values = 4}), "more than 4 values"));
  EXPECT_TRUE(contains(json_refusal("[[],[],{}]", {.containers = 3}), "more than 3 lists"));
}

TEST(Json, sibling_objects_take_linear_time) {
  std::string text = R"({"z":[)";
  for (int i = 0; i < 90'000; ++i) text += "{},";
  text += "0]}";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(parse_json(text, "here")["z"].size(), 90'001u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(OwnJson, ordered_json_keeps_key_order) {
  EXPECT_EQ(parse_trusted_json(R"({"b":1,"a":[2.5,"é"]})", "here").dump(), R"({"b":1,"a":[2.5,"é"]})");
}

TEST(OwnJson, truncated_json_is_rejected_with_its_position_or_discarded) {
  for (const char* text : {"", R"({"b":1,"a":[2)"}) {
    EXPECT_TRUE(contains(message_of<ModelError>([&] { parse_trusted_json(text, "here"); }), "here: not valid JSON"));
    EXPECT_TRUE(try_parse_trusted_json(text).is_discarded());
  }
  EXPECT_EQ(try_parse_trusted_json("[1]")[0], 1);
}

TEST(OwnJson, optional_json_file_may_be_missing) {
  const testing_support::ScratchFolder folder;
  EXPECT_EQ(try_parse_trusted_json_file(folder.write("a.json", "{\n  \"x\": 1\n}\n"))["x"], 1);
  EXPECT_TRUE(try_parse_trusted_json_file(folder.path("none.json")).is_discarded());
}

TEST(Json, only_integers_within_the_type_are_integers) {
  EXPECT_EQ(whole_number<int>(json(7)), 7);
  EXPECT_EQ(whole_number<int>(json(-7)), -7);
  EXPECT_EQ(whole_number<Index>(json(Index{1} << 40)), Index{1} << 40);
  for (const char* text :
       {"4.44444e19", "1.0", "2147483648", "-2147483649", "18446744073709551615", "true", "null", "\"1\"", "[1]"})
    EXPECT_FALSE(whole_number<int>(json::parse(text)).has_value()) << text;
  EXPECT_FALSE(whole_number<Index>(json::parse("18446744073709551615")).has_value());
}

}  // namespace
}  // namespace unfold
