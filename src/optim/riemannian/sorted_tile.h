#pragma once
/// The rows of a tile of positions, transposed into columns and sorted by the symbol read at each position: the input
/// of LaneMoments.

#include <algorithm>
#include <span>
#include <vector>

#include "numerics/moments.h"
#include "numerics/transpose.h"

namespace unfold {

template <class T>
class SortedTile {
 public:
  SortedTile() = default;
  SortedTile(Index columns, Index positions, Index alphabet)
      : stride_((positions + std::min(positions, alphabet) * (kMomentLanes - 1) + 15) / 16 * 16 + 16),
        columns_(columns),
        values_(columns * stride_),
        begin_(static_cast<std::size_t>(alphabet + 1)),
        rows_(static_cast<std::size_t>(stride_)) {}

  /// Sorts rows by symbol; rows with equal symbols keep their order. Rows with kNoSymbol get no slot.
  void sort(std::span<const Symbol> symbols) {
    std::fill(begin_.begin(), begin_.end(), 0);
    for (const Symbol x : symbols)
      if (x != kNoSymbol) ++begin_[static_cast<std::size_t>(x)];
    runs_.clear();
    Index slots = 0;
    for (Symbol x = 0; x + 1 < static_cast<Symbol>(begin_.size()); ++x) {
      Index& place = begin_[static_cast<std::size_t>(x)];
      const Index count = place;
      place = slots;
      if (count == 0) continue;
      const Index end = slots + (count + kMomentLanes - 1) / kMomentLanes * kMomentLanes;
      runs_.push_back({x, slots, end});
      std::fill(rows_.begin() + slots + count, rows_.begin() + end, -1);
      slots = end;
    }
    for (std::size_t r = 0; r < symbols.size(); ++r)
      if (symbols[r] != kNoSymbol)
        rows_[static_cast<std::size_t>(begin_[static_cast<std::size_t>(symbols[r])]++)] = static_cast<Index>(r);
    slots_ = slots;
  }

  /// Column `column` + k of the tile = column `cols.begin` + k of `from`, 0 in slots without a row.
  void put(Matrix<const T> from, Range cols, Index column) {
    T* const to = values_.data() + column * stride_;
    const Index count = cols.size();
    if (static_cast<Index>(zeros_.size()) < count) zeros_.resize(static_cast<std::size_t>(count), T{0});
    const auto row_of = [&](Index slot) {
      const Index r = rows_[static_cast<std::size_t>(slot)];
      return r < 0 ? zeros_.data() : from.row(r) + cols.begin;
    };
    for (Index slot = 0; slot < slots_; slot += 4) {  // slots_ is a multiple of kMomentLanes
      const T* const rows[] = {row_of(slot), row_of(slot + 1), row_of(slot + 2), row_of(slot + 3)};
      Index k = 0;
      for (; k + 4 <= count; k += 4)
        transpose_4x4<T>({rows[0] + k, rows[1] + k, rows[2] + k, rows[3] + k}, to + k * stride_ + slot, stride_);
      for (; k < count; ++k)
        for (Index l = 0; l < 4; ++l) to[k * stride_ + slot + l] = rows[l][k];
    }
  }
  void fill(Index column, T value) { std::fill_n(values_.data() + column * stride_, stride_, value); }
  void square(Index from, Index to, Index count) {
    for (Index k = 0; k < count; ++k) {
      const T* x = column(from + k);
      T* y = values_.data() + (to + k) * stride_;
      for (Index slot = 0; slot < slots_; ++slot) y[slot] = x[slot] * x[slot];
    }
  }

  std::span<const SymbolRange> runs() const { return runs_; }
  const T* column(Index k) const { return values_.data() + k * stride_; }
  Matrix<const T> columns() const { return {values_.data(), columns_, stride_, stride_}; }

 private:
  static_assert(kMomentLanes % 4 == 0);
  Index stride_ = 0, columns_ = 0, slots_ = 0;
  Buffer<T> values_;          // [columns x stride]
  std::vector<Index> begin_;  // first slot of each symbol
  std::vector<Index> rows_;   // row of each slot, or -1
  std::vector<T> zeros_;      // the row of slots without one
  std::vector<SymbolRange> runs_;
};

}  // namespace unfold
