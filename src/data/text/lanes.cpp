#include "unfold/data/text/lanes.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace unfold {

Lanes::Lanes(std::vector<std::vector<Index>> lengths) : lengths_(std::move(lengths)), cursors_(lengths_.size()) {}

Index Lanes::advance(std::size_t lane, Index most) {
  Cursor& cursor = cursors_[lane];
  const Index length = lengths_[lane][cursor.item], taken = std::min(most, length - cursor.offset);
  cursor.offset += taken;
  if (cursor.offset == length) cursor = {cursor.item + 1, 0};
  return taken;
}

bool Lanes::next(Index window, std::vector<Stretch>& stretches, Carry& carry) {
  stretches.clear();
  carry.slots.clear();
  carry.fresh.clear();
  carry.moves.clear();
  Index spare = count();
  for (std::size_t lane = 0; lane < lengths_.size(); ++lane) {
    const auto own = static_cast<Index>(lane);
    Index slot = own;
    for (Index left = window; left > 0 && has_item(lane);) {
      const Cursor from = cursors_[lane];
      if (left < window) slot = spare++;
      if (from.offset == 0) carry.fresh.push_back(slot);
      carry.slots.push_back(slot);
      const Index taken = advance(lane, left);
      stretches.push_back({.lane = lane, .item = from.item, .first = from.offset, .length = taken});
      left -= taken;
    }
    if (slot != own) carry.moves.emplace_back(slot, own);
  }
  carry.slots_needed = spare;
  return !stretches.empty();
}

void Lanes::skip(Index positions) {
  for (std::size_t lane = 0; lane < lengths_.size(); ++lane)
    for (Index left = positions; left > 0 && has_item(lane);) left -= advance(lane, left);
}

Index Lanes::windows(Index window) const {
  Index longest = 0;
  for (const std::vector<Index>& items : lengths_)
    longest = std::max(longest, std::accumulate(items.begin(), items.end(), Index{0}));
  return longest == 0 ? 0 : (longest - 1) / window + 1;
}

std::vector<std::vector<Index>> deal(std::span<const Index> lengths, Index lanes) {
  std::vector<Index> order(lengths.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](Index i) { return lengths[at(i)]; });
  lanes = std::min(lanes, static_cast<Index>(lengths.size()));
  using Load = std::pair<Index, Index>;  // positions, lane
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (Index lane = 0; lane < lanes; ++lane) loads.emplace(0, lane);
  std::vector<std::vector<Index>> result(at(lanes));
  for (const Index item : order) {
    const auto [load, lane] = loads.top();
    loads.pop();
    result[at(lane)].push_back(item);
    loads.emplace(load + lengths[at(item)], lane);
  }
  return result;
}

}  // namespace unfold
