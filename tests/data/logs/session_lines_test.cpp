// Files with a session in each line.
#include "data/logs/session_lines.h"

#include <gtest/gtest.h>

#include <string>

namespace unfold {
namespace {

/// `id` is followed by a number that is different in each line; empty: no identifier.
std::string sessions_of(const std::string& id, bool different_lengths) {
  std::string text;
  for (int i = 0; i < 200; ++i) {
    if (!id.empty()) text += id + std::to_string(i) + ",";
    text += different_lengths && i % 3 == 0 ? "5 9 9 7 4\n" : "5 9 7 4\n";
  }
  return text;
}

TEST(SessionLines, identifiers_and_event_numbers_are_sessions) {
  EXPECT_EQ(session_evidence(sessions_of("blk_-", true)), SessionEvidence::clear);
  EXPECT_EQ(session_evidence(sessions_of("r", true)), SessionEvidence::clear);
  EXPECT_EQ(session_evidence(sessions_of("9041047513394", true)), SessionEvidence::clear);
}

TEST(SessionLines, numbers_without_identifiers_may_be_other_data) {
  EXPECT_EQ(session_evidence(sessions_of("", true)), SessionEvidence::ambiguous);
  EXPECT_EQ(session_evidence(sessions_of("1", true)), SessionEvidence::ambiguous) << "numbers of lines";
}

TEST(SessionLines, matrices_and_texts_are_not_sessions) {
  EXPECT_EQ(session_evidence(sessions_of("blk_", false)), SessionEvidence::none);
  EXPECT_EQ(session_evidence("two words\nthree more words\n"), SessionEvidence::none);
  EXPECT_EQ(session_evidence(""), SessionEvidence::none);
}

}  // namespace
}  // namespace unfold
