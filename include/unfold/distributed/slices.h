#pragma once
/// Distribution of a vector that is summed over all processes (reduce-scatter): each process owns a slice of each part
/// of the vector. A process sums its slices and may be the only one that stores the data that belongs to them.
///
/// If the shards of each group of 1, 2, 4, ... processes form a node of the tree, parts are halved recursively: pairs
/// of processes halve a part, pairs of pairs halve it again, and so on. Otherwise the slices are in the order of the
/// processes.

#include <utility>
#include <vector>

#include "unfold/distributed/sharding.h"

namespace unfold {

class Slices {
 public:
  /// `parts` are in the order of exchange and together cover [0, size); by default there is one part. Slices and parts
  /// begin at multiples of `grain`.
  Slices(const Sharding& sharding, Index size, Index grain = 64, std::vector<Range> parts = {});

  Index size() const { return size_; }
  Index grain() const { return grain_; }
  const std::vector<Range>& parts() const { return parts_; }
  /// Returns whether slices are made by recursive halving.
  bool is_recursive_halving() const { return by_halves_; }
  /// Returns the ranges that `process` keeps and sends to its partner, for each round of halving; the last range that
  /// it keeps is its slice. REQUIRES: is_recursive_halving().
  std::vector<std::pair<Range, Range>> halves(Range part, int process) const;

  Range of(Range part, int process) const;
  /// Returns the slices of a process in all parts, in ascending order.
  std::vector<Range> of(int process) const;
  Index size_of(int process) const;
  /// Returns the slices of this process in ascending order.
  const std::vector<Range>& own() const { return own_; }
  Index own_size() const { return own_size_; }

 private:
  Index size_, grain_;
  int count_;
  std::vector<Range> parts_, own_;
  Index own_size_ = 0;
  bool by_halves_ = false;
};

/// Copies these ranges of a vector to contiguous memory.
template <class T>
void gather_ranges(std::span<const T> vector, const std::vector<Range>& ranges, std::span<T> result) {
  auto to = result.begin();
  for (const Range r : ranges) to = std::copy(vector.begin() + r.begin, vector.begin() + r.end, to);
}
/// Copies contiguous memory back to these ranges.
template <class T>
void scatter_ranges(std::span<const T> numbers, const std::vector<Range>& ranges, std::span<T> vector) {
  auto from = numbers.begin();
  for (const Range r : ranges) {
    std::copy(from, from + r.size(), vector.begin() + r.begin);
    from += r.size();
  }
}

}  // namespace unfold
