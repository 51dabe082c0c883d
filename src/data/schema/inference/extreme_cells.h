#pragma once
/// Finds the few cells of a column that are far from all others: a code for missing values such as 999999999, or an
/// error of the data. The standard deviation of such a column is mostly that of these cells.
///
///   ExtremeCells extremes;
///   for (...) extremes.add(value, cell, line);
///   if (std::optional<FarCells> far = extremes.far(numbers)) ...
///
/// Keeps the `kKept` smallest and largest different values, so memory is bounded, and adding a number that is not
/// extreme takes two comparisons.

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Cells that are far from all others.
struct FarCells {
  Index cells = 0, different = 0;  ///< number of cells, and of different values
  std::string text = {};           ///< the first cell of the most extreme value
  Index line = 0;                  ///< its line
};

class ExtremeCells {
 public:
  static constexpr std::size_t kKept = 8;

  void add(double value, std::string_view cell, Index line) {
    if (value > inner_least_ && value < inner_most_) return;
    insert(value, cell, line);
  }
  /// Returns the cells whose distance from all others is a multiple of the range of the others: 20 if one value occurs
  /// repeatedly, otherwise 50. They must also be several times as large, or negative among numbers that are not.
  /// No value if there are none, or if they are more than a twentieth of the numbers (half of them for one value).
  /// `numbers`: number of cells that were added.
  std::optional<FarCells> far(Index numbers) const;

 private:
  struct Value {
    double value = 0;
    Index cells = 0, line = 0;
    std::string text = {};
  };
  /// `sign`: 1 for the largest values, which come first, and -1 for the smallest.
  static void insert_into(std::vector<Value>& values, double sign, double value, std::string_view cell, Index line);
  void insert(double value, std::string_view cell, Index line);
  std::optional<FarCells> far_cells(std::size_t low, std::size_t high) const;

  std::vector<Value> least_, most_;  // the most extreme value first
  double inner_least_ = std::numeric_limits<double>::infinity(), inner_most_ = -inner_least_;
};

}  // namespace unfold
