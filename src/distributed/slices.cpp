#include "unfold/distributed/slices.h"

#include <algorithm>
#include <bit>

#include "distributed/shard_tree.h"

namespace unfold {
namespace {

/// Returns whether groups of 1, 2, 4, ... consecutive processes are nodes of the tree, up to the group of all
/// processes.
bool groups_are_nodes(const Sharding& sharding) {
  const int count = sharding.all().count();
  if (count == 1 || !std::has_single_bit(static_cast<unsigned>(count))) return false;
  for (int p = 0; p < count; ++p)
    if (nodes_of(sharding.shards, sharding.of(p)).size() != 1) return false;
  for (int group = 1; group < count; group *= 2)
    for (int p = 0; p < count; p += 2 * group) {
      const Index begin = sharding.of(p).begin, middle = sharding.of(p + group).begin;
      if (!are_siblings(sharding.shards, {begin, middle}, {middle, sharding.of(p + 2 * group - 1).end})) return false;
    }
  return true;
}

}  // namespace

Slices::Slices(const Sharding& sharding, Index size, Index grain, std::vector<Range> parts)
    : size_(size),
      grain_(grain),
      count_(sharding.all().count()),
      parts_(std::move(parts)),
      by_halves_(groups_are_nodes(sharding)) {
  if (parts_.empty()) parts_.push_back({0, size});
  own_ = of(sharding.all().number());
  own_size_ = size_of(sharding.all().number());
}

std::vector<std::pair<Range, Range>> Slices::halves(Range part, int process) const {
  std::vector<std::pair<Range, Range>> result;
  for (int group = 1; group < count_; group *= 2) {
    const Index middle = part.begin + share_of_process(part.size(), 0, 2, grain_).end;
    result.emplace_back(Range{part.begin, middle}, Range{middle, part.end});
    if ((process & group) != 0) std::swap(result.back().first, result.back().second);
    part = result.back().first;
  }
  return result;
}

Range Slices::of(Range part, int process) const {
  if (by_halves_) return halves(part, process).back().first;
  const Range share = share_of_process(part.size(), process, count_, grain_);
  return {part.begin + share.begin, part.begin + share.end};
}

std::vector<Range> Slices::of(int process) const {
  std::vector<Range> result;
  for (const Range part : parts_)
    if (const Range slice = of(part, process); !slice.empty()) result.push_back(slice);
  std::ranges::sort(result, {}, &Range::begin);
  return result;
}

Index Slices::size_of(int process) const {
  Index sum = 0;
  for (const Range part : parts_) sum += of(part, process).size();
  return sum;
}

}  // namespace unfold
