#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/fixture.h"

namespace unfold::test {
namespace {

TEST_F(CommandTest, missing_directory_and_empty_data_are_named) {
  const std::string absent = folder_ / "absent.txt", empty = folder_ / "empty.txt";
  write_bytes(empty, "");
  train();
  for (const Arguments& verb :
       {Arguments{"train", "--out", folder_ / "new"}, Arguments{"eval", run_}, Arguments{"score", run_}}) {
    expect_failure(verb + Arguments{absent}, 3, absent);
    expect_failure(verb + Arguments{folder_.path()}, 3, folder_.path());
    expect_failure(verb + Arguments{empty}, 3, empty);
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new/config.toml"));
}

TEST_F(CommandTest, invalid_utf8_is_reported_with_its_offset_and_a_remedy) {
  write_bytes(text_, "abc\ndef\xFF" + small_text(200));
  expect_failure(training(), 3, "offset 7");
  expect_failure(training(), 3, "--symbols bytes");
  train({"--symbols", "bytes"});
}

TEST_F(CommandTest, empty_or_invalid_split_is_rejected) {
  write_bytes(text_, "abc");
  expect_failure(training({"--split", "90/5/5"}), 3, "validation");
  write_bytes(text_, small_text(500));
  expect_failure(training({"--split", "90/20"}), 2, "100");
  expect_failure(training({"--split", "90/10", "--valid", text_}), 2, "cannot be combined");
  train();
  expect_failure({"eval", run_, text_, "--split", "90/10", "--part", "test"}, 3, "--part test is empty in the split");
}

TEST_F(CommandTest, full_disk_is_a_runtime_failure_that_names_the_file) {
  for (const long limit : {100, 1500, 4000}) {
    // Standard error goes to a file as well, whose size is also limited.
    const Finished finished = unfold_command(training({"--quiet"}), {.file_size_limit = limit});
    EXPECT_EQ(finished.code, 1) << finished.err;
    EXPECT_THAT(finished.err, HasSubstr(run_));
    std::filesystem::remove_all(run_);
  }
  train();
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  for (const Arguments& arguments : {Arguments{"sample", run_}, Arguments{"info", run_}, Arguments{"eval", run_, text_},
                                     Arguments{"score", run_, text_}, Arguments{"train", "--help"}}) {
    const Finished finished = unfold_command(arguments, {.output = "/dev/full"});
    EXPECT_EQ(finished.code, 1);
    EXPECT_THAT(finished.err, HasSubstr("standard output"));
  }
}

TEST_F(CommandTest, unwritable_run_folder_is_a_runtime_failure) {
  write_bytes(run_, "a file where the folder should be");
  expect_failure(training(), 1, "choose another --out");
  std::filesystem::remove(run_);
  std::filesystem::create_directory(run_);
  std::filesystem::permissions(run_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  try {
    write_bytes(run_ + "/probe", "x");
  } catch (const std::exception&) {
    return expect_failure(training(), 1, run_);
  }
  GTEST_SKIP() << "this user may write everywhere";
}

TEST_F(CommandTest, run_folder_with_another_configuration_is_rejected_with_the_first_difference) {
  train();
  const std::string before = read_bytes(run_ + "/model.safetensors");
  expect_failure(training({"--batch", "5"}), 2, "batch is 4 there and 5 here");
  expect_failure(training({"--batch", "5"}), 2, "--resume");
  expect_failure(training({"--batch", "5", "--resume"}), 2, "batch is 4 there and 5 here");
  expect_failure(training({"--seed", "2"}), 2, "--overwrite");
  expect_failure(training(), 2, "already contains a run");
  expect_failure(training({"--resume", "--overwrite"}), 2, "cannot be combined");
  EXPECT_EQ(read_bytes(run_ + "/model.safetensors"), before);
  train({"--batch", "5", "--overwrite"});
  EXPECT_NE(read_bytes(run_ + "/model.safetensors"), before);
}

TEST_F(CommandTest, unknown_symbols_are_reported_or_skipped_and_counted) {
  train();
  const std::string other = folder_ / "other.txt";
  write_bytes(other, "the cat\nsat Zum the mat ZZ\n");
  expect_failure({"eval", run_, other}, 3, "--unknown skip");
  expect_failure({"eval", run_, other}, 3, other);
  expect_failure({"score", run_, other}, 3, "\"Z\"");
  const Finished finished = unfold_command({"eval", run_, other, "--unknown", "skip", "--json"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  const nlohmann::json json = only_object(finished.out);
  EXPECT_EQ(json["unknown_symbols"], 4);  // u does not occur in the text either
  EXPECT_EQ(json["symbols"], 23);
  expect_failure({"eval", run_, other, "--unknown", "skpi"}, 2, "did you mean \"skip\"?");
  expect_failure({"sample", run_, "--prime", "Z"}, 3, "Z");
}

TEST_F(CommandTest, missing_or_invalid_model_is_a_model_error) {
  expect_failure({"info", folder_ / "absent"}, 4, "absent");
  expect_failure({"info", folder_.path()}, 4, "not a run folder;");
  expect_failure({"eval", text_, text_}, 4, text_);
  train({"--checkpoint-every", "5"});
  expect_failure({"info", run_ + "/checkpoint.safetensors"}, 4, "checkpoint.safetensors");
}

TEST_F(CommandTest, extreme_learning_rate_recovers_or_ends_with_code_5) {
  const Finished finished = unfold_command(
      training({"--optimizer", "sgd:rate=1000000", "--model", "rnn:8,activation=relu", "--steps", "200"}));
  EXPECT_TRUE(finished.code == 0 || finished.code == 5) << finished.code;
  EXPECT_THAT(finished.err, HasSubstr("back to step"));
  if (finished.code == 5) {
    EXPECT_THAT(finished.err, HasSubstr("rate"));
  }
}

}  // namespace
}  // namespace unfold::test
