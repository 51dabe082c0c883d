#include "app/fields/label_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace unfold {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::vector<std::string> notes_on(const std::vector<std::string>& labels, bool once = true) {
  ExampleColumn label{.name = "kind", .once = once, .texts = labels};
  Examples examples{.source = "made"};
  for (Index e = 0; e < static_cast<Index>(labels.size()); ++e) examples.ends.push_back(e + 1);
  examples.columns = {label};
  return label_notes(examples, {"kind"});
}

TEST(LabelNotes, SpellingsOfOneClassAreListedWithTheirCounts) {
  const auto notes =
      notes_on({"Billing", "billing ", "Billing", "BILLING", "billing ", "Billing", "BILLING", "refund", "refund",
                "Wait  ing", "Wait  ing", "wait ing", "wait ing", "Über", "über", "Über", "über", "über"});
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_THAT(notes[0], HasSubstr("column \"kind\": 3 classes are spelled in several ways"));
  EXPECT_THAT(notes[0], HasSubstr("\"Billing\" (3), \"BILLING\" (2), \"billing \" (2); \"Wait  ing\" (2), \"wait ing\" "
                                  "(2); \"über\" (3), \"Über\" (2)"));
}

TEST(LabelNotes, ClassesWithOneExampleAreListed) {
  const auto notes = notes_on({"a", "b", "a", "c", "a", "d", "d"});
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_THAT(notes[0], HasSubstr("2 of 4 classes have only one example: \"b\"; \"c\""));
}

TEST(LabelNotes, CleanLabelsWordsAndManyLabelsHaveNoNotes) {
  EXPECT_THAT(notes_on({"a", "b", "a", "b"}), SizeIs(0));
  EXPECT_THAT(notes_on({"The", "the", "cat"}, /*once=*/false), SizeIs(0));
  std::vector<std::string> many;
  for (int i = 0; i < 2000; ++i) many.push_back(std::to_string(i));
  EXPECT_THAT(notes_on(many), SizeIs(0));
}

}  // namespace
}  // namespace unfold
