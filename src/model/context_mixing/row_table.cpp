#include "model/context_mixing/row_table.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace unfold {
namespace {

constexpr std::size_t kLine = 64;

}  // namespace

void CounterRow::clear() {
  estimate.fill(1U << 15);
  count.fill(0);
  past.fill(1);
}

void RowTable::Free::operator()(void* memory) const { std::free(memory); }

template <class T>
RowTable::Lines<T> RowTable::allocate(std::size_t count) {
  const std::size_t bytes = (count * sizeof(T) + kLine - 1) / kLine * kLine;
  void* const memory = std::aligned_alloc(kLine, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return Lines<T>(static_cast<T*>(memory));
}

RowTable::RowTable(std::size_t bytes)
    : buckets_(std::clamp<std::size_t>(bytes / (kBucket * (sizeof(CounterRow) + sizeof(std::uint32_t))), 1, 1U << 28)),
      rows_(allocate<CounterRow>(buckets_ * kBucket)),
      marks_(allocate<std::uint32_t>(buckets_ * kBucket)) {
  std::fill_n(marks_.get(), buckets_ * kBucket, 0U);
}

RowTable::RowTable(const RowTable& other)
    : buckets_(other.buckets_),
      rows_(allocate<CounterRow>(buckets_ * kBucket)),
      marks_(allocate<std::uint32_t>(buckets_ * kBucket)) {
  std::copy_n(other.marks_.get(), buckets_ * kBucket, marks_.get());
  for (std::size_t i = 0; i < buckets_ * kBucket; ++i)
    if (marks_[i] != 0) rows_[i] = other.rows_[i];
}

std::uint32_t RowTable::find(std::uint64_t key) const {
  const std::uint32_t begin = first(key), wanted = check(key);
  for (std::uint32_t i = begin; i < begin + kBucket; ++i) {
    if (marks_[i] >> kUseBits != wanted) continue;
    __builtin_prefetch(&rows_[i]);
    return i;
  }
  __builtin_prefetch(&rows_[least_used(begin)], 1);  // the row that would be replaced
  return kNone;
}

std::uint32_t RowTable::least_used(std::uint32_t begin) const {
  std::uint32_t least = begin;
  for (std::uint32_t i = begin; i < begin + kBucket; ++i) {
    if (marks_[i] == 0) return i;
    if ((marks_[i] & kMostUses) < (marks_[least] & kMostUses)) least = i;
  }
  return least;
}

std::uint32_t RowTable::create(std::uint64_t key) {
  const std::uint32_t begin = first(key);
  const std::uint32_t victim = least_used(begin);
  if (marks_[victim] != 0)  // the surviving rows age
    for (std::uint32_t i = begin; i < begin + kBucket; ++i)
      if ((marks_[i] & kMostUses) != 0) --marks_[i];
  marks_[victim] = check(key) << kUseBits;
  rows_[victim].clear();
  return victim;
}

}  // namespace unfold
