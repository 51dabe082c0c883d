#include "base/signals.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/base/scratch.h"
#include "base/formats/file.h"

namespace unfold {
namespace {

using testing_support::ScratchFolder;

TEST(Signals, who_waits_is_known_and_does_not_begin_to_wait_after_a_stop) {
  EXPECT_FALSE(WaitingForOthers::any());
  {
    const WaitingForOthers waiting, also;
    EXPECT_TRUE(WaitingForOthers::any());
  }
  EXPECT_FALSE(WaitingForOthers::any());
  stop_requested() = true;
  EXPECT_THROW(WaitingForOthers(), InterruptedError);
  stop_requested() = false;
  EXPECT_FALSE(WaitingForOthers::any());
}

TEST(Signals, temporary_files_are_removed_and_others_stay) {
  const ScratchFolder folder;
  folder.write("mine", "x");
  AtomicFile file(folder.path("a"));
  EXPECT_EQ(folder.files(), 2u);
  remove_temporary_files();
  EXPECT_EQ(folder.files(), 1u);
}

TEST(Signals, mapped_files_are_found_by_their_addresses) {
  const std::array<char, 10> bytes{};
  {
    AnnouncedFile moved;
    moved = AnnouncedFile::mapped("name", bytes.data(), bytes.size());
    EXPECT_STREQ(mapped_file_at(bytes.data()), "name");
    EXPECT_STREQ(mapped_file_at(bytes.data() + 9), "name");
    EXPECT_EQ(mapped_file_at(bytes.data() + 10), nullptr);
  }
  EXPECT_EQ(mapped_file_at(bytes.data()), nullptr);
}

TEST(Signals, many_files_at_once_are_no_error) {
  std::vector<AnnouncedFile> many;
  for (int i = 0; i < 1000; ++i) many.push_back(AnnouncedFile::mapped("name", &many, 1));
  EXPECT_STREQ(mapped_file_at(&many), "name");
}

}  // namespace
}  // namespace unfold
