#include "data/counts/distinct_count.h"

#include <cmath>

namespace unfold {
Index DistinctCount::count() const {
  return exact() ? size_ : static_cast<Index>(std::ldexp(static_cast<double>(size_), depth_));
}

bool DistinctCount::insert(std::uint64_t hash) {
  if (slots_.empty()) slots_.resize(16);
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = hash & mask;
  for (; slots_[i] != 0; i = (i + 1) & mask) {
    if (slots_[i] != hash) continue;
    ++repeats_;
    return false;
  }
  slots_[i] = hash;
  ++size_;
  while (size_ > bound_ && limit_ > 0) {
    ++depth_;
    limit_ >>= 1;
    rebuild(slots_.size());
  }
  if (static_cast<std::size_t>(size_) * 2 > slots_.size()) rebuild(slots_.size() * 2);
  return true;
}

void DistinctCount::rebuild(std::size_t slots) {
  std::vector<std::uint64_t> old(slots);
  old.swap(slots_);
  size_ = 0;
  for (const std::uint64_t hash : old) {
    if (hash == 0 || hash > limit_) continue;
    std::size_t i = hash & (slots - 1);
    while (slots_[i] != 0) i = (i + 1) & (slots - 1);
    slots_[i] = hash;
    ++size_;
  }
}

}  // namespace unfold
