#pragma once
/// Fields made from a text field by name, for taggers that should know words they never saw:
///
///   word.lower      "McDonald's" -> "mcdonald's"          lower case, character by character
///   word.prefix3    "McD"                                 the first three characters, all of a shorter text
///   word.suffix2    "'s"                                  the last two
///   word.shape      "XxXx'x"       runs of upper case X, of lower case x, of digits d, others as they are
///   word.char3      "D"            the third character; missing in a shorter text
///   word.char-1     "s"            the last one
///   word.chars      "M", "c", "D", ..., "'", "s"        all of them: a chain of its own at every position
///   word.run2       "at McDonald's"  with the one before it, which is <s> before the first
///
/// Characters are Unicode code points; case and digits are those of the Unicode Character Database (utf8proc).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

struct DerivedField {
  enum class Kind { lower, prefix, suffix, shape, characters, character, run };
  std::string field;  ///< what it is made from; may be derived itself: "word.lower" in "word.lower.suffix3"
  Kind kind = Kind::lower;
  /// Characters of a prefix or suffix, 1 and more; which character, from 1, or from the end: -1; texts of a run.
  Index count = 0;
  bool operator==(const DerivedField&) const = default;
};

/// Empty where the name does not end in one of the above.
std::optional<DerivedField> parse_derived(std::string_view name);

/// Empty where there is nothing of the kind in the text: the entry is missing then. Of a run, this is its last text.
/// The characters of a text.
std::vector<std::string> spell(std::string_view text);
std::string derive(const DerivedField& derived, std::string_view text);

}  // namespace unfold
