/// Byte streams that are read incrementally.

#include "train/sources/byte_stream_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <thread>

#include "unfold/base/error.h"

namespace unfold {
namespace {

namespace fs = std::filesystem;

class FollowedTextTest : public testing::Test {
 protected:
  void SetUp() override { path_ = fs::temp_directory_path() / ("unfold-followed-" + std::to_string(::getpid())); }
  void TearDown() override { fs::remove(path_); }
  std::string write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
    return path_.string();
  }
  fs::path path_;
};

std::string told(const ByteStreamSource& text) {
  std::string result;
  for (const Symbol s : std::get<SymbolRows>(text.batch().field(kSymbol)).symbols) result += static_cast<char>(s);
  return result;
}

Symbol before(const ByteStreamSource& text) {
  return std::get<SymbolRows>(text.batch().field(kPreviousSymbol)).symbols.front();
}

TEST_F(FollowedTextTest, followed_text_arrives_in_windows_and_ends_with_the_rest) {
  ByteStreamSource text(write("abcdefgh"), 3, 4);
  std::string all;
  Symbol last = kNoSymbol;
  while (text.wait(nullptr)) {
    EXPECT_EQ(before(text), last);
    EXPECT_EQ(text.batch().carry.fresh.size(), text.position() == 0 ? 1U : 0U);
    EXPECT_EQ(text.epochs_done(), 0);
    all += told(text) + "|";
    last = static_cast<Symbol>(all[all.size() - 2]);
    text.advance();
  }
  EXPECT_EQ(all, "abc|def|gh|");
  EXPECT_EQ(text.epochs_done(), 1);
  EXPECT_FALSE(text.wait(nullptr));
}

TEST_F(FollowedTextTest, followed_text_rewinds_within_kept_windows_and_skips_resumed_input) {
  ByteStreamSource text(write("abcdefghij"), 2, 3);
  text.seek(0, 3);
  ASSERT_TRUE(text.wait(nullptr));
  EXPECT_EQ(told(text), "gh");
  EXPECT_EQ(before(text), 'f');
  text.seek(0, 1);
  ASSERT_TRUE(text.wait(nullptr));
  EXPECT_EQ(told(text), "cd");
  text.seek(0, 0);
  EXPECT_THROW(text.wait(nullptr), RuntimeFailure);
  text.seek(1, 5);  // the position of a run that had ended
  EXPECT_FALSE(text.wait(nullptr));
  EXPECT_EQ(text.epochs_done(), 1);
}

TEST_F(FollowedTextTest, followed_pipe_is_awaited_until_stopped) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  ByteStreamSource text("/dev/fd/" + std::to_string(ends[0]), 4, 3);
  std::atomic<bool> stop{true};
  EXPECT_FALSE(text.wait(&stop));
  stop = false;
  std::thread writer([&] {
    for (const char* part : {"ab", "cde", "f"}) {
      EXPECT_GT(::write(ends[1], part, std::strlen(part)), 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    close(ends[1]);
  });
  while (!text.wait(&stop)) EXPECT_EQ(text.epochs_done(), 0);
  EXPECT_EQ(told(text), "abcd");
  text.advance();
  while (!text.wait(&stop)) EXPECT_EQ(text.epochs_done(), 0);
  EXPECT_EQ(told(text), "ef");
  text.advance();
  EXPECT_FALSE(text.wait(&stop));
  EXPECT_EQ(text.epochs_done(), 1);
  writer.join();
  close(ends[0]);
}

TEST_F(FollowedTextTest, missing_stream_is_rejected) {
  EXPECT_THROW(ByteStreamSource("/nowhere/at/all", 3, 4), DataError);
  EXPECT_THROW(ByteStreamSource(write("a"), 0, 4), UsageError);
}

TEST_F(FollowedTextTest, empty_stream_ends_immediately) {
  ByteStreamSource text(write(""), 3, 4);
  EXPECT_FALSE(text.wait(nullptr));
  EXPECT_EQ(text.epochs_done(), 1);
}

}  // namespace
}  // namespace unfold
