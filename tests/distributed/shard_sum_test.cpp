/// Sums over shards of simulated processes, compared with explicit additions.

#include "distributed/shard_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "distributed/shard_tree.h"
#include "tests/support/simulated_processes.h"

namespace unfold {
namespace {

/// Returns the number of a shard; magnitudes vary widely, so that the order of additions matters.
float number_of(Index shard, Index i) {
  const auto k = static_cast<double>((shard * 7919 + i * 104729) % 1009);
  return static_cast<float>(std::sin(k) * std::pow(10.0, static_cast<double>((shard + i) % 9)));
}

/// Returns the nearest number with 8 significant bits, ties to even.
float rounded_to_8_bits(float x) {
  if (x == 0) return x;
  const float unit = std::ldexp(1.0F, std::ilogb(x) - 7);
  return std::nearbyint(x / unit) * unit;
}

std::vector<float> expected_sum(Range node, Index size, Precision precision = Precision::exact) {
  std::vector<float> result(static_cast<std::size_t>(size));
  if (node.size() == 1) {
    for (Index i = 0; i < size; ++i) result[static_cast<std::size_t>(i)] = number_of(node.begin, i);
  } else {
    const Index middle = middle_of(node);
    result = expected_sum({node.begin, middle}, size, precision);
    const std::vector<float> right = expected_sum({middle, node.end}, size, precision);
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += right[i];
  }
  if (precision == Precision::bf16) std::ranges::transform(result, result.begin(), rounded_to_8_bits);
  return result;
}

std::vector<std::vector<float>> sums_of_processes(SimulatedNetwork& network, Index shards, Index size, int times = 1,
                                                  Precision precision = Precision::exact) {
  std::vector<std::vector<float>> results(static_cast<std::size_t>(network.count));
  run_in_processes(network, [&](Processes& processes) {
    Team team(1);
    ShardSum<float> sum({.shards = shards, .processes = &processes}, size, precision);
    std::vector<float>& result = results[static_cast<std::size_t>(processes.number())];
    result.resize(static_cast<std::size_t>(size));
    for (int time = 0; time < times; ++time) {
      for (Index s = sum.own().begin; s < sum.own().end; ++s) {
        const std::span<float> next = sum.next();
        for (Index i = 0; i < size; ++i) next[static_cast<std::size_t>(i)] = number_of(s, i);
        sum.add_next(team);
      }
      sum.total(team, result);
    }
  });
  return results;
}

TEST(ShardSum, shard_sum_has_the_bits_of_the_tree_for_any_number_of_processes) {
  for (const Index shards : {1, 2, 3, 6, 8, 12, 13, 16})
    for (const Index size : {1, 64, 1000}) {
      const std::vector<float> expected = expected_sum({0, shards}, size);
      for (int count = 1; count <= shards; ++count) {
        SimulatedNetwork network(count);
        for (const auto& result : sums_of_processes(network, shards, size, 2))
          EXPECT_EQ(result, expected) << shards << " shards, " << size << " numbers, " << count << " processes";
      }
    }
}

TEST(ShardSum, bfloat16_sums_round_every_node_of_the_tree) {
  for (const Index shards : {1, 2, 3, 6, 8, 12, 13, 16}) {
    const std::vector<float> expected = expected_sum({0, shards}, 1000, Precision::bf16);
    EXPECT_NE(expected, expected_sum({0, shards}, 1000)) << shards;
    for (int count = 1; count <= shards; ++count) {
      SimulatedNetwork network(count);
      for (const auto& result : sums_of_processes(network, shards, 1000, 2, Precision::bf16))
        EXPECT_EQ(result, expected) << shards << " shards, " << count << " processes";
    }
  }
}

/// In parts, where those of the last shard are sent while the rest is computed, and in slices only.
TEST(ShardSum, parts_and_slices_have_the_bits_of_the_tree) {
  constexpr Index kSize = 1000;
  const std::vector<Range> parts = {{512, 1000}, {0, 128}, {128, 512}};
  for (const Precision precision : {Precision::exact, Precision::bf16})
    for (const Index shards : {2, 6, 8, 13}) {
      const std::vector<float> expected = expected_sum({0, shards}, kSize, precision);
      for (int count = 1; count <= shards; ++count)
        run_in_processes(count, [&](Processes& processes) {
          Team team(1);
          const Sharding sharding{.shards = shards, .processes = &processes};
          ShardSum<float> sum(sharding, Slices(sharding, kSize, 64, parts), precision);
          for (int time = 0; time < 4; ++time) {
            for (Index s = sum.own().begin; s < sum.own().end; ++s) {
              const std::span<float> next = sum.next();
              EXPECT_EQ(sum.is_last(), s + 1 == sum.own().end);
              for (const Range part : parts) {
                for (Index i = part.begin; i < part.end; ++i) next[static_cast<std::size_t>(i)] = number_of(s, i);
                const bool early = part.begin != parts.back().begin && (time + processes.number()) % 2 == 0;
                if (sum.is_last() && early) sum.send_part();
              }
              sum.add_next(team);
            }
            std::vector<float> found(kSize), own(static_cast<std::size_t>(sum.slices().own_size()));
            if (time < 2) {
              sum.total(team, found);
            } else {
              sum.reduce_scatter(team, own);
              scatter_ranges<float>(own, sum.slices().own(), found);
              sum.spread(found);
            }
            EXPECT_EQ(found, expected) << shards << " shards, " << count << " processes, time " << time;
          }
        });
    }
}

TEST(ShardSum, parts_send_no_more_bytes) {
  constexpr Index kSize = 64 * 64;
  SimulatedNetwork whole(4), divided(4);
  sums_of_processes(whole, 8, kSize);
  run_in_processes(divided, [&](Processes& processes) {
    Team team(1);
    const Sharding sharding{.shards = 8, .processes = &processes};
    ShardSum<float> sum(sharding, Slices(sharding, kSize, 64, {{1024, kSize}, {0, 1024}}));
    for (Index s = sum.own().begin; s < sum.own().end; ++s) {
      std::ranges::fill(sum.next(), 1.0F);
      if (sum.is_last()) sum.send_part();
      sum.add_next(team);
    }
    std::vector<float> found(kSize);
    sum.total(team, found);
  });
  for (int p = 0; p < 4; ++p) {
    EXPECT_EQ(divided.sent(p), whole.sent(p));
    EXPECT_EQ(divided.exchanges_beside(p), 2u);  // one per doubling step
  }
}

TEST(ShardSum, bfloat16_halves_the_bytes_sent) {
  constexpr Index kSize = 64 * 66;
  for (const int count : {2, 3, 4}) {
    SimulatedNetwork exact(count), rounded(count);
    sums_of_processes(exact, 12, kSize);
    sums_of_processes(rounded, 12, kSize, 1, Precision::bf16);
    for (int p = 0; p < count; ++p) EXPECT_EQ(2 * rounded.sent(p), exact.sent(p)) << count;
  }
}

TEST(ShardSum, order_of_additions_affects_the_bits) {
  const std::vector<float> in_tree = expected_sum({0, 6}, 1000);
  std::vector<float> in_a_row(1000);
  for (Index s = 0; s < 6; ++s)
    for (Index i = 0; i < 1000; ++i) in_a_row[static_cast<std::size_t>(i)] += number_of(s, i);
  EXPECT_NE(in_tree, in_a_row);
}

TEST(ShardSum, bytes_are_minimal_if_shards_of_a_process_form_a_node) {
  constexpr Index kSize = 64 * 64;
  for (const int count : {2, 4, 8}) {
    SimulatedNetwork network(count);
    sums_of_processes(network, 8, kSize);
    const double least = 2.0 * (count - 1) / count * kSize * sizeof(float);
    for (int p = 0; p < count; ++p) EXPECT_EQ(static_cast<double>(network.sent(p)), least) << count;
  }
}

TEST(ShardSum, each_doubling_of_processes_takes_two_messages) {
  for (const int count : {2, 4, 8, 16}) {
    SimulatedNetwork network(count);
    sums_of_processes(network, 16, 64 * 64);
    for (int p = 0; p < count; ++p)
      EXPECT_EQ(network.messages(p), 2 * static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(count))));
  }
}

