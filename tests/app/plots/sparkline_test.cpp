#include "app/plots/sparkline.h"

#include <gtest/gtest.h>

#include <limits>

namespace unfold {
namespace {

TEST(Sparkline, curve_falls_from_the_highest_block_to_the_lowest) {
  Sparkline curve;
  EXPECT_EQ(curve.text(8), "");
  for (int i = 8; i > 0; --i) curve.add(i);
  curve.add(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(curve.text(8), "█▇▆▅▄▃▂▁");
  EXPECT_EQ(curve.text(4), "█▆▃▁");
  EXPECT_EQ(curve.text(100), curve.text(8));
}

TEST(Sparkline, equal_values_are_a_low_line) {
  Sparkline curve;
  for (int i = 0; i < 3; ++i) curve.add(5);
  EXPECT_EQ(curve.text(3), "▁▁▁");
}

TEST(Sparkline, curve_keeps_its_shape_for_any_number_of_values) {
  Sparkline curve;
  for (int i = 0; i < 1'000'000; ++i) curve.add(-i);
  EXPECT_EQ(curve.text(8), "█▇▆▅▄▃▂▁");
}

}  // namespace
}  // namespace unfold
