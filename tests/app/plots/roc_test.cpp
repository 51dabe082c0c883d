#include "app/plots/roc.h"

#include <gtest/gtest.h>

#include <cmath>

#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

TEST(Roc, area_is_the_fraction_of_correctly_ordered_pairs) {
  Random random(5, "roc");
  for (int round = 0; round < 20; ++round) {
    std::vector<double> scores;
    std::vector<bool> positive;
    for (int i = 0; i < 40; ++i) {
      positive.push_back(random.below(3) == 0);
      scores.push_back(static_cast<double>(random.below(7)) + (positive.back() ? 1 : 0));  // with many ties
    }
    positive[0] = true;
    positive[1] = false;
    double right = 0, pairs = 0;
    for (std::size_t i = 0; i < scores.size(); ++i)
      for (std::size_t j = 0; j < scores.size(); ++j)
        if (positive[i] && !positive[j]) {
          ++pairs;
          right += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
        }
    const Roc result = roc(scores, positive);
    EXPECT_NEAR(result.area, right / pairs, 1e-12);
    double trapezoids = 0;
    for (std::size_t i = 1; i < result.curve.size(); ++i)
      trapezoids += (result.curve[i].false_positive_rate - result.curve[i - 1].false_positive_rate) *
                    (result.curve[i].true_positive_rate + result.curve[i - 1].true_positive_rate) / 2;
    EXPECT_NEAR(result.area, trapezoids, 1e-12);
    EXPECT_EQ(result.curve.back().false_positive_rate, 1);
    EXPECT_EQ(result.curve.back().true_positive_rate, 1);
  }
}

TEST(Roc, perfect_reversed_and_equal_scores_have_area_one_zero_and_half) {
  EXPECT_EQ(roc(std::vector<double>{1, 2, 3, 4}, {false, false, true, true}).area, 1);
  EXPECT_EQ(roc(std::vector<double>{4, 3, 2, 1}, {false, false, true, true}).area, 0);
  EXPECT_EQ(roc(std::vector<double>{1, 1, 1, 1}, {false, true, true, true}).area, 0.5);
}

TEST(Roc, single_class_and_nan_are_rejected) {
  EXPECT_THROW(roc(std::vector<double>{1, 2}, {true, true}), DataError);
  EXPECT_THROW(roc(std::vector<double>{1, 2}, {true}), DataError);
  EXPECT_THROW(roc(std::vector<double>{1, std::nan("")}, {true, false}), DataError);
}

}  // namespace
}  // namespace unfold
