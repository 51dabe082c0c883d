#include "app/statistics/paired_bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// Returns the means of all n^n resamples of n blocks.
std::vector<double> all_means(const std::vector<DifferenceBlock>& blocks) {
  const std::size_t n = blocks.size();
  std::size_t count = 1;
  for (std::size_t i = 0; i < n; ++i) count *= n;
  std::vector<double> means;
  for (std::size_t number = 0; number < count; ++number) {
    double sum = 0;
    Index symbols = 0;
    for (std::size_t i = 0, left = number; i < n; ++i, left /= n) {
      sum += blocks[left % n].sum;
      symbols += blocks[left % n].count;
    }
    means.push_back(sum / static_cast<double>(symbols));
  }
  std::ranges::sort(means);
  return means;
}

TEST(Bootstrap, interval_equals_enumeration_of_all_resamples) {
  const std::vector<DifferenceBlock> blocks = {{1.5, 10}, {-0.7, 12}, {2.25, 9}, {0.4, 11}, {3.1, 10}};
  const std::vector<double> all = all_means(blocks);  // 3125
  const double mean = (1.5 - 0.7 + 2.25 + 0.4 + 3.1) / 52, widen = std::sqrt(5.0 / 4.0);
  const auto exact = [&](double q) {
    return mean + widen * (all[static_cast<std::size_t>(q * static_cast<double>(all.size() - 1))] - mean);
  };
  const PairedDifference found = paired_bootstrap(blocks, 200'000, 0.9, 7);
  EXPECT_DOUBLE_EQ(found.mean, mean);
  EXPECT_NEAR(found.low, exact(0.05), 0.004);
  EXPECT_NEAR(found.high, exact(0.95), 0.004);
  double below = 0;
  for (const double m : all) below += mean + widen * (m - mean) <= 0 ? 1 : 0;
  EXPECT_NEAR(found.probability, 2 * below / static_cast<double>(all.size()), 0.003);
}

TEST(Bootstrap, unobserved_event_is_rare_but_not_impossible) {
  EXPECT_DOUBLE_EQ(paired_bootstrap({{{1, 3}, {2, 3}, {1.5, 3}}}, 1999, 0.95, 1).probability, 0.001);
  EXPECT_DOUBLE_EQ(paired_bootstrap({{{0, 3}, {0, 3}}}, 1999, 0.95, 1).probability, 1);
}

TEST(Bootstrap, interval_depends_only_on_its_seed) {
  const std::vector<DifferenceBlock> blocks = {{1, 3}, {2, 3}, {-1, 3}};
  EXPECT_EQ(paired_bootstrap(blocks, 100, 0.95, 1).low, paired_bootstrap(blocks, 100, 0.95, 1).low);
  EXPECT_NE(paired_bootstrap(blocks, 100, 0.95, 1).high, paired_bootstrap(blocks, 101, 0.8, 2).high);
}

/// Returns the share of pairs without a difference that are reported as different; `alike` is the autocorrelation of
/// neighbors.
double rate_of_false_alarms(int pairs, double level, double alike, Index length, Index symbols = 2000,
                            Index samples = 300) {
  int alarms = 0;
  for (int p = 0; p < pairs; ++p) {
    Random random(static_cast<std::uint64_t>(p), "false alarms");
    std::vector<double> differences(static_cast<std::size_t>(symbols));
    double state = 0;
    for (double& d : differences) {
      const double z = random.normal();
      state = alike * state + z * std::fabs(z);  // heavier tails than the normal distribution, as for surprisals
      d = state;
    }
    const std::vector<DifferenceBlock> blocks = cut_into_blocks(differences, length);
    alarms += paired_bootstrap(blocks, samples, level, 1).differs() ? 1 : 0;
  }
  return static_cast<double>(alarms) / pairs;
}

TEST(Bootstrap, false_alarm_rate_equals_the_level) {
  EXPECT_NEAR(rate_of_false_alarms(600, 0.95, 0, 32), 0.05, 0.027);  // three standard errors of 600
  EXPECT_NEAR(rate_of_false_alarms(600, 0.80, 0, 32), 0.20, 0.049);
}

TEST(Bootstrap, blocks_keep_the_false_alarm_rate_for_correlated_symbols) {
  EXPECT_NEAR(rate_of_false_alarms(400, 0.95, 0.7, 32), 0.06, 0.036);
  EXPECT_GT(rate_of_false_alarms(60, 0.95, 0.7, 1, 1000, 100), 0.2);
}

TEST(Bootstrap, blocks_contain_every_symbol_once) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> differences = {1, none, 2, 3, none, 4, 5, 6, 7};
  const auto blocks = cut_into_blocks(differences, 3);
  ASSERT_EQ(blocks.size(), 2u);  // 7 symbols: 3 and 3, and the last joins the second block
  EXPECT_EQ(blocks[0].sum, 6);
  EXPECT_EQ(blocks[0].count, 3);
  EXPECT_EQ(blocks[1].sum, 22);
  EXPECT_EQ(blocks[1].count, 4);
  EXPECT_EQ(cut_into_blocks(differences, 4).size(), 2u);  // 4 and 3
  EXPECT_EQ(cut_into_blocks(differences, 100).size(), 1u);
  EXPECT_TRUE(cut_into_blocks({}, 3).empty());
}

TEST(Bootstrap, input_without_an_interval_is_rejected) {
  const std::vector<DifferenceBlock> one = {{1, 1}}, two = {{1, 1}, {2, 1}}, none = {{0, 0}, {0, 0}};
  EXPECT_THROW(paired_bootstrap(one, 10, 0.9, 1), UsageError);
  EXPECT_THROW(paired_bootstrap(two, 10, 1, 1), UsageError);
  EXPECT_THROW(paired_bootstrap(two, 0, 0.9, 1), UsageError);
  EXPECT_THROW(paired_bootstrap(none, 10, 0.9, 1), UsageError);
  EXPECT_THROW(cut_into_blocks({}, 0), UsageError);
}

}  // namespace
}  // namespace unfold
