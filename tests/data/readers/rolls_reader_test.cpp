#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;

/// Returns the notes that sound in a step.
std::vector<int> sounding(const ExampleColumn& notes, Index step) {
  std::vector<int> result;
  for (Index i = 0; i < notes.width; ++i) {
    if (notes.numbers[at(step * notes.width + i)] == 1) result.push_back(static_cast<int>(21 + i));
  }
  return result;
}

TEST(RollsReader, line_is_a_piece_and_step_is_its_notes) {
  const Examples examples = read_as("rolls", "60,64,67 - 21\r\n108\n");
  const ExampleColumn& notes = column_of(examples, "notes");
  EXPECT_EQ(notes.width, 88);
  EXPECT_EQ(examples.ends, (Indices{3, 4}));
  EXPECT_EQ(examples.lines, (Indices{1, 1, 1, 2}));
  EXPECT_EQ(sounding(notes, 0), (std::vector<int>{60, 64, 67}));
  EXPECT_EQ(sounding(notes, 1), std::vector<int>{});
  EXPECT_EQ(sounding(notes, 2), std::vector<int>{21});
  EXPECT_EQ(sounding(notes, 3), std::vector<int>{108});
}

TEST(RollsReader, invalid_step_and_empty_line_are_rejected) {
  for (const char* step : {"20", "109", "64,60", "64,64", "64,", ",64", "c4", "6-", "99999999999"}) {
    const std::string message = refusal("rolls", "60\n60 " + std::string(step) + "\n");
    EXPECT_TRUE(contains(message, "data: line 2: \"" + std::string(step) + "\" is not a step")) << message;
  }
  EXPECT_TRUE(contains(refusal("rolls", "60\n\n61\n"), "data: line 2: an empty line"));
}

TEST(RollsReader, collections_have_the_documented_lengths) {
  UNFOLD_REAL_DATA(path, "music/JSB_Chorales.test.txt");
  const Examples examples = read_examples(Input::open(path), {.format = "rolls"});
  EXPECT_EQ(examples.count(), 77);
  EXPECT_EQ(examples.positions(), 4725);
}

RC_GTEST_PROP(RollsReader, written_rolls_round_trip, ()) {
  const auto chord = rc::gen::container<std::set<int>>(rc::gen::inRange(21, 109));
  const auto steps = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::set<int>>>(chord));
  std::string file;
  for (const std::set<int>& step : steps) {
    std::string token;
    for (const int note : step) token += (token.empty() ? "" : ",") + std::to_string(note);
    file += (file.empty() ? "" : " ") + (token.empty() ? "-" : token);
  }
  const Examples examples = read_as("rolls", file + "\n");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    RC_ASSERT(sounding(examples.columns[0], static_cast<Index>(i)) ==
              std::vector<int>(steps[i].begin(), steps[i].end()));
  }
}

}  // namespace
}  // namespace unfold
