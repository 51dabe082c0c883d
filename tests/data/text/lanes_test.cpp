/// Lanes, compared with reading their items position by position.

#include "unfold/data/text/lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using Lengths = std::vector<std::vector<Index>>;

Lengths some_lengths(std::uint64_t seed) {
  Random random(seed, "lanes");
  Lengths lengths(3);
  for (auto& lane : lengths)
    for (auto items = random.below(6); items > 0; --items) lane.push_back(static_cast<Index>(1 + random.below(9)));
  return lengths;
}

TEST(Lanes, lanes_read_every_position_in_order_and_carry_state) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Lengths lengths = some_lengths(seed);
    for (const Index window : {1, 2, 5, 100}) {
      Lanes lanes(lengths);
      const Index windows = lanes.windows(window);
      std::map<std::pair<std::size_t, std::size_t>, Index> read;
      std::map<Index, std::pair<std::size_t, std::size_t>> item_in_slot;
      std::vector<Lanes::Stretch> stretches;
      Index count = 0;
      for (Carry carry; lanes.next(window, stretches, carry); ++count) {
        std::map<std::size_t, Index> of_lane;
        ASSERT_EQ(carry.slots.size(), stretches.size());
        for (std::size_t c = 0; c < stretches.size(); ++c) {
          const auto& [lane, item, first, length] = stretches[c];
          const std::pair place(lane, item);
          const Index slot = carry.slots[c];
          EXPECT_LT(slot, carry.slots_needed);
          EXPECT_EQ(first, read[place]);
          const bool fresh = std::ranges::find(carry.fresh, slot) != carry.fresh.end();
          EXPECT_EQ(fresh, first == 0);
          if (!fresh) {
            EXPECT_EQ(item_in_slot[slot], place);
          }
          item_in_slot[slot] = place;
          read[place] += length;
          of_lane[lane] += length;
        }
        for (const auto& [from, to] : carry.moves) item_in_slot[to] = item_in_slot[from];
        for (const auto& [lane, positions] : of_lane) EXPECT_LE(positions, window);
      }
      EXPECT_EQ(count, windows);
      for (std::size_t lane = 0; lane < lengths.size(); ++lane)
        for (std::size_t item = 0; item < lengths[lane].size(); ++item)
          EXPECT_EQ((read[{lane, item}]), lengths[lane][item]);
    }
  }
}

TEST(Lanes, lane_skip_equals_reading) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Lanes walked(some_lengths(seed)), skipped(some_lengths(seed));
    std::vector<Lanes::Stretch> a, b;
    Carry carry, other;
    for (int i = 0; i < 3; ++i) walked.next(4, a, carry);
    skipped.skip(12);
    EXPECT_EQ(walked.next(4, a, carry), skipped.next(4, b, other));
    EXPECT_EQ(carry.slots, other.slots);
    EXPECT_EQ(carry.fresh, other.fresh);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t c = 0; c < a.size(); ++c) EXPECT_EQ(a[c].first, b[c].first);
  }
}

TEST(Lanes, items_are_distributed_evenly_over_lanes) {
  const std::vector<Index> lengths = {1, 9, 2, 2, 8, 1, 1};
  const auto dealt = deal(lengths, 3);
  EXPECT_EQ(dealt, (std::vector<std::vector<Index>>{{1}, {4}, {2, 3, 0, 5, 6}}));
  EXPECT_EQ(deal(lengths, 100).size(), lengths.size());
  EXPECT_TRUE(deal({}, 3).empty());
}

}  // namespace
}  // namespace unfold
