#include "compression/range_coder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "compression/symbol_coder.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold::test {
namespace {

struct Interval {
  std::uint64_t first, size;
  int bits;
};

/// Random intervals, including the smallest, the largest and those at either end.
std::vector<Interval> random_intervals(std::uint64_t seed, int count) {
  Random random(seed, "intervals");
  std::vector<Interval> result;
  for (int i = 0; i < count; ++i) {
    const int bits = static_cast<int>(random.below(kMostCodingBits + 1));
    const std::uint64_t total = std::uint64_t{1} << bits;
    std::uint64_t size = 1 + random.below(total);
    if (random.below(4) == 0) size = 1;
    if (random.below(8) == 0) size = total;
    std::uint64_t first = random.below(total - size + 1);
    if (random.below(4) == 0) first = total - size;
    result.push_back({first, size, bits});
  }
  return result;
}

TEST(RangeCoder, intervals_round_trip) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto intervals = random_intervals(seed, static_cast<int>(seed * 13));
    RangeEncoder encoder;
    double cost = 0;
    for (const auto& [first, size, bits] : intervals) {
      encoder.encode(first, size, bits);
      cost += bits - std::log2(static_cast<double>(size));
    }
    const std::string code = encoder.finish();
    EXPECT_LE(8 * static_cast<double>(code.size()), cost * 1.0001 + 24);
    RangeDecoder decoder(code);
    for (const auto& [first, size, bits] : intervals) {
      const std::uint64_t place = decoder.place(bits);
      ASSERT_GE(place, first);
      ASSERT_LT(place, first + size);
      decoder.consume(first, size, bits);
    }
  }
}

TEST(RangeCoder, carries_propagate_through_long_runs_of_ones) {
  RangeEncoder encoder;
  for (int i = 0; i < 2000; ++i) encoder.encode((std::uint64_t{1} << 40) - 1, 1, 40);  // the largest value
  for (int i = 0; i < 50; ++i) encoder.encode(0, 1, 40);
  const std::string code = encoder.finish();
  RangeDecoder decoder(code);
  for (int i = 0; i < 2000; ++i) {
    ASSERT_EQ(decoder.place(40), (std::uint64_t{1} << 40) - 1);
    decoder.consume((std::uint64_t{1} << 40) - 1, 1, 40);
  }
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(decoder.place(40), 0u);
    decoder.consume(0, 1, 40);
  }
}

TEST(RangeCoder, certain_symbols_take_no_space) {
  RangeEncoder encoder;
  for (int i = 0; i < 100000; ++i) encoder.encode(0, std::uint64_t{1} << 20, 20);
  EXPECT_LE(encoder.finish().size(), 2u);
}

std::uint64_t total(const Frequencies& f) {
  std::uint64_t sum = 0;
  for (const std::uint64_t size : f.sizes()) sum += size;
  return sum;
}

TEST(Frequencies, frequencies_sum_to_the_total_and_are_positive) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  Random random(3, "frequencies");
  std::vector<std::vector<float>> cases = {{0.0F},      {kNever},    {kNever, kNever, kNever},
                                           {0, kNever}, {-1e30F, 0}, {1, 2}};
  for (const std::size_t n : {2, 256, 65536}) {
    std::vector<float> logs(n, kNever);
    logs[n / 2] = 0;
    cases.push_back(logs);
    for (float& x : logs) x = -20 * static_cast<float>(random.uniform());
    cases.push_back(logs);
  }
  for (const auto& logs : cases) {
    Frequencies f;
    f.set(logs);
    EXPECT_EQ(total(f), std::uint64_t{1} << kMostCodingBits);
    for (const std::uint64_t size : f.sizes()) ASSERT_GE(size, 1u);
    std::uint64_t place = f.first(static_cast<Symbol>(logs.size() / 2));
    EXPECT_EQ(f.find(place), static_cast<Symbol>(logs.size() / 2));
  }
}

TEST(Frequencies, invalid_distributions_are_rejected) {
  Frequencies f;
  EXPECT_THROW(f.set(std::vector<float>{std::nanf(""), 0}), ModelError);
  EXPECT_THROW(f.set(std::vector<float>{std::numeric_limits<float>::infinity(), 0}), ModelError);
  EXPECT_THROW(f.set(std::vector<float>{}), UsageError);
}

TEST(Frequencies, frequencies_approximate_the_distribution) {
  const std::vector<float> logs = {std::log(0.5F), std::log(0.25F), std::log(0.125F), std::log(0.125F)};
  Frequencies f;
  f.set(logs);
  for (Symbol x = 0; x < 4; ++x)
    EXPECT_NEAR(std::log2(static_cast<double>(f.size(x))) - kMostCodingBits,
                logs[static_cast<std::size_t>(x)] / std::log(2.0), 1e-6);
}

}  // namespace
}  // namespace unfold::test
