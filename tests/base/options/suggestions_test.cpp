#include "base/options/suggestions.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace unfold {
namespace {

/// The recursive definition of the distance, without a table.
Index slow_distance(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return static_cast<Index>(a.size() + b.size());
  const std::string a1 = a.substr(1), b1 = b.substr(1);
  Index best =
      std::min({slow_distance(a1, b) + 1, slow_distance(a, b1) + 1, slow_distance(a1, b1) + (a[0] == b[0] ? 0 : 1)});
  if (a.size() > 1 && b.size() > 1 && a[0] == b[1] && a[1] == b[0]) {
    best = std::min(best, slow_distance(a.substr(2), b.substr(2)) + 1);
  }
  return best;
}

RC_GTEST_PROP(TextDistance, text_distance_equals_the_recursive_definition, ()) {
  const auto letters = [] {
    std::string text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("abc")));
    return text.substr(0, 6);
  };
  const std::string a = letters(), b = letters();
  RC_ASSERT(text_distance(a, b) == slow_distance(a, b));
}

TEST(TextDistance, suggestions_contain_only_likely_matches) {
  const std::vector<std::string> names{"rate", "momentum", "clip", "nesterov", "learning-rate"};
  EXPECT_EQ(nearest("rtae", names), "rate");
  EXPECT_EQ(nearest("momentun", names), "momentum");
  EXPECT_EQ(nearest("learn", names), "learning-rate");
  EXPECT_EQ(nearest("RATE", names), "rate");
  EXPECT_EQ(nearest("xyz", names), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest("q", std::vector<std::string>{"a", "b"}), "");
  EXPECT_EQ(did_you_mean("clop", names), "; did you mean \"clip\"?");
  EXPECT_EQ(did_you_mean("unrelated", names), "");
}

}  // namespace
}  // namespace unfold
