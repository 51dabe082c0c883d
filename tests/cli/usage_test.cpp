#include "tests/cli/fixture.h"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace unfold::test {
namespace {

const Arguments kVerbs = {"train",     "eval",     "score",      "sample",   "check",  "info",   "bench", "generate",
                          "reproduce", "compress", "decompress", "complete", "export", "import", "sweep"};

TEST_F(CommandTest, the_help_of_every_command_starts_with_an_example) {
  for (const std::string& verb : kVerbs) {
    for (const char* option : {"--help", "-h"}) {
      const Finished finished = unfold_command({verb, option});
      EXPECT_EQ(finished.code, 0) << finished.err;
      EXPECT_THAT(finished.out, StartsWith("Example: unfold " + verb));
      EXPECT_EQ(finished.err, "");
    }
  }
  EXPECT_THAT(unfold_command({"--help"}).out, StartsWith("Example: unfold train"));
}

TEST_F(CommandTest, the_version_is_printed) {
  const Finished finished = unfold_command({"--version"});
  EXPECT_EQ(finished.code, 0);
  EXPECT_THAT(finished.out, StartsWith("unfold 1."));
  expect_failure({"--version", "please"}, 2, "leave out please");
}

TEST_F(CommandTest, help_command_equals_help_option) {
  EXPECT_EQ(unfold_command({"help", "train"}).out, unfold_command({"train", "--help"}).out);
  EXPECT_EQ(unfold_command({"help"}).out, unfold_command({"--help"}).out);
  expect_failure({"help", "trian"}, 2, "did you mean \"train\"?");
}

TEST_F(CommandTest, long_quotes_in_errors_are_shortened) {
  const std::string file = folder_ / "long";
  write_bytes(file, std::string(300'000, 'a') + "\n");
  const Finished finished = unfold_command({"train", file, "--format", "rolls", "--out", folder_ / "r"});
  EXPECT_EQ(finished.code, 3);
  EXPECT_LT(finished.err.size(), 3000U);
  EXPECT_THAT(finished.err, HasSubstr("long: line 1: \"aaa"));
  EXPECT_THAT(finished.err, HasSubstr(" bytes) ... "));
  EXPECT_THAT(finished.err, HasSubstr("is not a step:"));
}

TEST_F(CommandTest, MessagesAreBounded) {
  const std::string long_word(12'000, 'x'), spec = "lstm:5,dropout=0." + std::string(200, '1') + ",nothing=1";
  for (const Arguments& arguments :
       std::vector<Arguments>{{long_word},
                              {"--" + long_word},
                              {"info", long_word},
                              {"train", text_, "--" + long_word, "1"},
                              {"train", text_, "--out", run_, "--model", long_word},
                              {"train", text_, "--out", run_, "--model", "lstm:" + long_word},
                              {"train", text_, "--out", run_, "--model", spec},
                              {"train", text_, "--out", run_, "--optimizer", long_word},
                              {"train", text_, "--out", run_, "--batch", long_word},
                              {"generate", long_word, "--out", "-"}}) {
    const Finished finished = unfold_command(arguments);
    EXPECT_NE(finished.code, 0);
    EXPECT_THAT(finished.err, StartsWith("unfold: "));
    EXPECT_LT(finished.err.size(), 1300U) << finished.err;
    EXPECT_THAT(finished.err, Not(HasSubstr(std::string(110, 'x'))));
    EXPECT_THAT(finished.err, Not(HasSubstr(std::string(180, '1'))));
  }
}

TEST_F(CommandTest, EndlessInputGivesNoAdviceAboutTheBatch) {
  const Finished finished = unfold_command({"train", "/dev/zero", "--symbols", "bytes", "--out", run_},
                                           {.before = {"/bin/sh", "-c", "ulimit -v 2000000; exec \"$@\"", "sh"}});
  EXPECT_EQ(finished.code, 1);
  EXPECT_THAT(finished.err, HasSubstr("/dev/zero: the first"));
  EXPECT_THAT(finished.err, HasSubstr("but the input is longer"));
  EXPECT_THAT(finished.err, Not(HasSubstr("batch")));
}

TEST_F(CommandTest, EditedLogErrorHidesLibraryExceptions) {
  train();
  write_bytes(run_ + "/log.jsonl", "{\"event\": 3, \"best\": \"x\"}\n{\"event\": \"validation\", \"best\": 1}\n");
  const Finished finished = unfold_command({"info", run_});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("2 entries"));
  write_bytes(folder_ / "broken.jsonl", "{\"a\": }\n");
  const Finished broken =
      unfold_command({"train", folder_ / "broken.jsonl", "--format", "jsonl", "--out", folder_ / "other"});
  EXPECT_EQ(broken.code, 3);
  EXPECT_THAT(broken.err, Not(HasSubstr("json.exception")));
}

TEST_F(CommandTest, unknown_command_suggests_the_nearest) {
  expect_failure({"trian", text_}, 2, "did you mean \"train\"?");
  expect_failure({}, 2, "no command given");
  expect_failure({"--json", "eval"}, 2, "the command must come first");
}

TEST_F(CommandTest, unknown_command_option_suggests_the_nearest) {
  expect_failure(training({"--bathc", "8"}), 2, "did you mean \"batch\"?");
  expect_failure(training({"--bathc=8"}), 2, "did you mean \"batch\"?");
  expect_failure({"sample", run_, "--temprature", "1"}, 2, "did you mean \"temperature\"?");
  expect_failure({"info", run_, "more"}, 2, "too many");
  expect_failure({"bench", "lstm:3"}, 2, "takes no input");
}

TEST_F(CommandTest, invalid_value_states_the_expected_values) {
  expect_failure(training({"--batch", "many"}), 2, "option --batch must be a whole number, not \"many\"");
  expect_failure(training({"--batch", "0"}), 2, "--batch must be");
  expect_failure(training({"--minutes", "0"}), 2, "option --minutes must be above 0, not 0");
  expect_failure(training({"--format", "foo"}), 2, "must be one of text, log, fasta, fastq, ");
  expect_failure(training({"--format", "tabel"}), 2, "did you mean \"table\"?");
  EXPECT_FALSE(std::filesystem::exists(run_));
  expect_failure(training({"--symbols", "chras"}), 2, "did you mean \"chars\"?");
  expect_failure({"eval", run_, text_, "--part", "tset", "--split", "90/10"}, 2, "did you mean \"test\"?");
  expect_failure(training({"--model", "lstn:5"}), 2, "did you mean \"lstm\"?");
  expect_failure(training({"--model", "lstm:5,layer=2"}), 2, "did you mean \"layers\"?");
  expect_failure(training({"--optimizer", "adma"}), 2, "did you mean \"adam\"?");
  expect_failure(training({"--optimizer", "adam:rat=1"}), 2, "did you mean \"rate\"?");
  expect_failure(training({"--memory-limit", "lots"}), 2, "500M or 2G");
  expect_failure(training({"--activations", "half"}), 2, "bf16");
  expect_failure(training({"--activations", "bf16", "--memory-limit", "2G"}), 2,
                 "--memory-limit cannot be combined with --activations");
  expect_failure(training({"--activations", "bf16", "--precision", "double"}), 2,
                 "--precision double cannot be combined with");
  expect_failure(training({"--activations", "bf16", "--optimizer", "hf"}), 2, "not precise enough");
  expect_failure(training({"--activations", "bf16", "--model", "ngram:3"}), 2, "trained by gradient");
  expect_failure({"train", text_}, 2, "--out");
  expect_failure({"train", "--out", run_}, 2, "for example: unfold train");
}

TEST_F(CommandTest, unknown_configuration_key_names_line_and_nearest_key) {
  const std::string config = folder_ / "unfold.toml";
  write_bytes(config, "# ours\nwindow = 8\nbathc = 8\n");
  expect_failure(training({"--config", config}), 2, config + ":3: train has no key \"bathc\"; did you mean \"batch\"?");
  write_bytes(config, "batch = \"many\"\n");
  expect_failure(training({"--config", config}), 2, "batch must be a whole number");
  expect_failure(training({"--config", folder_ / "absent.toml"}), 3, "absent.toml");
}

TEST_F(CommandTest, unknown_environment_variable_suggests_the_nearest) {
  expect_failure(training(), 2, "did you mean \"UNFOLD_BATCH\"?", {.environment = {{"UNFOLD_BATHC", "8"}}});
  expect_failure(
      training(), 2, "environment variable UNFOLD_BATCH must be a whole number",
      {.environment = {{"UNFOLD_WINDOW", "8"}, {"UNFOLD_SEED", "3"}, {"UNFOLD_STEPS", "3"}, {"UNFOLD_BATCH", "x"}}});
  expect_failure({"eval", run_, text_}, 2, "is not an instruction set", {.environment = {{"UNFOLD_SIMD", "mmx"}}});
}

TEST_F(CommandTest, options_win_over_the_environment_over_the_configuration_file_over_the_defaults) {
  const std::string config = folder_ / "unfold.toml";
  write_bytes(config, "batch = 2\nwindow = 10\nseed = 5\n");
  const Finished finished = unfold_command(
      {"train", text_, "--out", run_, "--model", "rnn:4", "--steps", "3", "--config", config, "--batch", "3"},
      {.environment = {{"UNFOLD_WINDOW", "11"}, {"UNFOLD_BATCH", "6"}}});
  ASSERT_EQ(finished.code, 0) << finished.err;
  const std::string stored = read_bytes(run_ + "/config.toml");
  EXPECT_THAT(stored, HasSubstr("\nbatch = 3\n"));
  EXPECT_THAT(stored, HasSubstr("\nwindow = 11\n"));
  EXPECT_THAT(stored, HasSubstr("\nseed = 5\n"));
  EXPECT_THAT(stored, HasSubstr("\nearly-stop = 0\n"));
  const nlohmann::json info = only_object(unfold_command({"info", run_, "--json"}).out);
  EXPECT_EQ(info["card"]["configuration"]["batch"], 3);
  EXPECT_EQ(info["card"]["configuration"]["window"], 11);
}

TEST_F(CommandTest, the_stored_configuration_repeats_a_run) {
  train();
  const std::string again = folder_ / "again";
  const Finished finished = unfold_command({"train", "--config", run_ + "/config.toml", "--out", again});
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(read_bytes(run_ + "/model.safetensors"), read_bytes(again + "/model.safetensors"));
}

TEST_F(CommandTest, commands_with_other_json_output_do_not_list_the_json_option) {
  EXPECT_THAT(unfold_command({"embed", "--help"}).out, Not(HasSubstr("--json")));
  expect_failure({"embed", run_, text_, "--json"}, 2, "--format jsonl for one object per vector");
  for (const std::string verb : {"predict", "tag", "classify"})
    expect_failure({verb, run_, text_, "--json", "--format", "jsonl"}, 2, "--format jsonl for one object per example");
  EXPECT_THAT(unfold_command({"eval", "--help"}).out, HasSubstr("--json"));
}

TEST_F(CommandTest, quiet_is_silent_and_json_is_exactly_one_object) {
  const Finished quiet = unfold_command(training({"--quiet", "--json"}));
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.err, "");
  const nlohmann::json trained = only_object(quiet.out);
  EXPECT_GT(trained["valid"]["bits_per_symbol"].get<double>(), 0);
  for (const char* key : {"nats_per_symbol", "bits_per_byte", "perplexity", "symbols"})
    EXPECT_TRUE(trained["valid"].contains(key)) << key;
  EXPECT_EQ(trained["steps"], 20);
  for (const char* key : {"seconds", "symbols_per_second"}) EXPECT_TRUE(trained.contains(key)) << key;

  for (const Arguments& arguments :
       {Arguments{"eval", run_, text_}, Arguments{"score", run_, text_},
        Arguments{"score", run_, text_, "--by", "line"}, Arguments{"sample", run_},
        Arguments{"sample", run_, "--count", "3"}, Arguments{"info", run_}, Arguments{"check", "rnn:2"},
        Arguments{"bench", "--model", "rnn:4", "--batch", "2", "--seconds", "0.02"}}) {
    const Finished finished = unfold_command(arguments + Arguments{"--json", "--quiet"});
    EXPECT_EQ(finished.code, 0) << finished.err;
    EXPECT_EQ(finished.err, "");
    only_object(finished.out);
  }
}

}  // namespace
}  // namespace unfold::test
