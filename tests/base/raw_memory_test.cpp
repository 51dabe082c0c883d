#include "unfold/base/raw_memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <vector>

namespace unfold {
namespace {

TEST(RawMemory, KeepsElementsWhenItGrows) {
  RawMemory<std::uint32_t> memory;
  EXPECT_EQ(memory.capacity(), 0u);
  std::size_t written = 0;
  for (const std::size_t capacity : {1, 100, 50, 10'000, 5'000'000}) {
    memory.reserve(capacity);
    ASSERT_GE(memory.capacity(), capacity);
    for (std::size_t i = 0; i < written; ++i) ASSERT_EQ(memory.data()[i], i);
    for (; written < capacity; ++written) memory.data()[written] = static_cast<std::uint32_t>(written);
  }
  const std::size_t before = memory.capacity();
  memory.grow(before + 1);
  EXPECT_GE(memory.capacity(), before + before / 2);
}

TEST(RawMemory, ThrowsIfThereIsNotEnoughMemory) {
  RawMemory<char> memory;
  memory.reserve(10);
  memory.data()[0] = 'a';
  EXPECT_THROW(memory.reserve(std::numeric_limits<std::size_t>::max() / 2), std::bad_alloc);
  EXPECT_EQ(memory.data()[0], 'a');
}

TEST(UseLargePages, KeepsTheContents) {
  std::vector<double> numbers(1'000'000, 2.5);
  std::string text(3, 'x');
  use_large_pages(numbers);
  use_large_pages(text);
  EXPECT_EQ(numbers, std::vector<double>(1'000'000, 2.5));
  EXPECT_EQ(text, "xxx");
}

}  // namespace
}  // namespace unfold