TEST(ShardSum, shards_that_do_not_form_a_node_send_more) {
  constexpr Index kSize = 64 * 66;
  SimulatedNetwork network(3);
  sums_of_processes(network, 6, kSize);
  const double slices = 2.0 / 3 * kSize * sizeof(float);
  EXPECT_EQ(static_cast<double>(network.sent(0)), 2 * slices);  // its two shards form a node
  EXPECT_EQ(static_cast<double>(network.sent(1)), 3 * slices);  // its two shards do not
}

TEST(Sharding, notices_are_included_in_every_gather) {
  run_in_processes(3, [](Processes& processes) {
    std::atomic<bool> stop = false;
    Notices notices{.clock = [&] { return 10.0 + processes.number(); }, .stop = &stop};
    const Sharding sharding{.shards = 3, .processes = &processes, .notices = &notices};
    const double own = processes.number();
    EXPECT_EQ(sharding.sum(std::span(&own, 1)), 3);
    EXPECT_EQ(notices.time, 10);
    EXPECT_FALSE(notices.stopped);
    stop = processes.number() == 2;
    const auto gathered = sharding.gather(std::span(&own, 1), 2);
    EXPECT_TRUE(notices.stopped);
    EXPECT_EQ(gathered, (std::vector<std::vector<double>>{{0, 0}, {1, 0}, {2, 0}}));
  });
}

TEST(Sharding, shard_scalars_are_added_in_tree_order) {
  for (int count = 1; count <= 6; ++count)
    run_in_processes(count, [&](Processes& processes) {
      const Sharding sharding{.shards = 6, .processes = &processes};
      const std::vector<double> all = {1e16, 1, -1e16, 1, 1, 3};
      const Range own = sharding.own();
      EXPECT_EQ(sharding.sum(
                    std::span(all).subspan(static_cast<std::size_t>(own.begin), static_cast<std::size_t>(own.size()))),
                ((all[0] + all[1]) + all[2]) + ((all[3] + all[4]) + all[5]));
    });
}

}  // namespace
}  // namespace unfold
