#include "base/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Table 3-7 of the Unicode Standard, row by row: the definition of a well-formed sequence.
struct Row {
  std::vector<std::pair<int, int>> ranges;
};

const std::vector<Row> kTable{{{{0x00, 0x7F}}},
                              {{{0xC2, 0xDF}, {0x80, 0xBF}}},
                              {{{0xE0, 0xE0}, {0xA0, 0xBF}, {0x80, 0xBF}}},
                              {{{0xE1, 0xEC}, {0x80, 0xBF}, {0x80, 0xBF}}},
                              {{{0xED, 0xED}, {0x80, 0x9F}, {0x80, 0xBF}}},
                              {{{0xEE, 0xEF}, {0x80, 0xBF}, {0x80, 0xBF}}},
                              {{{0xF0, 0xF0}, {0x90, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}}},
                              {{{0xF1, 0xF3}, {0x80, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}}},
                              {{{0xF4, 0xF4}, {0x80, 0x8F}, {0x80, 0xBF}, {0x80, 0xBF}}}};

std::size_t slow_length(std::string_view text) {
  for (const Row& row : kTable) {
    bool fits = text.size() >= row.ranges.size();
    for (std::size_t i = 0; fits && i < row.ranges.size(); ++i) {
      const int byte = static_cast<unsigned char>(text[i]);
      fits = byte >= row.ranges[i].first && byte <= row.ranges[i].second;
    }
    if (fits) return row.ranges.size();
  }
  return 0;
}

Index slow_find_invalid(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = slow_length(text.substr(i));
    if (length == 0) return static_cast<Index>(i);
    i += length;
  }
  return -1;
}

TEST(Utf8, every_code_point_round_trips_and_surrogates_are_rejected) {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    std::string text;
    append_utf8(text, code);
    Index position = 0;
    const char32_t read = next_code_point(text, position);
    if (is_scalar_value(code)) {
      ASSERT_EQ(read, code);
      ASSERT_EQ(position, static_cast<Index>(text.size()));
      ASSERT_EQ(slow_length(text), text.size());
    } else {
      ASSERT_EQ(read, kNoCodePoint);
      ASSERT_EQ(position, 0);
    }
  }
}

TEST(Utf8, short_byte_strings_agree_with_the_unicode_table) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      for (const int c : {-1, 0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF}) {
        for (const int d : {-1, 0x41, 0x80, 0xBF, 0xC2}) {
          std::string text{static_cast<char>(a), static_cast<char>(b)};
          if (c >= 0) text += static_cast<char>(c);
          if (c >= 0 && d >= 0) text += static_cast<char>(d);
          ASSERT_EQ(find_invalid_utf8(text), slow_find_invalid(text)) << a << ' ' << b << ' ' << c << ' ' << d;
        }
      }
    }
  }
}

RC_GTEST_PROP(Utf8, first_invalid_byte_agrees_with_the_unicode_table, ()) {
  // Mostly valid text with a few corrupted bytes, so that errors occur at every distance from the fast path.
  std::string text;
  for (const auto code : *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 0x300))) {
    append_utf8(text, code);
  }
  if (!text.empty() && *rc::gen::arbitrary<bool>()) {
    text[*rc::gen::inRange<std::size_t>(0, text.size())] = *rc::gen::arbitrary<char>();
  }
  RC_ASSERT(find_invalid_utf8(text) == slow_find_invalid(text));
}

TEST(Utf8, invalid_byte_after_long_ascii_has_the_correct_offset) {
  for (Index at = 0; at < 40; ++at) {
    std::string text(40, 'a');
    text[static_cast<std::size_t>(at)] = static_cast<char>(0xFF);
    EXPECT_EQ(find_invalid_utf8(text), at);
  }
  EXPECT_EQ(find_invalid_utf8(""), -1);
}

TEST(Utf8, whole_texts_are_decoded_and_encoded) {
  const std::string text = "aé€😀\n";
  EXPECT_EQ(decode_utf8(text), U"aé€😀\n");
  std::string encoded;
  for (const char32_t code : decode_utf8(text)) append_utf8(encoded, code);
  EXPECT_EQ(encoded, text);
  EXPECT_THROW(decode_utf8("ab\xC0\x80"), DataError);
}

}  // namespace
}  // namespace unfold
