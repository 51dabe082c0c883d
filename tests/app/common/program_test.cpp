#include "app/common/program.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/base/scratch.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using testing_support::message_of;

std::string output(const std::vector<std::string>& words) {
  Reporter reporter;
  return run_program(words, reporter);
}

TEST(RunProgram, returns_standard_output_without_a_shell) {
  EXPECT_EQ(output({"printf", "%s|", "a b", "$HOME", "*"}), "a b|$HOME|*|");
  EXPECT_EQ(output({"sh", "-c", "cat; head -c 20000 /dev/zero"}), std::string(20000, '\0'));
}

TEST(RunProgram, looks_in_the_folder_of_the_running_program_first) {
  EXPECT_EQ(output({"sh", "-c", "echo \"$PATH\""}).find(program_folder().string() + ":"), 0u);
  EXPECT_FALSE(program_folder().empty());
}

TEST(RunProgram, failures_state_the_reason) {
  EXPECT_EQ(message_of<RuntimeFailure>([] {
              output({"sh", "-c", "echo first >&2; echo the reason >&2; exit 3"});
            }),
            "sh -c echo first >&2; echo the reason >&2; exit 3 failed (exit code 3): the reason");
  EXPECT_NE(message_of<RuntimeFailure>([] {
              output({"sh", "-c", "kill -9 $$"});
            }).find("terminated by signal 9"),
            std::string::npos);
  EXPECT_EQ(message_of<RuntimeFailure>([] {
              output({"no-such-program"});
            }).find("cannot run \"no-such-program\": it is neither in "),
            0u);
  EXPECT_NE(message_of<RuntimeFailure>([] { output({"/no/such/program"}); }).find("No such file"), std::string::npos);
}

class Stopped final : public Reporter {
 public:
  const std::atomic<bool>* stop() override { return &stop_; }
  std::atomic<bool> stop_ = false;
};

TEST(RunProgram, ends_the_program_when_interrupted) {
  Stopped reporter;
  const std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    reporter.stop_ = true;
  });
  const std::vector<std::string> words = {"sleep", "600"};
  EXPECT_THROW(run_program(words, reporter), InterruptedError);
}

}  // namespace
}  // namespace unfold
