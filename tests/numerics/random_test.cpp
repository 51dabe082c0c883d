#include "unfold/numerics/random.h"
#include "numerics/dropout.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "unfold/base/error.h"

namespace unfold::random_test {
namespace {

using Words = std::array<std::uint32_t, 4>;

TEST(Philox, philox_gives_the_published_known_answers) {
  // kat_vectors of Random123, philox4x32 with 10 rounds.
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, philox_counter_has_the_number_low_and_the_stream_high) {
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, stream_words_are_read_in_order) {
  Random random(7, 9);
  for (std::uint64_t n = 0; n < 5; ++n) {
    for (const std::uint32_t word : philox(7, 9, n)) EXPECT_EQ(random.bits32(), word);
  }
  EXPECT_EQ(random.position(), 20u);
}

TEST(Random, stream_continues_from_a_position) {
  Random random(1, "walk"), other(1, "walk");
  random.bits32();
  for (int i = 0; i < 10; ++i) random.normal();
  other.seek(random.position());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(random.bits64(), other.bits64());
  Random copy = random;
  EXPECT_EQ(copy.uniform(), random.uniform());
}

TEST(Random, streams_of_different_names_and_seeds_differ) {
  std::set<std::uint64_t> first;
  for (int i = 0; i < 1000; ++i) {
    first.insert(Random(1, "layer" + std::to_string(i) + "/z/W").bits64());
    first.insert(Random(static_cast<std::uint64_t>(i) + 2, "layer0/z/W").bits64());
  }
  EXPECT_EQ(first.size(), 2000u);
}

TEST(Random, stream_names_are_stable) {
  // FNV-1a of "" and "a" are published; the finalizer is that of SplitMix64.
  const auto finalize = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  EXPECT_EQ(stream_of(""), finalize(0xcbf29ce484222325u));
  EXPECT_EQ(stream_of("a"), finalize(0xaf63dc4c8601ec8cu));
}

/// Returns the chi-square statistic of counts with equal expectation, as standard deviations from its mean.
double chi_square_deviation(const std::vector<int>& counts) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  const double expected = total / static_cast<double>(counts.size()), freedom = static_cast<double>(counts.size()) - 1;
  double chi = 0;
  for (const int count : counts) chi += (count - expected) * (count - expected) / expected;
  return (chi - freedom) / std::sqrt(2 * freedom);
}

TEST(Random, uniform_numbers_fill_the_unit_interval_evenly) {
  Random random(11, "uniform");
  std::vector<int> counts(100);
  for (int i = 0; i < 400'000; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    ++counts[static_cast<std::size_t>(u * 100)];
  }
  EXPECT_LT(std::fabs(chi_square_deviation(counts)), 4);
}

TEST(Random, uniform_numbers_keep_to_their_interval) {
  Random random(12, "interval");
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double u = random.uniform(-3, 5);
    ASSERT_GE(u, -3);
    ASSERT_LE(u, 5);
    sum += u;
  }
  EXPECT_NEAR(sum / 100'000, 1, 0.03);
}

TEST(Random, normal_numbers_have_the_moments_of_the_normal_distribution) {
  Random random(13, "normal");
  constexpr int kCount = 400'000;
  double moment[5] = {};
  std::vector<int> counts(64);
  for (int i = 0; i < kCount; ++i) {
    const double z = random.normal();
    double power = 1;
    for (double& m : moment) m += power, power *= z;
    const double p = 0.5 * std::erfc(-z / std::sqrt(2.0));
    ++counts[static_cast<std::size_t>(std::min(p, 0.999999999) * 64)];
  }
  EXPECT_NEAR(moment[1] / kCount, 0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(moment[2] / kCount, 1, 5 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(moment[3] / kCount, 0, 5 * std::sqrt(15.0 / kCount));
  EXPECT_NEAR(moment[4] / kCount, 3, 5 * std::sqrt(96.0 / kCount));
  EXPECT_LT(std::fabs(chi_square_deviation(counts)), 4);
}

TEST(NormalQuantile, normal_quantile_inverts_the_normal_distribution) {
  // Wichura's published check values, and the error function of the C library.
  EXPECT_NEAR(normal_quantile(0.25), -0.6744897501960817, 1e-15);
  EXPECT_NEAR(normal_quantile(0.001), -3.090232306167814, 1e-15 * 4);
  EXPECT_NEAR(normal_quantile(1e-20), -9.262340089798408, 1e-14);
  EXPECT_EQ(normal_quantile(0.5), 0);
  for (double p = 1e-300; p < 0.5; p = p < 1e-3 ? p * 3.7 : p + 0.0037) {
    const double z = normal_quantile(p);
    EXPECT_NEAR(0.5 * std::erfc(-z / std::sqrt(2.0)) / p, 1, 1e-15 * (10 + 4 * z * z)) << p;
    if (p > 1e-3) {
      EXPECT_NEAR(normal_quantile(1 - p), -z, 1e-12);
    }
  }
}

TEST(Random, bounded_numbers_are_uniform_and_below_the_bound) {
  Random random(14, "below");
  for (const std::uint64_t n : {1u, 2u, 3u, 7u, 100u}) {
    std::vector<int> counts(n);
    for (int i = 0; i < 50'000; ++i) ++counts.at(random.below(n));
    if (n > 1) {
      EXPECT_LT(std::fabs(chi_square_deviation(counts)), 4) << n;
    }
  }
}

TEST(Random, bounded_numbers_are_unbiased_for_large_bounds) {
  // n = 3/4 of 2^64: without rejection one third of the numbers would occur twice as often.
  Random random(15, "unbiased");
  const std::uint64_t n = std::uint64_t{3} << 62;
  std::vector<int> counts(3);
  for (int i = 0; i < 600'000; ++i) ++counts[random.below(n) % 3];
  EXPECT_LT(std::fabs(chi_square_deviation(counts)), 4);
}

template <class T>
std::vector<T> mask_of(const std::vector<std::uint64_t>& keys, Index cols, double rate) {
  std::vector<T> mask(keys.size() * static_cast<std::size_t>(cols), T{-1});
  dropout_mask<T>(5, stream_of("dropout"), keys.data(), rate,
                  {mask.data(), static_cast<Index>(keys.size()), cols, cols});
  return mask;
}

TEST(DropoutMask, dropout_mask_depends_on_the_row_key_and_not_on_its_position) {
  const auto batch = mask_of<float>({3, 1, 4, 3}, 37, 0.3);
  const auto alone = mask_of<float>({4}, 37, 0.3);
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), batch.begin() + 2 * 37));
  EXPECT_TRUE(std::equal(batch.begin(), batch.begin() + 37, batch.begin() + 3 * 37));
  EXPECT_FALSE(std::equal(batch.begin(), batch.begin() + 37, batch.begin() + 37));
  const auto narrow = mask_of<float>({4}, 5, 0.3);
  EXPECT_TRUE(std::equal(narrow.begin(), narrow.end(), alone.begin()));
}

TEST(DropoutMask, dropout_mask_has_its_rate_and_keeps_the_mean) {
  std::vector<std::uint64_t> keys(500);
  std::iota(keys.begin(), keys.end(), 0);
  for (const double rate : {0.0, 0.1, 0.5, 0.9}) {
    const auto mask = mask_of<double>(keys, 201, rate);
    double sum = 0;
    for (const double m : mask) {
      ASSERT_TRUE(m == 0 || m == 1 / (1 - rate));
      sum += m;
    }
    const double count = static_cast<double>(mask.size());
    EXPECT_NEAR(sum / count, 1, 5 * std::sqrt(rate / (1 - rate) / count) + 1e-12);
  }
}

TEST(DropoutMask, dropout_rate_that_drops_everything_is_rejected) {
  EXPECT_THROW(mask_of<float>({1}, 3, 1.0), UsageError);
  EXPECT_THROW(mask_of<float>({1}, 3, -0.1), UsageError);
  EXPECT_THROW(mask_of<float>({1}, 3, std::nan("")), UsageError);
}

}  // namespace
}  // namespace unfold::random_test
