#pragma once
/// The data of a field of a batch, row by row: symbols of the field's alphabet, or vectors of numbers. Rows are in the
/// order of the structure (graph/structure/structure.h); a row may be missing. A field with one value per example is
/// stored at the position where it is read or predicted.

#include <variant>
#include <vector>

#include "unfold/base/checks.h"
#include "unfold/base/types.h"
#include "unfold/base/views.h"

namespace unfold {

inline constexpr Index kMostRows = Index{1} << 40;

/// One symbol per row; kNoSymbol if it is missing.
struct SymbolRows {
  std::vector<Symbol> symbols;

  Index rows() const { return static_cast<Index>(symbols.size()); }
  bool present(Index row) const {
    require_index("field: row", row, rows());
    return symbols[static_cast<std::size_t>(row)] != kNoSymbol;
  }
  /// Resizes to `rows` rows, all missing.
  void clear(Index rows) {
    require_range("field: number of rows", 0, rows, kMostRows);
    symbols.assign(static_cast<std::size_t>(rows), kNoSymbol);
  }
  bool operator==(const SymbolRows&) const = default;
};

/// One vector per row. Values are stored as floats, so networks in both precisions read the same numbers.
class ValueRows {
 public:
  /// Resizes to `rows` rows of `cols` zeros, all marked as missing.
  void clear(Index rows, Index cols) {
    require_range("field: number of columns", 0, cols, kMostRows);
    require_range("field: number of rows", 0, rows, cols > 0 ? kMostRows / cols : kMostRows);
    cols_ = cols;
    single_.assign(static_cast<std::size_t>(rows * cols), 0);
    exact_.assign(static_cast<std::size_t>(rows * cols), 0);
    present_.assign(static_cast<std::size_t>(rows), 0);
  }
  /// Sets a value and marks the row as present.
  void set(Index row, Index col, float x) {
    require_index("field: row", row, rows());
    require_index("field: column", col, cols_);
    single_[static_cast<std::size_t>(row * cols_ + col)] = x;
    exact_[static_cast<std::size_t>(row * cols_ + col)] = static_cast<double>(x);
    present_[static_cast<std::size_t>(row)] = 1;
  }
  Index rows() const { return static_cast<Index>(present_.size()); }
  Index cols() const { return cols_; }
  bool present(Index row) const {
    require_index("field: row", row, rows());
    return present_[static_cast<std::size_t>(row)] != 0;
  }
  const char* present_flags() const { return present_.data(); }  ///< one flag per row
  /// Returns the rows [first, first + rows), with zeros for missing rows.
  template <class T>
  Matrix<const T> values(Index first, Index rows) const {
    require_range("field: row", first, rows, this->rows());
    if constexpr (sizeof(T) == sizeof(float))
      return {single_.data() + first * cols_, rows, cols_, cols_};
    else
      return {exact_.data() + first * cols_, rows, cols_, cols_};
  }
  bool operator==(const ValueRows&) const = default;

 private:
  Index cols_ = 0;
  std::vector<float> single_;
  std::vector<double> exact_;
  std::vector<char> present_;
};

using Field = std::variant<SymbolRows, ValueRows>;

inline bool is_present(const Field& field, Index row) {
  return std::visit([&](const auto& rows) { return rows.present(row); }, field);
}
inline Index rows_of(const Field& field) {
  return std::visit([](const auto& rows) { return rows.rows(); }, field);
}

}  // namespace unfold
