#include "model/context_mixing/bit_histories.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "unfold/numerics/random.h"

namespace unfold::test {
namespace {

using Counters = BitHistories::Counters;

/// Returns eight equal counters after one more bit.
Counters after(std::uint16_t counter, int bit, std::uint32_t chance) {
  Counters before, next;
  before.fill(counter);
  BitHistories::tables().learn(before.data(), bit, chance, next.data());
  return next;
}

std::uint16_t read(const std::vector<int>& bits) {
  std::uint16_t counter = 0;
  for (const int bit : bits) counter = after(counter, bit, 0)[0];
  return counter;
}

double logit_of(std::uint16_t counter) { return (counter >> 6 & 511) / 30.0 - 8.5; }
std::uint32_t trust_of(std::uint16_t counter) { return counter >> 4 & 3; }

TEST(BitHistories, histories_are_exact_up_to_seven_bits) {
  for (int length = 0; length <= 7; ++length)
    for (int history = 0; history < 1 << length; ++history) {
      std::vector<int> bits;
      for (int i = length - 1; i >= 0; --i) bits.push_back(history >> i & 1);
      EXPECT_EQ(read(bits), length == 0 ? 0 : 1 << length | history);
    }
}

TEST(BitHistories, histories_become_estimates_at_the_eighth_bit) {
  const std::vector<int> bits = {1, 0, 1, 1, 1, 0, 1, 1};
  double p = 0.5;
  for (std::size_t n = 0; n < bits.size(); ++n) p += (bits[n] - p) / (static_cast<double>(n) + 1.5);
  const std::uint16_t counter = read(bits);
  EXPECT_EQ(counter >> 15, 1);
  EXPECT_NEAR(logit_of(counter), std::log(p / (1 - p)), 0.5 / 30 + 1e-9);
  EXPECT_EQ(trust_of(counter), 0u);
  EXPECT_EQ(counter & 15, 0b1011);
}

TEST(BitHistories, estimates_move_by_a_share_of_the_error_that_decreases_with_confidence) {
  constexpr std::array<double, 4> kShares = {1 / 12.0, 1 / 22.0, 1 / 45.0, 1 / 110.0};
  for (int e = 0; e < 512; e += 7)
    for (int trust = 0; trust < 4; ++trust)
      for (int bit = 0; bit < 2; ++bit) {
        const auto counter = static_cast<std::uint16_t>(0x8000 | e << 6 | trust << 4 | 0b0110);
        const double p = 1 / (1 + std::exp(8.5 - e / 30.0)),
                     q = p + (bit - p) * kShares[static_cast<std::size_t>(trust)];
        const double wanted = std::clamp((std::log(q / (1 - q)) + 8.5) * 30, 0.0, 511.0);
        double mean = 0;
        for (std::uint32_t chance = 0; chance < 64; ++chance) {
          const std::uint16_t next = after(counter, bit, chance << 10 | 0xFF000000)[0];
          EXPECT_LE(std::abs((next >> 6 & 511) - wanted), 1 + 1.0 / 64);
          EXPECT_EQ(next & 15, 0b1100 | bit);
          mean += (next >> 6 & 511) / 64.0;
        }
        // These multiples of 2^10 take all 64 fractions.
        EXPECT_NEAR(mean, wanted, 1.0 / 64 + 1e-9) << e << " " << trust << " " << bit;
      }
}

TEST(BitHistories, confidence_increases_with_observations) {
  constexpr std::array<double, 4> kGrows = {30 / 256.0, 14 / 256.0, 4 / 256.0, 0};
  for (std::uint32_t trust = 0; trust < 4; ++trust) {
    int grown = 0;
    for (std::uint32_t chance = 0; chance < 65536; ++chance) {
      const std::uint32_t next =
          trust_of(after(static_cast<std::uint16_t>(0x8000 | 256 << 6 | trust << 4), 1, chance << 16)[3]);
      EXPECT_TRUE(next == trust || next == trust + 1);
      grown += next != trust ? 1 : 0;
    }
    EXPECT_NEAR(grown / 65536.0, kGrows[trust], 1e-3);
  }
}

TEST(BitHistories, histories_converge_to_the_probability_of_their_bits) {
  Random random(5, "bits");
  for (const double p : {0.02, 0.3, 0.9}) {
    Counters counters{};
    double sum = 0;
    constexpr int kLong = 4000;
    for (int i = 0; i < kLong; ++i) {
      const int bit = random.uniform() < p ? 1 : 0;
      BitHistories::tables().learn(counters.data(), bit, static_cast<std::uint32_t>(random.below(1ULL << 32)),
                                   counters.data());
      if (i >= kLong / 2) sum += 1 / (1 + std::exp(-logit_of(counters[5]))) / (kLong / 2.0);
    }
    EXPECT_NEAR(sum, p, 0.02);
  }
}

TEST(BitHistories, each_history_has_a_separate_probability_cell) {
  const Counters counters = {0, 1, 5, 255, 0x8000, 0xFFFF, 0x8000 | 300 << 6 | 2 << 4 | 9, 200};
  Counters cells;
  BitHistories::cells(counters.data(), cells.data());
  EXPECT_EQ(cells, (Counters{0, 1, 5, 255, 256, 256 + 511, 256 + 300 / 16 * 16 + 9, 200}));
  EXPECT_DOUBLE_EQ(BitHistories::tables().initial_probability(1), 0.5);
}

TEST(HistoryTable, table_finds_entries_and_evicts_the_least_used) {
  HistoryTable table(64);  // one line
  constexpr std::uint64_t kStep = std::uint64_t{1} << 52;
  HistoryRow* const first = table.create(1 * kStep);
  first->counter[0] = 7;
  HistoryTable::use(*first);
  HistoryTable::use(*first);
  table.create(2 * kStep)->counter[0] = 8;
  EXPECT_EQ(table.find(1 * kStep)->counter[0], 7);
  EXPECT_EQ(table.find(2 * kStep)->counter[0], 8);
  EXPECT_EQ(table.find(3 * kStep), nullptr);
  const HistoryTable copy(table);
  EXPECT_EQ(table.create(3 * kStep)->counter[0], 0) << "a new row is empty";
  EXPECT_EQ(table.find(2 * kStep), nullptr);
  EXPECT_NE(table.find(1 * kStep), nullptr);
  EXPECT_NE(copy.find(2 * kStep), nullptr);
}

}  // namespace
}  // namespace unfold::test
