#include "numerics/gated_sums.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "numerics/simd.h"
#include "unfold/numerics/random.h"

namespace unfold::gated_sums_test {
namespace {

constexpr Index kInputs = 80, kRows = 9;

struct Case {
  explicit Case(std::uint64_t seed) : x(kInputs), weights(kRows, std::vector<float>(kInputs)) {
    Random random(seed, "gated sums");
    for (float& v : x) v = static_cast<float>(random.normal());
    for (auto& row : weights)
      for (float& v : row) v = static_cast<float>(random.normal());
  }
  std::array<float*, kRows> rows() {
    std::array<float*, kRows> result{};
    for (std::size_t r = 0; r < kRows; ++r) result[r] = weights[r].data();
    return result;
  }
  std::vector<float> x;
  std::vector<std::vector<float>> weights;
};

/// The documented order of summation, without optimizations.
float plain_sum(const std::vector<float>& x, const std::vector<float>& w) {
  std::array<float, kMixingLanes> lane{};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float product = x[i] * w[i];
    lane[i % lane.size()] += product;
  }
  for (std::size_t width = lane.size() / 2; width > 0; width /= 2)
    for (std::size_t j = 0; j < width; ++j) lane[j] += lane[j + width];
  return lane[0];
}

TEST(GatedSums, gated_sums_have_the_documented_order_on_every_instruction_set) {
  const std::vector<std::string> levels = simd_available();
  for (const std::string& level : levels) {
    simd_limit(level);
    for (std::uint64_t seed = 1; seed < 20; ++seed) {
      Case c(seed);
      std::array<float, kRows> sums{};
      const auto rows = c.rows();
      for (Index count = 1; count <= kRows; ++count) {  // any number of rows, not only multiples of four
        sums.fill(0);
        gated_sums(c.x.data(), kInputs, rows.data(), count, sums.data());
        for (Index r = 0; r < count; ++r) EXPECT_EQ(sums[at(r)], plain_sum(c.x, c.weights[at(r)])) << level;
      }
    }
  }
  simd_limit(levels.front());
}

TEST(GatedSteps, gated_steps_add_inputs_and_leave_inactive_rows_unchanged) {
  const std::vector<std::string> levels = simd_available();
  for (const std::string& level : levels) {
    simd_limit(level);
    Case c(7);
    const Case before = c;
    const std::array<float, kRows> steps = {0.25F, 0, -0.01F, 0, 0, 1, 0.5F, 0, -2};
    const auto rows = c.rows();
    gated_steps(c.x.data(), kInputs, rows.data(), steps.data(), kRows);
    for (std::size_t r = 0; r < kRows; ++r)
      for (std::size_t i = 0; i < c.x.size(); ++i) {
        const float change = steps[r] * c.x[i];
        EXPECT_EQ(c.weights[r][i], before.weights[r][i] + change) << level;
      }
  }
  simd_limit(levels.front());
}

}  // namespace
}  // namespace unfold::gated_sums_test
