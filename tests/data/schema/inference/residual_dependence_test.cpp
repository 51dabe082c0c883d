/// Checks that a series is recognized below the effect of columns without an order, and independent rows are not
/// mistaken.

#include "data/schema/inference/residual_dependence.h"

#include <gtest/gtest.h>

#include <limits>

#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// Rows of two inputs and their sum plus an autoregression.
ResidualDependence driven(Index rows, double coefficient, std::uint64_t seed, double missing = 0) {
  Random random(seed, "rows");
  ResidualDependence result;
  double last = 0;
  for (Index r = 0; r < rows; ++r) {
    const double a = random.normal(), b = random.normal();
    last = coefficient * last + 0.3 * random.normal();
    const bool left_out = random.uniform() < missing;
    result.add({left_out ? std::numeric_limits<double>::quiet_NaN() : a, b, 2 * a - 3 * b + last});
  }
  return result;
}

TEST(ResidualDependence, SeriesBelowTheEffectOfInputsAreRecognized) {
  Index found = 0, with_missing = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    found += driven(200, 0.9, seed).depends(2, {0, 1}) ? 1 : 0;
    with_missing += driven(300, 0.9, seed, 0.1).depends(2, {0, 1}) ? 1 : 0;
  }
  EXPECT_GE(found, 48);
  EXPECT_GE(with_missing, 45);
}

TEST(ResidualDependence, IndependentRowsAreSeldomMistaken) {
  Index found = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed)
    found += driven(25 + static_cast<Index>(seed % 200), 0, seed).depends(2, {0, 1}) ? 1 : 0;
  EXPECT_LE(found, 6);
}

TEST(ResidualDependence, EqualInputsAndFewRowsAreAccepted) {
  ResidualDependence equal;
  Random random(1, "rows");
  double last = 0;
  for (Index r = 0; r < 200; ++r) {
    const double a = random.normal();
    last = 0.9 * last + 0.3 * random.normal();
    equal.add({a, a, 1, a + last});
  }
  EXPECT_TRUE(equal.depends(3, {0, 1, 2}));
  EXPECT_FALSE(equal.depends(3, {}));
  EXPECT_FALSE(driven(15, 0.9, 1).depends(2, {0, 1}));
  EXPECT_FALSE(ResidualDependence().depends(0, {1}));
}

}  // namespace
}  // namespace unfold
