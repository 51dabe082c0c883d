#include "app/common/operation_count.h"

#include <gtest/gtest.h>

namespace unfold {
namespace {

TEST(OperationCount, HasTwoDigitsAndAReadableUnit) {
  EXPECT_EQ(operation_count_text(80), "less than 1 MFLOP");
  EXPECT_EQ(operation_count_text(1.54e6), "1.5 MFLOP");
  EXPECT_EQ(operation_count_text(3.41e10), "34 GFLOP");
  EXPECT_EQ(operation_count_text(4e11), "400 GFLOP");
  EXPECT_EQ(operation_count_text(9.96e8), "1 GFLOP");
  EXPECT_EQ(operation_count_text(2.5e19), "25000 PFLOP");
}

}  // namespace
}  // namespace unfold
