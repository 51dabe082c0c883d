// Signals, pipes, temporary files and locks: effects of external events on a command.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>

#include "tests/cli/fixture.h"

namespace unfold::test {
namespace {

namespace fs = std::filesystem;

bool wait_for(const std::function<bool()>& condition, double seconds = 60) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

class HardeningTest : public CommandTest {
 protected:
  std::string pipe(const std::string& name) const {
    const std::string path = folder_ / name;
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    return path;
  }
  std::vector<std::string> temporaries() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      if (entry.path().filename().string().find(".unfold-tmp-") != std::string::npos)
        names.push_back(entry.path().filename().string());
    return names;
  }
  /// Sends a signal once the command is waiting, and expects it to exit quickly with code 130.
  void expect_quick_end(Process& process, int signal) const {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    ASSERT_TRUE(process.running()) << process.finish().err;
    process.signal(signal);
    const auto start = std::chrono::steady_clock::now();
    const Finished finished = process.finish(20);
    EXPECT_EQ(finished.code, 130) << finished.err;
    EXPECT_THAT(finished.err, HasSubstr("interrupted"));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
    EXPECT_THAT(temporaries(), ::testing::IsEmpty());
  }
};

TEST_F(HardeningTest, a_signal_ends_a_command_that_waits_for_a_pipe) {
  train();
  const std::string fifo = pipe("pipe");
  for (const int signal : {SIGTERM, SIGINT}) {
    for (const Arguments& arguments :
         {Arguments{"compress", "-", "-o", folder_ / "out"}, Arguments{"decompress", "-", "-o", folder_ / "out"},
          Arguments{"eval", run_, "-"}, Arguments{"train", "-", "--out", folder_ / "other"}}) {
      Process process(arguments, {.input_path = fifo});
      expect_quick_end(process, signal);
    }
    Process opening({"compress", fifo, "-o", folder_ / "out"});  // the other end is never opened
    expect_quick_end(opening, signal);
  }
}

TEST_F(HardeningTest, a_signal_ends_a_command_that_waits_for_its_reader) {
  train();
  const std::string fifo = pipe("pipe");
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  Process process({"sample", run_, "--length", "1000000000"}, {.output = fifo});
  expect_quick_end(process, SIGTERM);
  ::close(reader);
}

TEST_F(HardeningTest, signal_interrupts_block_coding_immediately) {
  write_bytes(text_, small_text(1'000'000));
  Process process({"compress", text_, "--model", "lstm:64", "-o", folder_ / "out"});
  expect_quick_end(process, SIGTERM);
}

TEST_F(HardeningTest, EndsFitsOfLargeVocabulariesSoonAfterASignal) {
  std::string words;
  for (int i = 0; i < 400'000; ++i)
    words += "w" + std::to_string(i % 50'000 * 7919 % 50'000) + (i % 9 == 8 ? "\n" : " ");
  write_bytes(text_, words);
  for (const char* model : {"hmm:60", "ppm:4"}) {
    Process process({"train", text_, "--symbols", "words", "--model", model, "--out", folder_ / "fit", "--overwrite"});
    expect_quick_end(process, SIGTERM);
  }
}

TEST_F(HardeningTest, signal_interrupts_a_long_step_that_is_repeated_on_resume) {
  write_bytes(text_, small_text(100'000));
  const Arguments long_steps = {"--optimizer", "hf:windows=64,iterations=200,tolerance=0",
                                "--model",     "rnn:48",
                                "--batch",     "16",
                                "--window",    "32",
                                "--steps",     "2"};
  train(long_steps);
  const std::string whole = read_bytes(run_ + "/model.safetensors");
  for (const int signal : {SIGTERM, SIGINT}) {
    Process process(training(long_steps + Arguments{"--overwrite"}));
    ASSERT_TRUE(wait_for([&] { return fs::exists(run_ + "/config.toml"); }));
    expect_quick_end(process, signal);
    ASSERT_TRUE(fs::exists(run_ + "/checkpoint.safetensors"));
    train(long_steps + Arguments{"--resume"});
    EXPECT_EQ(read_bytes(run_ + "/model.safetensors"), whole);
  }
}

TEST_F(HardeningTest, failed_thread_creation_is_explained) {
  if (UNFOLD_SANITIZED) GTEST_SKIP() << "a sanitizer reserves more addresses than such a system has";
  for (const Arguments& arguments : {training({"--threads", "3"}), Arguments{"compress", text_, "-o", folder_ / "out",
                                                                             "--threads", "3", "--block", "1000"}})
    expect_failure(arguments, 1, "use fewer with --threads", {.no_threads = true});
}

TEST_F(HardeningTest, next_run_removes_files_of_a_killed_process) {
  const std::string fifo = pipe("pipe"), out = folder_ / "out";
  for (int i = 0; i < 2; ++i) {
    Process process({"compress", "-", "-o", out}, {.input_path = fifo});
    ASSERT_TRUE(wait_for([&] { return temporaries().size() == 1; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_EQ(temporaries().size(), 1u);
    process.signal(SIGKILL);
    process.finish();
  }
  EXPECT_EQ(temporaries().size(), 1u);
  ASSERT_EQ(unfold_command({"compress", text_, "--fast", "-o", out}).code, 0);
  EXPECT_THAT(temporaries(), ::testing::IsEmpty());
}

TEST_F(HardeningTest, dangling_output_link_is_followed) {
  fs::create_symlink("elsewhere", folder_ / "link");
  ASSERT_EQ(unfold_command({"compress", text_, "--fast", "-o", folder_ / "link"}).code, 0);
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_NE(read_bytes(folder_ / "elsewhere"), "");
}

TEST_F(HardeningTest, sample_ends_quietly_if_its_reader_is_gone) {
  train();
  const std::string fifo = pipe("pipe");
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  Process process({"sample", run_, "--length", "1000000000000"}, {.output = fifo});
  char buffer[100];
  ASSERT_TRUE(wait_for([&] { return ::read(reader, buffer, sizeof buffer) == sizeof buffer; }));
  ::close(reader);
  const Finished finished = process.finish(30);
  EXPECT_EQ(finished.code, 141);
  EXPECT_EQ(finished.err, "");
  if (!UNFOLD_SANITIZED) {
    EXPECT_LT(finished.peak_kilobytes, 100'000);
  }
}

TEST_F(HardeningTest, a_closed_pipe_ends_every_command_quietly) {
  train();
  const std::string fifo = pipe("pipe");
  for (const Arguments& arguments :
       {Arguments{"score", run_, text_}, Arguments{"eval", run_, text_}, Arguments{"info", run_},
        Arguments{"complete", run_}, Arguments{"compress", text_, "--fast", "--quiet"},
        Arguments{"generate", "alphabet", "-o", "-"}, Arguments{"--help"}}) {
    const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const int writer = ::open(fifo.c_str(), O_WRONLY | O_CLOEXEC);
    Process process(arguments, {.output = fifo});
    ::close(writer);
    ::close(reader);
    const Finished finished = process.finish(60);
    EXPECT_EQ(finished.code, 141) << arguments.front() << finished.err;
    EXPECT_EQ(finished.err, "") << arguments.front();
  }
}

TEST_F(HardeningTest, a_run_folder_in_use_is_not_touched_by_another_run) {
  // never validates, so that no model is saved, however long the concurrent commands take
  Process first(training({"--steps", "100000000", "--checkpoint-every", "10", "--validate-every", "100000000"}));
  ASSERT_TRUE(wait_for([&] { return fs::exists(run_ + "/checkpoint.safetensors"); }));
  const std::string owner = read_bytes(run_ + "/lock");
  ASSERT_THAT(owner, StartsWith("process "));
  for (const char* how : {"--resume", "--overwrite"}) {
    expect_failure(training({"--steps", "30", how}), 1, "is in use by " + owner.substr(0, owner.size() - 1));
    EXPECT_TRUE(first.running());
  }
  EXPECT_EQ(unfold_command({"info", run_}).code, 4);  // reading is allowed; there is no model yet
  first.signal(SIGKILL);
  first.finish();
  EXPECT_TRUE(fs::exists(run_ + "/lock"));
  ASSERT_EQ(unfold_command(training({"--steps", "30", "--overwrite"})).code, 0);
  EXPECT_FALSE(fs::exists(run_ + "/lock"));
}

TEST_F(HardeningTest, data_file_truncated_while_reading_is_named) {
  train({"--symbols", "bytes"});
  const std::string large = folder_ / "large";
  const auto make_large = [&] {
    write_bytes(large, "");
    fs::resize_file(large, 60'000'000);
  };
  const auto expect_named = [&](Process& process) {
    const Finished finished = process.finish(120);
    EXPECT_EQ(finished.code, 1) << finished.err;
    EXPECT_THAT(finished.err, HasSubstr(large + " was truncated while it was read"));
  };
  for (const std::uintmax_t left : {0, 59'999'999}) {
    make_large();
    Process training({"train", large, "--out", folder_ / "long", "--symbols", "bytes", "--model", "rnn:4", "--steps",
                      "100000000", "--overwrite"});
    ASSERT_TRUE(wait_for([&] { return fs::exists(folder_ / "long/config.toml"); }));
    fs::resize_file(large, left);
    expect_named(training);
    fs::remove_all(folder_ / "long");
  }
  make_large();
  Process evaluation({"eval", run_, large});
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  fs::resize_file(large, 100);
  expect_named(evaluation);
}

}  // namespace
}  // namespace unfold::test
