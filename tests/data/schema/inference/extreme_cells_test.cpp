/// Checks that cells far from all others are found, and that skewed columns have none.

#include "data/schema/inference/extreme_cells.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "unfold/numerics/random.h"

namespace unfold {
namespace {

std::optional<FarCells> far_of(const std::vector<double>& values) {
  ExtremeCells extremes;
  for (std::size_t i = 0; i < values.size(); ++i)
    extremes.add(values[i], std::to_string(values[i]), static_cast<Index>(i) + 2);
  return extremes.far(static_cast<Index>(values.size()));
}

std::vector<double> drawn(Index count, double (*transform)(double)) {
  Random random(7, "test");
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i) values.push_back(transform(random.normal()));
  return values;
}

TEST(ExtremeCells, repeated_value_far_from_all_others) {
  std::vector<double> values = drawn(1000, [](double x) { return 40000 + 10000 * x; });
  EXPECT_FALSE(far_of(values));
  for (std::size_t i = 100; i < values.size(); i += 100) values[i] = 999999999;
  const std::optional<FarCells> far = far_of(values);
  ASSERT_TRUE(far);
  EXPECT_EQ(far->cells, 9);
  EXPECT_EQ(far->different, 1);
  EXPECT_EQ(far->text, std::to_string(999999999.0));
  EXPECT_EQ(far->line, 102);
}

TEST(ExtremeCells, single_values_of_any_size_and_sign) {
  std::vector<double> values = drawn(200, [](double x) { return x; });
  values[50] = 1e308;
  EXPECT_EQ(far_of(values)->line, 52);
  values[60] = -1e308;
  const std::optional<FarCells> both = far_of(values);
  EXPECT_EQ(both->cells, 2);
  EXPECT_EQ(both->line, 52);
  values[70] = -1e307;
  EXPECT_EQ(far_of(values)->different, 3);
  values[70] = -20;
  EXPECT_EQ(far_of(values)->different, 2) << "an ordinary outlier is not named";
}

TEST(ExtremeCells, skewed_and_discrete_columns_have_none) {
  EXPECT_FALSE(far_of(drawn(5000, [](double x) { return std::exp(2 * x); })));
  EXPECT_FALSE(far_of({0, 0, 1, 1, 1000, 0, 1, 1000, 0, 1})) << "three codes";
  EXPECT_FALSE(far_of({4000, 4001, 4002, 4003, 4004, 9999, 4005, 9999, 0, 0})) << "not many times as large";
  std::vector<double> ascending;
  ascending.reserve(1000);
  for (int i = 0; i < 1000; ++i) ascending.push_back(i);
  EXPECT_FALSE(far_of(ascending));
  EXPECT_FALSE(far_of({}));
  EXPECT_FALSE(far_of({5, 5, 5}));
}

}  // namespace
}  // namespace unfold
