// What a day of use asked for.
#include "cli/fixture.h"

namespace unfold::test {
namespace {

TEST_F(CommandTest, a_part_is_one_of_the_split_that_the_run_recorded) {
  train({"--split", "80/10/10"});
  const nlohmann::json said = only_object(unfold_command({"eval", run_, text_, "--part", "test", "--json"}).out);
  EXPECT_EQ(said,
            only_object(unfold_command({"eval", run_, text_, "--split", "80/10/10", "--part", "test", "--json"}).out));
  train({"--valid", text_, "--overwrite"});
  expect_failure({"eval", run_, text_, "--part", "test"}, 2, "--part needs --split");
}

TEST_F(CommandTest, quiet_training_says_nothing_about_what_comes_next) {
  EXPECT_THAT(unfold_command(training({"--quiet"})).out, Not(HasSubstr("Next:")));
  EXPECT_THAT(unfold_command(training({"--overwrite"})).out, HasSubstr("Next:"));
}

TEST_F(CommandTest, what_is_continued_may_come_from_a_file) {
  train();
  const std::string prime = folder_ / "prime";
  write_bytes(prime, "the cat");
  for (const char* verb : {"sample", "complete"}) {
    EXPECT_EQ(unfold_command({verb, run_, "--length", "9", "--prime-file", prime}).out,
              unfold_command({verb, run_, "--length", "9", "--prime", "the cat"}).out);
    expect_failure({verb, run_, "--prime", "a", "--prime-file", prime}, 2, "exclude each other");
    expect_failure({verb, run_, "--prime", "\u00e9"}, 3, "is not in the alphabet");
    EXPECT_THAT(unfold_command({verb, run_, "--prime", "\u00e9"}).err, Not(HasSubstr("--unknown")));
  }
}

TEST_F(CommandTest, blocks_have_sizes_with_units_and_plain_files_are_no_archives) {
  const std::string packed = folder_ / "packed", plain = folder_ / "plain";
  ASSERT_EQ(unfold_command({"compress", text_, "-o", packed, "--block", "1M", "--model", "cm:10"}).code, 0);
  ASSERT_EQ(unfold_command({"decompress", packed, "-o", plain}).code, 0);
  EXPECT_EQ(read_bytes(plain), read_bytes(text_));
  expect_failure({"compress", text_, "-o", packed, "--block", "1X"}, 2, "--block");
  expect_failure({"decompress", text_, "-o", plain}, 6, "not a file made by unfold compress");
  EXPECT_THAT(unfold_command({"compress", text_, "-o", packed, "--model", "ngram:5"}).err,
              HasSubstr("are the model ngram:5 itself"));
}

TEST_F(CommandTest, runs_without_validation_are_drawn_by_their_training_loss) {
  const std::string picture = folder_ / "runs.svg";
  train({"--split", "100/0/0", "--log-every", "5"});
  ASSERT_EQ(unfold_command({"info", run_, "--plot", picture}).code, 0);
  EXPECT_THAT(read_bytes(picture), HasSubstr("Training"));
  train({"--overwrite"});
  ASSERT_EQ(unfold_command({"info", run_, "--plot", picture, "--over", "steps"}).code, 0);
  EXPECT_THAT(read_bytes(picture), HasSubstr("Validation"));
  EXPECT_THAT(read_bytes(picture), HasSubstr(">step<"));
}

}  // namespace
}  // namespace unfold::test
