/// Command-line tests of explain, compare and report.

#include <filesystem>

#include "tests/cli/fixture.h"
#include "unfold/base/formats/file.h"

namespace unfold::test {
namespace {

class InspectionTest : public CommandTest {};

TEST_F(InspectionTest, explain_prints_two_tables_and_one_object) {
  train();
  const Finished plain = unfold_command({"explain", run_, "abc abc", "--unknown", "skip", "--at", "4"});
  ASSERT_EQ(plain.code, 0) << plain.err;
  EXPECT_THAT(plain.out, StartsWith("position\tsymbol\tbits\tguess.1\tprobability.1"));
  EXPECT_THAT(plain.out, HasSubstr("\n\n# influence on the state before position 4: gradient"));
  EXPECT_THAT(plain.out, Not(HasSubstr("\x1b")));
  const auto json =
      only_object(unfold_command({"explain", run_, "abc abc", "--unknown", "skip", "--at", "4", "--json"}).out);
  EXPECT_EQ(json.at("lags").size(), 3u);
  EXPECT_EQ(json.at("symbols").at(0).at("guesses").size(), 5u);
}

TEST_F(InspectionTest, explain_rejects_grids_with_blocks) {
  const std::string file = folder_ / "grids.txt", run = folder_ / "grids";
  std::string grids;
  for (int g = 0; g < 12; ++g) grids += g % 2 == 0 ? "ab\t__\nba\t_x\n\n" : "bb\t__\naa\t_y\n\n";
  write_bytes(file, grids);
  const Arguments options{"--format", "grids", "--predict", "label@end", "--steps", "1", "--quiet", "--out", run};
  for (const char* model : {"grid-rnn:2", "grid-rnn:2,patch=2"}) {
    ASSERT_EQ(unfold_command(Arguments{"train", file, "--model", model, "--overwrite"} + options).code, 0);
    const Finished explained = unfold_command({"explain", run, file});
    EXPECT_EQ(explained.code, std::string(model) == "grid-rnn:2" ? 0 : 2) << explained.err;
  }
  expect_failure({"explain", run, file}, 2, "train a model without patch=");
}

TEST_F(InspectionTest, explain_rejects_unsupported_models) {
  train();
  expect_failure({"explain", run_}, 2, "MODEL TEXT");
  expect_failure({"explain", run_, "a b", "--at", "99", "--unknown", "skip"}, 2, "--at 99");
  expect_failure({"explain", run_, "a", "--example", "2"}, 2, "--example");
}

TEST_F(InspectionTest, compare_finds_no_difference_between_identical_models) {
  train({"--split", "50/25/25"});
  const Finished found = unfold_command({"compare", run_, run_, "--block", "8"});
  ASSERT_EQ(found.code, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("no difference"));
  const auto json = only_object(unfold_command({"compare", run_, run_, "--block", "8", "--json"}).out);
  EXPECT_EQ(json.at("pairs").at(0).at("differs"), false);
  expect_failure({"compare", run_}, 2, "MODEL MODEL");
}

TEST_F(InspectionTest, named_data_must_exist) {
  train();
  const std::string page = folder_ / "page.html", missing = folder_ / "missing.txt", empty = folder_ / "empty.txt";
  write_bytes(empty, "");
  for (const std::string& file : {missing, empty}) {
    expect_failure({"report", run_, "--data", file, "-o", page}, 3, file);
    expect_failure({"compare", run_, run_, "--data", file}, 3, file);
  }
  EXPECT_FALSE(std::filesystem::exists(page));
  // UNFOLD_DATA does not act as --data.
  const Finished elsewhere =
      unfold_command({"report", run_, "-o", page}, {.environment = {{"UNFOLD_DATA", folder_.path()}}});
  EXPECT_EQ(elsewhere.code, 0) << elsewhere.err;
}

TEST_F(InspectionTest, report_writes_one_page) {
  train();
  const std::string page = folder_ / "page.html";
  const auto json = only_object(unfold_command({"report", run_, "-o", page, "--json"}).out);
  EXPECT_EQ(json.at("page"), page);
  EXPECT_THAT(read_file(page), StartsWith("<!doctype html>"));
  expect_failure({"report", run_}, 2, "-o FILE");
}

}  // namespace
}  // namespace unfold::test
