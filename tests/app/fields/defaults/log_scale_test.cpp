#include "app/fields/defaults/log_scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "app/common/reporter.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// Rows with a size and a kind, and a price that depends on both: additively or by factors.
Examples prices(Index rows, bool factors, double noise = 0.2) {
  Random random(1, "prices");
  ExampleColumn size{.name = "size", .width = 1}, kind{.name = "kind"},
      price{.name = "price", .once = true, .width = 1};
  Examples examples{.source = "made"};
  for (Index r = 0; r < rows; ++r) {
    const double x = random.normal();
    const bool large = random.uniform() < 0.3;
    size.numbers.push_back(x);
    kind.texts.emplace_back(large ? "large" : "small");
    const double e = noise * random.normal();
    // The additive price is skewed, because one kind is rare and expensive.
    price.numbers.push_back(factors ? std::exp(5 + 0.8 * x + (large ? 1 : 0) + e)
                                    : 100 + 4 * x + (r % 10 == 0 ? 200 : 0) + 3 * e);
    if (!factors && r % 10 == 0) kind.texts.replace(kind.texts.size() - 1, "rare");
    examples.ends.push_back(r + 1);
  }
  examples.columns = {size, kind, price};
  return examples;
}

TEST(LogScale, PricesThatDependOnFactorsHaveFewerNatsOnALogScale) {
  const auto nats = compare_scales(prices(500, true), "price", {"size", "kind"});
  ASSERT_TRUE(nats.has_value());
  EXPECT_LT(nats->log_normal, nats->normal - 0.5);
  // The logarithm has normal errors with the deviation 0.2 around 5 + 0.3 on average.
  EXPECT_NEAR(nats->log_normal, 1.4189 + std::log(0.2) + 5.3, 0.15);
}

TEST(LogScale, SkewedSumsHaveFewerNatsWithoutLogarithm) {
  const auto nats = compare_scales(prices(500, false), "price", {"size", "kind"});
  ASSERT_TRUE(nats.has_value());
  EXPECT_LT(nats->normal, nats->log_normal);
  EXPECT_NEAR(nats->normal, 1.4189 + std::log(0.6), 0.1);
}

TEST(LogScale, OnlyPositiveSkewedNumbersAreCompared) {
  Examples examples = prices(500, true);
  EXPECT_FALSE(compare_scales(prices(15, true), "price", {"size"}));
  for (double& x : examples.columns[2].numbers) x = std::log(x);  // symmetric
  EXPECT_FALSE(compare_scales(examples, "price", {"size"}));
  examples = prices(500, true);
  examples.columns[2].numbers[7] = 0;
  EXPECT_FALSE(compare_scales(examples, "price", {"size"}));
  EXPECT_FALSE(compare_scales(examples, "kind", {"size"}));
}

TEST(LogScale, WithoutInputsTheDistributionsAreCompared) {
  const auto nats = compare_scales(prices(500, true), "price", {});
  ASSERT_TRUE(nats.has_value());
  EXPECT_LT(nats->log_normal, nats->normal);
}

}  // namespace
}  // namespace unfold
