// Logs that are scored in several runs with --state: every line is scored exactly once, regardless of what happens
// between and during the runs.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "tests/cli/fixture.h"

namespace unfold::test {
namespace {

/// A log that a service writes and logrotate rotates. `all` contains everything that was written.
class GrowingLog {
 public:
  explicit GrowingLog(std::string path) : path_(std::move(path)) {}

  void append(const std::string& bytes) {
    all_ += bytes;
    std::ofstream(path_, std::ios::app | std::ios::binary) << bytes;
  }
  /// The service writes `lines` lines; with `half`, it is interrupted within the next one.
  void append_lines(int lines, bool half) {
    std::string bytes = std::exchange(rest_, {});
    for (int i = 0; i < lines; ++i) bytes += line();
    if (half) {
      const std::string next = line();
      bytes += next.substr(0, next.size() / 2);
      rest_ = next.substr(next.size() / 2);
    }
    append(bytes);
  }
  /// The service finishes its line, and opens a new file.
  void rename() {
    append(std::exchange(rest_, {}));
    shift();
    std::filesystem::rename(path_, path_ + ".1");
    write_bytes(path_, "");
  }
  /// logrotate's copytruncate.
  void copy_and_truncate() {
    shift();
    std::filesystem::copy_file(path_, path_ + ".1");
    std::filesystem::resize_file(path_, 0);
  }
  const std::string& all() const { return all_; }

 private:
  std::string line() {
    const int i = lines_++;
    if (i % 7 == 3) return "kernel: nothing new\n";
    return "sshd[" + std::to_string(100 + i % 50) + "]: user u" + std::to_string(i) + " from 10.0.0." +
           std::to_string(i % 9) + (i % 31 == 0 ? " failed\n" : " accepted\n");
  }
  void shift() {
    if (!std::filesystem::exists(path_)) write_bytes(path_, "");
    for (int k = 20; k >= 1; --k) {
      const std::string from = path_ + "." + std::to_string(k), to = path_ + "." + std::to_string(k + 1);
      if (std::filesystem::exists(from)) std::filesystem::rename(from, to);
    }
  }
  std::string path_, all_, rest_;
  int lines_ = 0;
};

class LogStateTest : public CommandTest {
 protected:
  LogStateTest() : log_(folder_ / "app.log"), out_(folder_ / "rows.tsv"), state_(folder_ / "state") {
    GrowingLog normal(folder_ / "normal.log");
    normal.append_lines(300, false);
    EXPECT_EQ(unfold_command({"train", folder_ / "normal.log", "--format", "log", "--out", run_, "--quiet"}).code, 0);
  }
  Arguments scoring() const { return {"score", run_, log_, "--state", state_, "--text"}; }
  /// Appends the rows to `out_`, as a service does.
  Surroundings appending() const { return {.before = {"/bin/sh", "-c", "exec \"$0\" \"$@\" >>" + out_}}; }
  Finished score() const {
    const Finished finished = unfold_command(scoring(), appending());
    EXPECT_EQ(finished.code, 0) << finished.err;
    return finished;
  }
  /// The rows of a single run over the whole log.
  std::string uninterrupted(const std::string& all) const {
    const std::string whole = folder_ / "whole.txt";
    write_bytes(whole, all);
    return unfold_command({"score", run_, whole, "--text"}).out;
  }

  std::string log_, out_, state_;
};

TEST_F(LogStateTest, any_rotation_and_kill_scores_every_line_once) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      if (entry.is_regular_file() && entry.path() != text_) std::filesystem::remove(entry.path());
    std::mt19937 random(seed);
    const auto draw = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    GrowingLog log(log_);
    log.append_lines(seed % 2 == 0 ? 40 : 0, false);
    score();  // files that were rotated before the first run are not read
    for (int step = 0; step < 24; ++step) {
      switch (draw(6)) {
        case 0:
        case 1: log.append_lines(draw(400), draw(2) == 0); break;
        case 2: log.rename(); break;
        case 3: log.copy_and_truncate(); break;
        case 4: score(); break;
        default: {
          Process process(scoring(), appending());
          std::this_thread::sleep_for(std::chrono::milliseconds(draw(40)));
          process.signal(draw(2) == 0 ? SIGKILL : SIGTERM);
          process.finish();
        }
      }
    }
    log.rename();
    log.append_lines(30, false);
    score();
    const std::string rows = read_bytes(out_), expected = uninterrupted(log.all());
    const auto differ = std::ranges::mismatch(rows, expected).in1 - rows.begin();
    ASSERT_TRUE(rows == expected) << rows.substr(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, differ - 100)),
                                                 200);
  }
}

