#include "base/storage/growing_array.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "unfold/base/error.h"

namespace unfold {
namespace {

using Numbers = GrowingArray<std::uint32_t>;

class EveryStorage : public ::testing::TestWithParam<bool> {
 protected:
  static Numbers empty() { return GetParam() ? Numbers::in_file("numbers") : Numbers(); }
};
INSTANTIATE_TEST_SUITE_P(Storage, EveryStorage, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "file" : "memory"; });

TEST_P(EveryStorage, array_equals_a_vector_while_it_grows) {
  Numbers array = empty();
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    array.push_back(i * i);
    expected.push_back(i * i);
    if (i % 10'000 == 0) array.release();
  }
  array.resize(150'000, 7);
  expected.resize(150'000, 7);
  array.resize(140'000);
  expected.resize(140'000);
  std::uint32_t* const added = array.more(1000);
  std::iota(added, added + 1000, 5);
  for (std::uint32_t i = 0; i < 1000; ++i) expected.push_back(5 + i);
  array.release();
  EXPECT_TRUE(std::ranges::equal(array, expected));
  EXPECT_EQ(array.back(), 1004U);
  array.assign(3, 9);
  EXPECT_TRUE(std::ranges::equal(array, std::vector<std::uint32_t>{9, 9, 9}));
}

TEST_P(EveryStorage, copies_and_moved_arrays_are_independent) {
  Numbers array = empty();
  array.assign(50'000, 3);
  Numbers copy = array;
  EXPECT_TRUE(copy == array);
  copy[7] = 1;
  EXPECT_FALSE(copy == array);
  Numbers moved = std::move(array);
  EXPECT_EQ(moved.size(), 50'000U);
  EXPECT_EQ(moved[7], 3U);
  moved = std::move(copy);
  EXPECT_EQ(moved[7], 1U);
  moved = {};
  EXPECT_TRUE(moved.empty());
}

}  // namespace
}  // namespace unfold
