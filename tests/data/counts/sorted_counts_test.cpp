/// Counts with a memory limit and counts in several processes, compared with a map.

#include "data/counts/sorted_counts.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <map>
#include <vector>

#include "data/counts/gathered_counts.h"
#include "tests/support/simulated_processes.h"

namespace unfold {
namespace {

using Key = std::vector<Code>;
using Counted = std::vector<std::pair<Key, std::uint32_t>>;

Counted all_of(CountStream& stream) {
  Counted result;
  CountedKey key;
  while (stream.next(key)) result.emplace_back(key.codes, key.count);
  return result;
}

Counted counted_by_map(const std::vector<Key>& keys) {
  std::map<Key, std::uint32_t> counts;
  for (const Key& key : keys) ++counts[key];
  return {counts.begin(), counts.end()};
}

/// Returns keys with many duplicates.
std::vector<Key> many_keys(std::size_t count, Index codes, Code largest, std::uint64_t seed = 1) {
  std::vector<Key> keys(count, Key(static_cast<std::size_t>(codes)));
  for (Key& key : keys)
    for (Code& code : key) {
      seed = seed * 6364136223846793005U + 1442695040888963407U;
      const auto drawn = static_cast<Code>(seed >> 40);
      code = drawn % 3 == 0 ? largest - drawn % 2 : drawn % 5;
      if (code > largest) code = largest;
    }
  return keys;
}

TEST(SortedCounts, sorted_counts_equal_a_map_for_any_key_width) {
  for (const Index codes : {1, 2, 5, 9, 16})
    for (const Code largest : {1U, 28U, 10000U, 70000U, 0xffffffffU}) {
      const auto counts = make_sorted_counts({.codes = codes, .largest = largest});
      const std::vector<Key> keys = many_keys(3000, codes, largest);
      for (const Key& key : keys) counts->add(key);
      EXPECT_EQ(all_of(*counts->sorted()), counted_by_map(keys)) << codes << " codes up to " << largest;
      EXPECT_EQ(counts->pieces(), 0U);
    }
}

TEST(SortedCounts, sorted_counts_are_correct_if_the_table_is_too_small) {
  const std::vector<Key> keys = many_keys(100000, 7, 1000);
  const auto counts = make_sorted_counts({.codes = 7, .largest = 1000, .memory = 1});
  for (const Key& key : keys) counts->add(key);
  EXPECT_EQ(all_of(*counts->sorted()), counted_by_map(keys));
  EXPECT_GT(counts->pieces(), 5U);
}

TEST(SortedCounts, empty_input_has_no_counts) {
  CountedKey key;
  EXPECT_FALSE(make_sorted_counts({.codes = 3, .largest = 5})->sorted()->next(key));
}

RC_GTEST_PROP(SortedCounts, sorted_counts_of_any_keys_equal_a_map,
              (const std::vector<std::array<std::uint8_t, 3>>& drawn)) {
  std::vector<Key> keys;
  const auto counts = make_sorted_counts({.codes = 3, .largest = 255, .memory = 1});
  for (const auto& codes : drawn) {
    keys.emplace_back(codes.begin(), codes.end());
    counts->add(keys.back());
  }
  RC_ASSERT(all_of(*counts->sorted()) == counted_by_map(keys));
}

TEST(GatheredCounts, gathered_counts_are_sums_at_the_first_process) {
  // More keys than a block holds, exactly one block, and none.
  for (const std::size_t size : {std::size_t{200000}, std::size_t{65536}, std::size_t{0}})
    for (const int count : {1, 2, 3}) {
      std::vector<Key> everybodys;
      std::vector<std::vector<Key>> keys;
      for (int p = 0; p < count; ++p) {
        keys.push_back({});
        for (std::size_t i = 0; i < (p == 1 ? 10 : size); ++i)  // distinct keys, some of them shared by all processes
          keys.back().push_back({static_cast<Code>(i >> 8), static_cast<Code>(i & 255), static_cast<Code>(i % 2 * p)});
        everybodys.insert(everybodys.end(), keys.back().begin(), keys.back().end());
      }
      SimulatedNetwork network(count);
      run_in_processes(network, [&](Processes& processes) {
        const auto counts = make_sorted_counts({.codes = 3, .largest = 1000});
        for (const Key& key : keys[static_cast<std::size_t>(processes.number())]) counts->add(key);
        const auto stream = gather_counts(counts->sorted(), 3, processes);
        ASSERT_EQ(stream != nullptr, processes.first());
        if (processes.first()) {
          EXPECT_EQ(all_of(*stream), counted_by_map(everybodys)) << size << " in " << count;
        }
      });
    }
}

}  // namespace
}  // namespace unfold