/// The state is older than the rows, as after a crash between writing the rows and the state.
TEST_F(LogStateTest, rows_that_were_not_recorded_are_not_repeated) {
  GrowingLog log(log_);
  log.append_lines(50, false);
  score();
  const std::string state = read_bytes(state_), journal = read_bytes(state_ + ".journal");
  log.append_lines(70, false);
  score();
  const std::string rows = read_bytes(out_);
  for (const std::size_t lost : {std::size_t{0}, std::size_t{10}, std::size_t{2000}}) {
    write_bytes(state_, state);
    write_bytes(state_ + ".journal", journal);
    std::filesystem::resize_file(out_, rows.size() - lost);
    score();
    EXPECT_EQ(read_bytes(out_), rows) << lost;
  }
  EXPECT_EQ(rows, uninterrupted(log.all()));
}

TEST_F(LogStateTest, same_first_line_does_not_hide_a_rotation) {
  write_bytes(log_, "kernel: nothing new\nsshd[1]: user a from 10.0.0.1 accepted\n");
  score();
  std::filesystem::rename(log_, log_ + ".1");
  write_bytes(log_,
              "kernel: nothing new\nsshd[2]: user b from 10.0.0.1 accepted\nsshd[3]: user c from 10.0.0.1 failed\n");
  const Finished rotated = score();
  EXPECT_THAT(rotated.err, HasSubstr(log_ + " was rotated; reading continues in " + log_ + ".1"));
  EXPECT_THAT(rotated.err, HasSubstr("line 3 is line 1 of " + log_));
  const std::string rows = read_bytes(out_);
  EXPECT_EQ(std::ranges::count(rows, '\n'), 6) << rows;
  EXPECT_THAT(rows, HasSubstr("user b"));
  std::filesystem::remove(log_ + ".1");
  write_bytes(log_, "kernel: nothing new\n");
  EXPECT_THAT(score().err, HasSubstr("was replaced or truncated after"));
  EXPECT_EQ(std::ranges::count(read_bytes(out_), '\n'), 7);
}

TEST_F(LogStateTest, incomplete_line_is_left_for_the_next_run) {
  write_bytes(log_, "kernel: nothing new\nsshd[1]: user");
  EXPECT_THAT(score().err, HasSubstr(log_ + ": the last 13 bytes have no line ending; they are left for the next run"));
  EXPECT_THAT(read_bytes(out_), Not(HasSubstr("sshd")));
  std::ofstream(log_, std::ios::app) << " a from 10.0.0.1 accepted\n";
  EXPECT_THAT(score().err, Not(HasSubstr("no line ending")));
  EXPECT_THAT(read_bytes(out_), HasSubstr("\tsshd[1]: user a from 10.0.0.1 accepted\n"));
  // Without a state, or from a pipe, no later run continues this one.
  write_bytes(folder_ / "half.log", "kernel: nothing new\nsshd[1]: user");
  EXPECT_THAT(unfold_command({"score", run_, folder_ / "half.log", "--text"}).out, HasSubstr("\tsshd[1]: user\n"));
  EXPECT_THAT(
      unfold_command({"score", run_, "-", "--text", "--state", folder_ / "pipe"}, {.input = "sshd[1]: user"}).out,
      HasSubstr("\tsshd[1]: user\n"));
}

TEST_F(LogStateTest, compressed_copies_and_empty_logs_are_read) {
  GrowingLog log(log_);
  log.append_lines(20, false);
  score();
  log.append_lines(20, true);
  log.copy_and_truncate();
  ASSERT_EQ(std::system(("gzip " + log_ + ".1").c_str()), 0);
  score();
  score();  // nothing new
  log.append_lines(5, false);
  score();
  EXPECT_EQ(read_bytes(out_), uninterrupted(log.all()));
}

}  // namespace
}  // namespace unfold::test
