#pragma once
/// Names of months and weekdays in English, German, French, Spanish and Italian.

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "unfold/base/types.h"

namespace unfold {

/// The names of the twelve months or of the seven weekdays from Monday on, in title case.
struct DateNames {
  std::array<std::string_view, 12> names;
  bool abbreviated = false;
};

std::span<const DateNames> month_names();    ///< English first
std::span<const DateNames> weekday_names();  ///< English first; the last five names are empty

/// Returns the month of a word in lower case, 1 to 12; 0 for other words.
Index month_of_name(std::string_view word);
/// Returns whether a word in lower case is the name of a weekday, or an abbreviation of it.
bool is_weekday_name(std::string_view word);
/// Returns whether the name of a month or weekday may begin with these two letters in lower case; bytes that are not
/// ASCII count as equal.
bool may_begin_date_name(char first, char second);

/// Returns a word with its letters A to Z and À to Þ in lower case.
std::string lower_date_word(std::string_view word);

}  // namespace unfold
