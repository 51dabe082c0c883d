#include "base/decimals.h"

#include <gtest/gtest.h>

#include <cmath>

namespace unfold {
namespace {

TEST(Decimals, numbers_have_the_requested_digits) {
  EXPECT_EQ(decimals(1.23456789), "1.234568");
  EXPECT_EQ(decimals(-20.1, 4), "-20.1000");
  EXPECT_EQ(decimals(-2, 0), "-2");
}

TEST(Decimals, value_rounded_to_zero_has_no_sign) {
  for (const double zero : {0.0, -0.0, 1e-9, -1e-9, -4.9e-7}) EXPECT_EQ(decimals(zero), "0.000000");
  EXPECT_EQ(decimals(-5.1e-7), "-0.000001");
  EXPECT_EQ(decimals(-0.4, 0), "0");
  EXPECT_FALSE(std::signbit(unsigned_zero(-0.0)));
  EXPECT_EQ(unsigned_zero(-1e-300), -1e-300);
}

}  // namespace
}  // namespace unfold
