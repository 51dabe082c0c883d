#include "model/context_mixing/history_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>
#include <vector>

#include "model/context_mixing/context_mixing_parts.h"
#include "unfold/numerics/random.h"

namespace unfold::test {
namespace {

constexpr std::size_t kContexts = 5;

/// Reference: the counter by context and node of its symbols, which rows in a large table must match.
class CountersByNode {
 public:
  std::uint16_t& at(std::uint64_t context, BitPath path) { return counters_[{context, path}]; }

 private:
  std::map<std::pair<std::uint64_t, BitPath>, std::uint16_t> counters_;
};

/// Reads a source in which some contexts always have the same successor and most do not, and compares all counters that
/// are accessed. Returns the number of counters that were reported as runs.
int compare(int bits, std::uint64_t seed) {
  Random random(seed, "history rows");
  HistoryRows rows(kContexts, std::size_t{64} << 20, bits);
  CountersByNode plain;
  int told = 0;
  for (int n = 0; n < 700; ++n) {
    std::array<std::uint64_t, kContexts> contexts{};
    for (std::size_t i = 0; i < kContexts; ++i) contexts[i] = hash(random.below(std::uint64_t{4} << (2 * i)), i);
    std::copy(contexts.begin(), contexts.end(), rows.hashes().begin());
    rows.begin();
    const auto likely = static_cast<Symbol>(contexts[2] >> 40 & ((1U << bits) - 1));
    const Symbol symbol = random.below(12) != 0 ? likely : static_cast<Symbol>(random.below(std::uint64_t{1} << bits));
    BitPath path = 1;
    for (int depth = 0; depth < bits; ++depth) {
      const int bit = symbol >> (bits - 1 - depth) & 1;
      rows.select(path, depth);
      HistoryRows::Counters counters{}, next{}, cells{};
      store(rows.counters(0), counters.data());
      store(rows.run_cells(0, rows.counters(0), depth, 1000, EightCounters{}), cells.data());
      for (std::size_t i = 0; i < kContexts; ++i) {
        EXPECT_EQ(counters[i], plain.at(contexts[i], path)) << n << " " << depth << " " << i;
        if (cells[i] != 0) {
          const std::uint32_t seen = (cells[i] - 1000U) / 2;
          EXPECT_EQ(counters[i], HistoryRows::alike(seen, cells[i] & 1));
          ++told;
        }
        // Any function of counter and bit works that distinguishes histories while they are exact.
        const std::uint32_t longer = std::max<std::uint32_t>(counters[i], 1) * 2 + static_cast<std::uint32_t>(bit);
        next[i] = counters[i] >= 128 ? static_cast<std::uint16_t>(0x8000 | (counters[i] * 31U + longer) % 0x7FFF)
                                     : static_cast<std::uint16_t>(longer);
        plain.at(contexts[i], path) = next[i];
      }
      rows.prepare(path, depth, bit);
      rows.put(0, load<EightCounters>(next.data()));
      rows.end_runs(0, depth, bit);
      path = 2 * path + static_cast<BitPath>(bit);
    }
    rows.finish(symbol);
  }
  return told;
}

TEST(HistoryRows, history_rows_equal_the_reference) {
  for (const int bits : {1, 3, 4, 5, 7, 8}) EXPECT_GT(compare(bits, 3), 100) << bits;
}

TEST(HistoryRows, reading_other_halves_learns_nothing) {
  HistoryRows rows(1, 1 << 20, 8), asked(1, 1 << 20, 8);
  const auto read = [](HistoryRows& of, Symbol symbol, bool ask_all) {
    of.hashes()[0] = 77;
    of.begin();
    HistoryRows::Counters counters{}, next{};
    std::vector<std::uint16_t> said;
    if (ask_all)
      for (BitPath path = 1; path < 256; ++path) of.select(path, std::bit_width(path) - 1);
    BitPath path = 1;
    for (int depth = 0; depth < 8; ++depth) {
      const int bit = symbol >> (7 - depth) & 1;
      of.select(path, depth);
      store(of.counters(0), counters.data());
      said.push_back(counters[0]);
      next[0] = static_cast<std::uint16_t>(std::max<int>(counters[0], 1) * 2 + bit);
      of.prepare(path, depth, bit);
      of.put(0, load<EightCounters>(next.data()));
      of.end_runs(0, depth, bit);
      path = 2 * path + static_cast<BitPath>(bit);
    }
    of.finish(symbol);
    return said;
  };
  for (const Symbol symbol : {65, 65, 65, 66, 65, 200}) EXPECT_EQ(read(rows, symbol, false), read(asked, symbol, true));
}

}  // namespace
}  // namespace unfold::test
