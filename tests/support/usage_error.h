#pragma once
/// Helpers for tests of invalid calls: EXPECT_USAGE_ERROR(state.reset(7), "out of range").

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "unfold/base/error.h"

namespace unfold::testing_support {

/// Returns the message of the UsageError that a call throws; empty if there is none.
inline std::string usage_error(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

}  // namespace unfold::testing_support

/// Expects an expression to throw a UsageError whose message contains a text.
#define EXPECT_USAGE_ERROR(expression, text)                                                                          \
  do {                                                                                                                \
    const std::string usage_message = ::unfold::testing_support::usage_error([&] { static_cast<void>(expression); }); \
    EXPECT_NE(usage_message.find(text), std::string::npos) << #expression << ": \"" << usage_message << "\"";         \
  } while (false)
