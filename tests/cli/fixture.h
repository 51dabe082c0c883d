#pragma once
/// A folder, a small text and a small model for tests of the command.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/process.h"

namespace unfold::test {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Arguments = std::vector<std::string>;
Arguments operator+(Arguments a, const Arguments& b);

class CommandTest : public ::testing::Test {
 protected:
  CommandTest();

  /// Returns the arguments that train a tiny model quickly on `text_` into `run_`; more options may follow.
  Arguments training(const Arguments& more = {}) const;
  /// Trains and expects exit code 0.
  void train(const Arguments& more = {}) const;

  TemporaryFolder folder_;
  std::string text_, run_;  ///< names of the data file and of the run folder
};

/// Runs the command and expects this exit code, `unfold: ` followed by this text on standard error, and no standard
/// output.
void expect_failure(const Arguments& arguments, int code, const std::string& message,
                    const Surroundings& surroundings = {});

/// Returns the only JSON object of the output; anything else fails the test.
nlohmann::json only_object(const std::string& out);

/// Returns a deterministic text of about `bytes` bytes.
std::string small_text(std::size_t bytes);

/// Returns the events and steps of a log, without times and speeds.
std::vector<std::string> log_events(const std::string& path);

}  // namespace unfold::test
