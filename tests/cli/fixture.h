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

  /// train on `text_` into `run_`, with a tiny model and quickly; more options may follow.
  Arguments training(const Arguments& more = {}) const;
  /// Trains and expects success.
  void train(const Arguments& more = {}) const;

  TemporaryFolder folder_;
  std::string text_, run_;  ///< names of the data file and of the run folder
};

/// Runs it and expects this code and, on standard error, this text, an `unfold: ` before it and nothing on standard
/// output.
void expect_failure(const Arguments& arguments, int code, const std::string& message,
                    const Surroundings& surroundings = {});

/// The only JSON object of the output; anything else fails the test.
nlohmann::json only_object(const std::string& out);

/// Some text of about `bytes` bytes, the same every time.
std::string small_text(std::size_t bytes);

/// Events and steps of a log, without times and speeds.
std::vector<std::string> log_events(const std::string& path);

}  // namespace unfold::test
