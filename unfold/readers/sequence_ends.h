#pragma once
/// Whole sequences: examples whose end is predicted too, and what is known of them before they begin.

#include <string>
#include <string_view>
#include <vector>

#include "unfold/data/examples.h"

namespace unfold {

/// The symbol behind the last one of every target of `pairs`, and of every sequence that ends by a symbol.
inline constexpr std::string_view kTargetEnd = "</s>";
/// What a field of stops holds, and what follows the name of the field that it is of.
inline constexpr std::string_view kStopField = ".stop", kStop = "stop", kGo = "go";
/// What follows the name of a field, in that of the steps left: three numbers at each position, T - t, t and 1/(T - t),
/// where T is the length and t counts the positions before this one: at the first T, at the last 1 is left.
inline constexpr std::string_view kLeftField = ".left";
inline constexpr Index kLeftNumbers = 3;

enum class SequenceEnd {
  none,    ///< not predicted
  symbol,  ///< one position more, where the field is kTargetEnd
  stop,    ///< one position more, where the field is missing, and a field FIELD.stop
  left     ///< the length is known before: a field FIELD.left
};

struct WholeSequences {
  SequenceEnd end = SequenceEnd::none;
  std::string field = {};  ///< that ends, at every position
  /// Fields that an example has once: they become a source of one position, which all positions look at.
  std::vector<std::string> given = {};
};

/// Adds ends and turns what is given into sources. What the examples lack is left alone. Throws DataError: a text that
/// is kTargetEnd itself; UsageError: a symbol for an end of numbers, a field that stands once.
void make_whole(const WholeSequences& how, Examples& examples);

/// The three numbers of FIELD.left.
void steps_left(Index length, Index before, double* numbers);

}  // namespace unfold
