#include "data/examples/derived.h"

#include <utf8proc.h>

#include <charconv>

#include "base/utf8.h"

namespace unfold {
namespace {

constexpr Index kMostCharacters = 99;  ///< maximum length of a prefix or suffix, and maximum character position

/// Calls use(character, code point) for each character; an invalid byte counts as a character with code kNoCodePoint.
template <class Use>
void for_each_character(std::string_view text, Use&& use) {
  for (Index begin = 0, end = 0; end < static_cast<Index>(text.size()); begin = end) {
    const char32_t code = next_code_point(text, end);
    if (code == kNoCodePoint) ++end;
    use(text.substr(at(begin), at(end - begin)), code);
  }
}

Index count_characters(std::string_view text) {
  Index count = 0;
  for_each_character(text, [&](std::string_view, char32_t) { ++count; });
  return count;
}

/// Returns the characters in [begin, end), as far as they exist.
std::string characters_of(std::string_view text, Index begin, Index end) {
  std::string out;
  Index place = 0;
  for_each_character(text, [&](std::string_view character, char32_t) {
    if (place >= begin && place < end) out += character;
    ++place;
  });
  return out;
}

std::string lower_case(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](std::string_view character, char32_t code) {
    if (code == kNoCodePoint)
      out += character;
    else
      append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code))));
  });
  return out;
}

bool is_punctuation(char32_t code) {
  if (code == kNoCodePoint) return false;
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

/// Returns the text in lower case without punctuation at its ends; a text of punctuation is unchanged.
std::string plain_word(std::string_view text) {
  Index begin = -1, end = 0, place = 0;
  for_each_character(text, [&](std::string_view, char32_t code) {
    ++place;
    if (is_punctuation(code)) return;
    if (begin < 0) begin = place - 1;
    end = place;
  });
  return lower_case(begin < 0 ? std::string(text) : characters_of(text, begin, end));
}

/// Returns 'X', 'x', 'd', or 0 for any other character.
char shape_of(char32_t code) {
  if (code == kNoCodePoint) return 0;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT: return 'X';
    case UTF8PROC_CATEGORY_LL: return 'x';
    case UTF8PROC_CATEGORY_ND: return 'd';
    default: return 0;
  }
}

std::string word_shape(std::string_view text) {
  std::string out;
  char last = 0;
  for_each_character(text, [&](std::string_view character, char32_t code) {
    const char shape = shape_of(code);
    if (shape == 0)
      out += character;
    else if (shape != last)
      out += shape;
    last = shape;
  });
  return out;
}

/// Returns the last `count` characters.
std::string end_of(std::string_view text, Index count) {
  const Index size = count_characters(text);
  return characters_of(text, size - count, size);
}

/// Returns one character. Positions are counted from 1 at the beginning, or from -1 at the end.
std::string nth_character(std::string_view text, Index which) {
  const Index place = which > 0 ? which - 1 : count_characters(text) + which;
  return characters_of(text, place, place + 1);
}

struct DerivedName {
  std::string_view name;
  DerivedField::Kind kind;
  bool counted, from_end;  ///< whether a number follows, and whether it may be negative
};

constexpr DerivedName kDerivedNames[] = {
    {"lower", DerivedField::Kind::lower, false, false},  {"plain", DerivedField::Kind::plain, false, false},
    {"shape", DerivedField::Kind::shape, false, false},  {"prefix", DerivedField::Kind::prefix, true, false},
    {"suffix", DerivedField::Kind::suffix, true, false}, {"chars", DerivedField::Kind::characters, false, false},
    {"char", DerivedField::Kind::character, true, true}, {"run", DerivedField::Kind::run, true, false}};

/// Parses digits without leading zeros; 0 if they are malformed.
Index parsed_count(std::string_view digits, bool negative_too) {
  const bool negative = negative_too && digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  Index count = 0;
  const auto [stopped, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  const bool valid = error == std::errc() && stopped == digits.data() + digits.size() && digits[0] != '0';
  if (!valid || count < 1 || count > kMostCharacters) return 0;
  return negative ? -count : count;
}

}  // namespace

std::optional<DerivedField> parse_derived(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  const std::string_view what = name.substr(dot + 1);
  for (const DerivedName& known : kDerivedNames) {
    if (!what.starts_with(known.name)) continue;
    const std::string_view rest = what.substr(known.name.size());
    const Index count = known.counted ? parsed_count(rest, known.from_end) : 0;
    if (known.counted ? count == 0 : !rest.empty()) return std::nullopt;
    return DerivedField{.field = std::string(name.substr(0, dot)), .kind = known.kind, .count = count};
  }
  return std::nullopt;
}

std::vector<std::string> spell(std::string_view text) {
  std::vector<std::string> characters;
  for_each_character(text, [&](std::string_view character, char32_t) { characters.emplace_back(character); });
  return characters;
}

std::string derive(const DerivedField& derived, std::string_view text) {
  switch (derived.kind) {
    case DerivedField::Kind::lower: return lower_case(text);
    case DerivedField::Kind::plain: return plain_word(text);
    case DerivedField::Kind::prefix: return characters_of(text, 0, derived.count);
    case DerivedField::Kind::suffix: return end_of(text, derived.count);
    case DerivedField::Kind::shape: return word_shape(text);
    case DerivedField::Kind::character: return nth_character(text, derived.count);
    case DerivedField::Kind::characters:
    case DerivedField::Kind::run: return std::string(text);
  }
  return {};
}

}  // namespace unfold
