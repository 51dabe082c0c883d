#pragma once
/// Fields derived from a text field, requested by name. They help taggers with words that did not occur in training:
///
///   word.lower      "McDonald's" -> "mcdonald's"          lower case, character by character
///   word.plain      "(McDonald's)," -> "mcdonald's"    lower case, without punctuation at the ends unless that is all
///   word.prefix3    "McD"                                 the first three characters, or all of a shorter text
///   word.suffix2    "'s"                                  the last two
///   word.shape      "XxXx'x"       upper case as X, lower case as x, digits as d, repetitions merged, others unchanged
///   word.char3      "D"            the third character; missing in a shorter text
///   word.char-1     "s"            the last one
///   word.chars      "M", "c", "D", ..., "'", "s"        all of them, as a separate chain at every position
///   word.run2       "at McDonald's"  with the preceding entry, which is <s> before the first one
///
/// Characters are Unicode code points; case and digits are defined by the Unicode Character Database (utf8proc).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

struct DerivedField {
  enum class Kind { lower, plain, prefix, suffix, shape, characters, character, run };
  /// The field it is derived from, which may be derived itself: "word.lower" in "word.lower.suffix3".
  std::string field;
  Kind kind = Kind::lower;
  /// Number of characters of a prefix or suffix, at least 1; position of a character, from 1, or from the end, starting
  /// at -1; number of strings of an n-gram.
  Index count = 0;
  bool operator==(const DerivedField&) const = default;
};

/// Parses the name of a derived field; empty if the name does not end in one of the suffixes above.
std::optional<DerivedField> parse_derived(std::string_view name);

/// `spell` returns the characters of a text. `derive` returns the derived text, or an empty string if there is none
/// (the entry is then missing); for `run`, it returns the last string.
std::vector<std::string> spell(std::string_view text);
std::string derive(const DerivedField& derived, std::string_view text);

}  // namespace unfold
