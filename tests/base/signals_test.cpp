#include "unfold/base/signals.h"

#include <gtest/gtest.h>

#include <array>

#include "base/scratch.h"
#include "unfold/base/file.h"

namespace unfold {
namespace {

using testing_support::ScratchFolder;

TEST(Signals, WhoWaitsIsKnownAndDoesNotBeginToWaitAfterAStop) {
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

TEST(Signals, TemporaryFilesAreRemovedAndOthersStay) {
  const ScratchFolder folder;
  folder.write("mine", "x");
  AtomicFile file(folder.path("a"));
  EXPECT_EQ(folder.files(), 2u);
  remove_temporary_files();
  EXPECT_EQ(folder.files(), 1u);
}

TEST(Signals, MappedFilesAreFoundByTheirAddresses) {
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

TEST(Signals, ManyFilesAtOnceAreNoError) {
  std::vector<AnnouncedFile> many;
  for (int i = 0; i < 1000; ++i) many.push_back(AnnouncedFile::mapped("name", &many, 1));
  EXPECT_STREQ(mapped_file_at(&many), "name");
}

}  // namespace
}  // namespace unfold
