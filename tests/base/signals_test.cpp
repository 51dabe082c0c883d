#include "unfold/base/signals.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/base/scratch.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

using testing_support::ScratchFolder;

TEST(Signals, waiters_are_visible_and_do_not_wait_after_a_stop) {
  EXPECT_FALSE(BlockingSection::any());
  {
    const BlockingSection waiting, also;
    EXPECT_TRUE(BlockingSection::any());
  }
  EXPECT_FALSE(BlockingSection::any());
  stop_requested() = true;
  EXPECT_THROW(BlockingSection(), InterruptedError);
  stop_requested() = false;
  EXPECT_FALSE(BlockingSection::any());
}

TEST(Signals, only_temporary_files_are_removed) {
  const ScratchFolder folder;
  folder.write("mine", "x");
  AtomicFile file(folder.path("a"));
  EXPECT_EQ(folder.files(), 2u);
  remove_temporary_files();
  EXPECT_EQ(folder.files(), 1u);
}

TEST(Signals, mapped_files_are_found_by_address) {
  const std::array<char, 10> bytes{};
  {
    RegisteredFile moved;
    moved = RegisteredFile::mapped("name", bytes.data(), bytes.size());
    EXPECT_STREQ(mapped_file_at(bytes.data()), "name");
    EXPECT_STREQ(mapped_file_at(bytes.data() + 9), "name");
    EXPECT_EQ(mapped_file_at(bytes.data() + 10), nullptr);
  }
  EXPECT_EQ(mapped_file_at(bytes.data()), nullptr);
}

TEST(Signals, many_simultaneous_files_are_supported) {
  std::vector<RegisteredFile> many;
  for (int i = 0; i < 1000; ++i) many.push_back(RegisteredFile::mapped("name", &many, 1));
  EXPECT_STREQ(mapped_file_at(&many), "name");
}

}  // namespace
}  // namespace unfold
