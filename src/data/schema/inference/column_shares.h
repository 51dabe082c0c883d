#pragma once
/// Shares of the entries of a column that decide its type.

#include "unfold/base/types.h"

namespace unfold {

/// A column has a type if at least this fraction of its entries matches the type, or all entries except one if there
/// are at least four.
inline constexpr double kFittingShare = 0.9;
inline constexpr Index kFittingBesidesOne = 3;
inline constexpr double kMostlyDistinct = 0.5;  ///< fraction of distinct values among entries of text

inline bool fits_nearly(Index fitting, Index entries) {
  return fitting > 0 && (static_cast<double>(fitting) >= kFittingShare * static_cast<double>(entries) ||
                         (fitting == entries - 1 && fitting >= kFittingBesidesOne));
}

inline double share_of(Index part, Index whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace unfold
