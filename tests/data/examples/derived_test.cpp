#include "data/examples/derived.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

std::string derived(const std::string& kind, const std::string& text) {
  const std::optional<DerivedField> field = parse_derived("word." + kind);
  EXPECT_TRUE(field) << kind;
  return field ? derive(*field, text) : "";
}

TEST(Derived, derived_names_contain_operation_and_field) {
  EXPECT_EQ(parse_derived("word.prefix3"),
            (DerivedField{.field = "word", .kind = DerivedField::Kind::prefix, .count = 3}));
  EXPECT_EQ(parse_derived("a.b.lower.suffix12"),
            (DerivedField{.field = "a.b.lower", .kind = DerivedField::Kind::suffix, .count = 12}));
  EXPECT_EQ(parse_derived("1.char-2"),
            (DerivedField{.field = "1", .kind = DerivedField::Kind::character, .count = -2}));
  for (const char* name : {"word", "lower", ".lower", "word.", "word.lower2", "word.prefix", "word.prefix0",
                           "word.prefix-1", "word.prefix03", "word.suffix100", "word.char", "word.char-", "word.char0",
                           "word.charx", "word.shape1", "word.Lower", "word.prefix3x"}) {
    EXPECT_FALSE(parse_derived(name)) << name;
  }
}

TEST(Derived, lower_case_follows_unicode) {
  EXPECT_EQ(derived("lower", "McDonald's-95"), "mcdonald's-95");
  EXPECT_EQ(derived("lower", "ÀÉÎ ÖÜẞ ŁŽ"), "àéî öüß łž");
  EXPECT_EQ(derived("lower", "ΑΒΓ ДЖ 東京"), "αβγ дж 東京");
  EXPECT_EQ(derived("lower",
                    "A\xE9"
                    "B"),
            "a\xE9"
            "b");
}

TEST(Derived, prefixes_and_suffixes_count_characters) {
  EXPECT_EQ(derived("prefix3", "Zoë's"), "Zoë");
  EXPECT_EQ(derived("suffix3", "Zoë's"), "ë's");
  EXPECT_EQ(derived("prefix3", "ab"), "ab");
  EXPECT_EQ(derived("suffix3", "ab"), "ab");
  EXPECT_EQ(derived("suffix1", ""), "");
}

TEST(Derived, plain_words_lose_case_and_outer_punctuation) {
  EXPECT_EQ(derived("plain", "(McDonald's),"), "mcdonald's");
  EXPECT_EQ(derived("plain", "Über."), "über");
  EXPECT_EQ(derived("plain", "C++"), "c++");
  EXPECT_EQ(derived("plain", "\u201eÀ-b\u201c"), "à-b");
  EXPECT_EQ(derived("plain", "?!"), "?!");
  EXPECT_EQ(derived("plain", ""), "");
}

TEST(Derived, word_shape_groups_upper_case_lower_case_and_digits) {
  EXPECT_EQ(derived("shape", "McDonald's-95"), "XxXx'x-d");
  EXPECT_EQ(derived("shape", "NASA"), "X");
  EXPECT_EQ(derived("shape", "1,000.50"), "d,d.d");
  EXPECT_EQ(derived("shape", "Éclair--東"), "Xx--東");
  EXPECT_EQ(derived("shape", "x٣"), "xd");
}

TEST(Derived, character_feature_counts_from_either_end_and_may_be_missing) {
  EXPECT_EQ(derived("char3", "Zoë's"), "ë");
  EXPECT_EQ(derived("char-1", "Zoë"), "ë");
  EXPECT_EQ(derived("char-3", "Zoë"), "Z");
  EXPECT_EQ(derived("char4", "Zoë"), "");
  EXPECT_EQ(derived("char-4", "Zoë"), "");
}

TEST(Derived, repeated_value_feature_counts_consecutive_texts) {
  const auto run = parse_derived("word.lower.run2");
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->field, "word.lower");
  EXPECT_EQ(run->kind, DerivedField::Kind::run);
  EXPECT_EQ(run->count, 2);
  EXPECT_FALSE(parse_derived("word.run").has_value());
}

RC_GTEST_PROP(Derived, parts_of_valid_text_are_valid_and_join_to_the_whole, ()) {
  std::string text;
  for (const auto code : *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(1, 0x3100))) {
    append_utf8(text, code);
  }
  for (const char* kind : {"lower", "shape", "prefix2", "suffix2", "char2", "char-2"}) {
    RC_ASSERT(find_invalid_utf8(derived(kind, text)) < 0);
  }
  RC_ASSERT(text.starts_with(derived("prefix2", text)));
  RC_ASSERT(text.ends_with(derived("suffix2", text)));
  RC_ASSERT(derived("lower", derived("lower", text)) == derived("lower", text));
}

}  // namespace
}  // namespace unfold
