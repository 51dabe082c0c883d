#pragma once
/// Which process has which numbers of a vector that all of them add up: of each part of the vector a slice. A process
/// adds its slices, and may be the only one that keeps what belongs to them.
///
/// Where shards of 1, 2, 4, ... processes are nodes of the tree up to all of them, pairs of processes halve a part,
/// pairs of pairs halve again, and so on; else the slices follow each other in the order of the processes.

#include <utility>
#include <vector>

#include "unfold/processes/sharding.h"

namespace unfold {

class Slices {
 public:
  /// `parts`: in the order in which they are exchanged, together [0, size); by default one. Slices begin at multiples
  /// of `grain`, and so must parts.
  Slices(const Sharding& sharding, Index size, Index grain = 64, std::vector<Range> parts = {});

  Index size() const { return size_; }
  Index grain() const { return grain_; }
  const std::vector<Range>& parts() const { return parts_; }
  /// Whether processes halve what they add.
  bool by_halves() const { return by_halves_; }
  /// What `process` keeps and gives to its partner, of each pair of doublings; the last that it keeps is its slice.
  /// REQUIRES by_halves().
  std::vector<std::pair<Range, Range>> halves(Range part, int process) const;

  Range of(Range part, int process) const;
  /// Of all parts, in rising order.
  std::vector<Range> of(int process) const;
  Index size_of(int process) const;
  /// Those of this process, one behind the other, and back.
  const std::vector<Range>& own() const { return own_; }
  Index own_size() const { return own_size_; }

 private:
  Index size_, grain_;
  int count_;
  std::vector<Range> parts_, own_;
  Index own_size_ = 0;
  bool by_halves_ = false;
};

/// The numbers of some ranges of a vector, one behind the other.
template <class T>
void take_ranges(std::span<const T> vector, const std::vector<Range>& ranges, std::span<T> result) {
  auto to = result.begin();
  for (const Range r : ranges) to = std::copy(vector.begin() + r.begin, vector.begin() + r.end, to);
}
/// Back again.
template <class T>
void put_ranges(std::span<const T> numbers, const std::vector<Range>& ranges, std::span<T> vector) {
  auto from = numbers.begin();
  for (const Range r : ranges) {
    std::copy(from, from + r.size(), vector.begin() + r.begin);
    from += r.size();
  }
}

}  // namespace unfold
