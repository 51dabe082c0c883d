/// Rank-one estimates are unbiased: their mean over seeds is within its standard error of the exact gradient. Set the
/// number of seeds with UNFOLD_SEEDS=100000 build/.../forward_test --gtest_filter='RankOne.*'.

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/optim/rtrl/windows.h"

namespace unfold {
namespace {

using test::go_forward;
using test::look_back;
using test::random_batch;
using test::small_model;

Index seeds() {
  const char* given = std::getenv("UNFOLD_SEEDS");
  return given != nullptr ? std::atoll(given) : 3000;
}

/// Largest and root mean square distance of the mean from the exact gradient, in standard errors of the mean.
struct Distance {
  double largest = 0, typical = 0;
};

Distance distance_of_mean(const std::string& spec, const std::string& method) {
  const Index letters = 3;
  const auto model = small_model<double>(spec, letters);
  const std::vector<Batch> batches = {random_batch({8, 5}, 0, 4, letters), random_batch({8, 5}, 4, 4, letters)};
  const auto exact = look_back(model.network(), model.parameters(), random_batch({8, 5}, 0, 100, letters)).gradient;
  std::vector<double> sum(exact.size(), 0), squares(exact.size(), 0);
  const Index count = seeds();
  for (Index seed = 0; seed < count; ++seed) {
    const auto found = go_forward(model.network(), model.parameters(), batches, method,
                                  {.seed = static_cast<std::uint64_t>(seed), .threads = 1});
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const double error = found.gradient[i] - exact[i];
      sum[i] += error;
      squares[i] += error * error;
    }
  }
  Distance result;
  double total = 0;
  Index counted = 0;
  const auto n = static_cast<double>(count);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double mean = sum[i] / n, variance = squares[i] / n - mean * mean;
    if (variance <= 1e-24) {
      EXPECT_NEAR(mean, 0, 1e-12) << spec << " " << method << ": a number without noise";
      continue;
    }
    const double z = mean / std::sqrt(variance / n);
    result.largest = std::max(result.largest, std::fabs(z));
    total += z * z;
    ++counted;
  }
  EXPECT_GT(counted, 20);
  result.typical = std::sqrt(total / static_cast<double>(counted));
  return result;
}

class RankOne : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(RankOne, rank_one_estimate_is_unbiased) {
  const auto [spec, method] = GetParam();
  const Distance found = distance_of_mean(spec, method);
  RecordProperty("largest", std::to_string(found.largest));
  RecordProperty("typical", std::to_string(found.typical));
  if (std::getenv("UNFOLD_SEEDS") != nullptr)
    std::printf("%s %s: %lld seeds, largest %.2f, typical %.2f standard errors\n", spec, method,
                static_cast<long long>(seeds()), found.largest, found.typical);
  EXPECT_LT(found.largest, 5);
  EXPECT_LT(found.typical, 2.2);  // a single sign flips all entries of a gradient
}

INSTANTIATE_TEST_SUITE_P(Nets, RankOne,
                         testing::Combine(testing::Values("rnn:3", "lstm:2,trained-initial=true", "gru:2"),
                                          testing::Values("uoro", "nobacktrack")));

/// The same test must reject an incorrect mean, obtained by dropping half of the past.
TEST(RankOneTest, bias_test_detects_a_bias) {
  const Index letters = 3;
  const auto model = small_model<double>("rnn:3", letters);
  const Batch batch = random_batch({8}, 0, 100, letters);
  const auto exact = look_back(model.network(), model.parameters(), batch).gradient;
  const auto part = go_forward(model.network(), model.parameters(), {batch}, "snap:1").gradient;
  EXPECT_GT(test::distance(part, exact), 1e-3);
}

}  // namespace
}  // namespace unfold
