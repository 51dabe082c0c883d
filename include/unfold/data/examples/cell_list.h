#pragma once
/// A list of the cells of a column as written in the file, in one block of memory.

#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

class CellList {
 public:
  void add(std::string_view cell) {
    bytes_ += cell;
    ends_.push_back(static_cast<Index>(bytes_.size()));
  }
  /// Appends the cells [begin, end) of another list.
  void append(const CellList& more, Index begin, Index end) {
    for (Index i = begin; i < end; ++i) add(more[i]);
  }
  bool empty() const { return ends_.empty(); }
  Index size() const { return static_cast<Index>(ends_.size()); }
  std::string_view operator[](Index i) const {
    const Index begin = i == 0 ? 0 : ends_[static_cast<std::size_t>(i - 1)];
    return std::string_view(bytes_).substr(static_cast<std::size_t>(begin),
                                           static_cast<std::size_t>(ends_[static_cast<std::size_t>(i)] - begin));
  }
  bool operator==(const CellList&) const = default;

 private:
  std::string bytes_;
  std::vector<Index> ends_;
};

}  // namespace unfold
