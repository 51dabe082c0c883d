#pragma once
/// Whole-sequence modeling: adds end markers to examples, so their lengths are predicted as well, and turns fields that
/// are known in advance into sources.

#include <string>
#include <string_view>
#include <vector>

#include "unfold/data/examples/examples.h"

namespace unfold {

/// The symbol after the last one of every target of `pairs`, and of every sequence that ends with a symbol.
inline constexpr std::string_view kTargetEnd = "</s>";
/// The suffix of the name of a stop field, and its two values.
inline constexpr std::string_view kStopSuffix = ".stop", kStop = "stop", kGo = "go";
/// The suffix of the name of a field that contains the number of remaining steps. Each position has three numbers,
/// T - t, t and 1/(T - t), where T is the length and t the number of positions before this one. T steps remain at the
/// first position, and one at the last.
inline constexpr std::string_view kStepsLeftSuffix = ".left";
inline constexpr Index kLeftNumbers = 3;

enum class SequenceEnd {
  none,    ///< not predicted
  symbol,  ///< one additional position, where the field is kTargetEnd
  stop,    ///< one additional position, where the field is missing, and a field FIELD.stop
  left     ///< the length is known in advance: a field FIELD.left
};

struct SequenceEndOptions {
  SequenceEnd end = SequenceEnd::none;
  std::string field = {};  ///< the field whose end is predicted
  /// Fields with one entry per example; they become a source of one position that all positions attend to.
  std::vector<std::string> given = {};
};

/// Adds ends and converts the given fields to sources. Fields that the examples do not have are ignored. Throws
/// DataError for a string that equals kTargetEnd; UsageError for an end symbol with a field of numbers, or for a field
/// with one entry per example.
void add_sequence_ends(const SequenceEndOptions& how, Examples& examples);

/// Computes the three numbers of FIELD.left.
void steps_left(Index length, Index before, double* numbers);

}  // namespace unfold
