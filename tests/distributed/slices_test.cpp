/// Every number of a vector belongs to one process, and the processes that halve a part agree on what they exchange.

#include "unfold/distributed/slices.h"

#include <gtest/gtest.h>

#include "tests/support/simulated_processes.h"

namespace unfold {
namespace {

struct Division {
  Index shards, size, grain;
  std::vector<Range> parts;
};

const std::vector<Division> kDivisions = {
    {8, 1000, 64, {}}, {6, 1000, 64, {}}, {8, 3, 64, {}}, {12, 1000, 8, {{400, 1000}, {0, 160}, {160, 400}}}};

/// Returns the slices of all processes, computed by each for itself.
std::vector<Slices> slices_of_all(const Division& d, int count) {
  std::vector<Slices> result(static_cast<std::size_t>(count), Slices({.shards = 1}, 0));
  run_in_processes(count, [&](Processes& processes) {
    result[static_cast<std::size_t>(processes.number())] =
        Slices({.shards = d.shards, .processes = &processes}, d.size, d.grain, d.parts);
  });
  return result;
}

TEST(Slices, every_number_belongs_to_one_slice) {
  for (const Division& d : kDivisions)
    for (int count = 1; count <= d.shards; ++count) {
      std::vector<int> owners(static_cast<std::size_t>(d.size));
      const std::vector<Slices> all = slices_of_all(d, count);
      for (int p = 0; p < count; ++p) {
        const Slices& s = all[static_cast<std::size_t>(p)];
        Index size = 0, last = 0;
        for (const Range r : s.own()) {
          EXPECT_EQ(r.begin % d.grain, 0);
          EXPECT_GE(r.begin, last);
          last = r.end;
          size += r.size();
          for (Index i = r.begin; i < r.end; ++i) ++owners[static_cast<std::size_t>(i)];
        }
        EXPECT_EQ(size, s.own_size());
        EXPECT_EQ(s.own_size(), all.front().size_of(p));
      }
      EXPECT_EQ(owners, std::vector<int>(owners.size(), 1)) << d.shards << " shards, " << count << " processes";
    }
}

TEST(Slices, slices_are_balanced_for_large_vectors) {
  for (const int count : {2, 3, 4, 8})
    for (const Slices& s : slices_of_all({.shards = 24, .size = 64 * 240, .grain = 64, .parts = {}}, count))
      EXPECT_EQ(s.own_size(), 64 * 240 / count);
}

TEST(Slices, partners_keep_and_send_complementary_halves) {
  const Division& d = kDivisions.back();
  const std::vector<Slices> all = slices_of_all({.shards = 8, .size = d.size, .grain = d.grain, .parts = d.parts}, 8);
  for (const Range part : d.parts)
    for (int p = 0; p < 8; ++p) {
      ASSERT_TRUE(all.front().is_recursive_halving());
      int group = 1;
      for (const auto& [kept, given] : all.front().halves(part, p)) {
        const auto [theirs, ours] = all.front().halves(part, p ^ group)[static_cast<std::size_t>(group == 1   ? 0
                                                                                                 : group == 2 ? 1
                                                                                                              : 2)];
        EXPECT_EQ(kept.begin, ours.begin);
        EXPECT_EQ(given.end, theirs.end);
        group *= 2;
      }
    }
}

TEST(Slices, slices_are_extracted_and_restored) {
  const std::vector<Range> ranges = {{1, 3}, {4, 5}};
  const std::vector<int> vector = {0, 1, 2, 3, 4, 5};
  std::vector<int> taken(3), back(6, -1);
  gather_ranges<int>(vector, ranges, taken);
  EXPECT_EQ(taken, (std::vector<int>{1, 2, 4}));
  scatter_ranges<int>(taken, ranges, back);
  EXPECT_EQ(back, (std::vector<int>{-1, 1, 2, -1, 4, -1}));
}

}  // namespace
}  // namespace unfold
