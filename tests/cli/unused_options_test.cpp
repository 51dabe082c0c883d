/// Options that would have no effect in a command: each raises an error that states its purpose.

#include <fstream>

#include "tests/cli/fields.h"

namespace unfold::test {
namespace {

class UnusedOptions : public FieldsTest {
 protected:
  /// Fits a model to `text_`, or creates one that learns while it reads.
  std::string fitted(const std::string& model) const {
    std::string folder = folder_ / model;
    const Finished finished = unfold_command({"train", text_, "--model", model, "--out", folder, "--quiet"});
    EXPECT_EQ(finished.code, 0) << finished.err;
    return folder;
  }
  std::string pairs() const {
    std::string text;
    for (int i = 0; i < 40; ++i) text += i % 2 == 0 ? "abba\tA B B A\n" : "cab\tC A B\n";
    return data("words.pairs", text);
  }
  /// Expects `command` with each of `unused` to fail with its message.
  static void expect_refused(const Arguments& command, const std::vector<std::pair<Arguments, std::string>>& unused) {
    for (const auto& [more, message] : unused) {
      SCOPED_TRACE(more.front());
      expect_failure(command + more, 2, message);
    }
  }
};

TEST_F(UnusedOptions, validation_options_without_a_validation_part_are_rejected) {
  const Arguments pairs_alone{"train", pairs(), "--split", "100/0/0", "--steps", "2", "--out", run_};
  expect_refused(pairs_alone, {{{"--best-by", "labels"}, "leaves no validation data"},
                               {{"--validate-every", "5"}, "leaves no validation data"},
                               {{"--early-stop", "5"}, "leaves no validation data"}});
}

TEST_F(UnusedOptions, eval_of_text_rejects_sampling_and_search_options) {
  train();
  expect_refused({"eval", run_, text_},
                 {{{"--count", "3"}, "--count applies to tasks; this is a text model: omit --count"},
                  {{"--seed", "9"}, "--seed applies to tasks; this is a text model"},
                  {{"--beam", "5"}, "--beam applies to data with fields; this is a text model"}});
}

TEST_F(UnusedOptions, eval_of_tasks_rejects_search_options) {
  ASSERT_EQ(unfold_command({"train", "--task", "adding:5", "--model", "rnn:3", "--steps", "3", "--batch", "4", "--out",
                            run_, "--quiet"})
                .code,
            0);
  expect_failure({"eval", run_, "--count", "5", "--beam", "5"}, 2,
                 "--beam applies to data with fields; this is a task model");
  EXPECT_EQ(unfold_command({"eval", run_, "--count", "5", "--seed", "9"}).code, 0);
}

TEST_F(UnusedOptions, eval_rejects_search_options_for_labels_and_beams_for_targets) {
  const std::string lines = data("lines", labeled_lines(40));
  train_on(lines, {"--model", "gru:4", "--format", "labelled"});
  expect_failure({"eval", run_, lines, "--beam", "5"}, 2, "is evaluated without beam search; omit --beam");
  const std::string words = pairs();
  train_on(words, {"--model", "gru:6,attention=additive", "--split", "100/0/0", "--overwrite"});
  EXPECT_EQ(unfold_command({"eval", run_, words, "--beam", "3", "--quiet"}).code, 0);
}

TEST_F(UnusedOptions, dynamic_evaluation_requires_a_trainable_model) {
  expect_failure({"eval", fitted("ngram:3"), text_, "--dynamic"}, 2, "ngram is fitted in one pass");
  const std::string matching = fitted("ppm:3");
  expect_failure({"eval", matching, text_, "--dynamic", "--optimizer", "sgd"}, 2, "ppm does not use them");
  expect_failure({"eval", matching, text_, "--dynamic", "--window", "5"}, 2, "ppm does not use them");
  EXPECT_EQ(unfold_command({"eval", matching, text_, "--dynamic", "--quiet"}).code, 0);
}

TEST_F(UnusedOptions, predict_samples_only_on_request) {
  const std::string load = data("load.csv", wave(100, true));
  train_on(load, {"--model", "gru:4", "--predict", "load", "--format", "table"});
  expect_refused({"predict", run_, load, "--quiet"}, {{{"--samples", "20"}, "--samples requires sampling"},
                                                      {{"--seed", "4"}, "--seed requires sampling"},
                                                      {{"--probabilities"}, "predicts numbers"}});
  const std::string words = pairs();
  train_on(words, {"--model", "gru:6,attention=additive", "--split", "100/0/0", "--overwrite"});
  expect_refused(
      {"predict", run_, words, "--quiet", "--sample"},
      {{{"--beam", "4"}, "cannot be combined with --sample"}, {{"--best", "2"}, "cannot be combined with --sample"}});
  EXPECT_EQ(unfold_command({"predict", run_, words, "--quiet", "--sample", "--samples", "2", "--seed", "3"}).code, 0);
}

TEST_F(UnusedOptions, ahead_requires_an_end_and_reports_what_follows) {
  const std::string trees = data("trees", tree_lines(20));
  train_on(trees, {"--model", "tree-lstm:4", "--format", "trees"});
  expect_failure({"predict", run_, trees, "--ahead", "1"}, 2, "does not apply to a tree");
  const std::string grids = data("grids", grid_blocks(20));
  train_on(grids, {"--model", "grid-lstm:4", "--format", "grids", "--overwrite"});
  expect_failure({"forecast", run_, grids}, 2, "does not apply to a grid");
  const std::string load = data("load.csv", wave(100, true));
  train_on(load, {"--model", "gru:4", "--predict", "load", "--format", "table", "--overwrite"});
  expect_failure({"predict", run_, load, "--ahead", "1", "--probabilities"}, 2, "predicts numbers");
}

TEST_F(UnusedOptions, forecast_options_apply_either_with_or_without_a_model) {
  const std::string load = data("load.csv", wave(100, true));
  expect_refused({"forecast", load, "--quiet"}, {{{"--samples", "20"}, "--samples requires a trained model"},
                                                 {{"--probabilities"}, "--probabilities requires a trained model"},
                                                 {{"--seed", "4"}, "--seed requires a trained model"},
                                                 {{"--ahead", "2", "--horizon", "3"}, "are the same option"}});
  train_on(load, {"--model", "gru:4", "--predict", "load", "--format", "table"});
  const std::string why = " applies to forecasts of a table without a trained model; omit --";
  expect_refused({"forecast", run_, load, "--quiet"}, {{{"--coverage", "80"}, "--coverage" + why},
                                                       {{"--season", "7"}, "--season" + why},
                                                       {{"--minutes", "1"}, "--minutes" + why},
                                                       {{"--plot", folder_ / "plot.svg"}, "--plot" + why}});
}

TEST_F(UnusedOptions, score_normal_label_requires_labels) {
  train();
  expect_failure({"score", run_, text_, "--normal", "ok"}, 2,
                 "--normal requires --by line: add --by line or omit --normal");
  expect_failure({"score", run_, text_, "--by", "line", "--normal", "ok"}, 2, "add --labels FILE");
  std::string lines;
  for (int i = 0; i < 60; ++i) lines += "host app[" + std::to_string(i) + "]: started job " + std::to_string(i) + "\n";
  const std::string log = data("log", lines);
  ASSERT_EQ(
      unfold_command({"train", log, "--format", "log", "--model", "ngram:3", "--out", run_, "--overwrite", "--quiet"})
          .code,
      0);
  expect_refused({"score", run_, log},
                 {{{"--given", "label=f"}, "--given applies to data with fields; this is a log model"},
                  {{"--follow"}, "--follow applies to data with fields; this is a log model"},
                  {{"--normal", "ok"}, "add --labels FILE"}});
  expect_refused({"score", run_, log, "--by", "value"},
                 {{{"--false-alarms", "0.1"}, "--false-alarms cannot be combined with --by value"},
                  {{"--state", folder_ / "state"}, "--state cannot be combined with --by value"}});
  expect_refused({"score", run_, log, "--false-alarms", "0.1"},
                 {{{"--top", "3"}, "--top cannot be combined with --false-alarms"},
                  {{"--alarms-per-day", "3"}, "--false-alarms cannot be combined with --alarms-per-day"}});
  expect_refused({"score", run_, log, "--state", folder_ / "state"},
                 {{{"--top", "3"}, "--top cannot be combined with --state"},
                  {{"--context", "host"}, "--context cannot be combined with --state"}});
}

TEST_F(UnusedOptions, alarms_require_a_model_of_logs) {
  train();
  const std::string why = " requires --by line and a model trained with --format log; omit --";
  expect_refused({"score", run_, text_, "--by", "line"}, {{{"--false-alarms", "0.1"}, "--false-alarms" + why},
                                                          {{"--alarms-per-day", "3"}, "--alarms-per-day" + why},
                                                          {{"--state", folder_ / "state"}, "--state" + why}});
  expect_failure({"score", run_, text_, "--by", "file", "--state", folder_ / "state"}, 2,
                 "--state cannot be combined with --by file");
}

TEST_F(UnusedOptions, compress_learning_requires_a_trainable_model) {
  const std::string packed = folder_ / "packed";
  const Arguments compress = {"compress", text_, "-o", packed};
  for (const Arguments& model :
       {Arguments{}, {"--fast"}, {"--model", "ppm:3"}, {"--model", "mix:ppm:3+ctw:8"}, {"--model", "rnn:4"}})
    expect_failure(compress + model + Arguments{"--online"}, 2, "is untrained and always learns;");
  for (const Arguments& model : {Arguments{}, {"--best"}, {"--model", "ppm:3"}, {"--model", "ngram:2"}}) {
    expect_failure(compress + model + Arguments{"--optimizer", "sgd"}, 2, "does not use them; leave them out");
    expect_failure(compress + model + Arguments{"--window", "5"}, 2, "does not use them; leave them out");
  }
  expect_failure(compress + Arguments{"--model", "ngram:2", "--online"}, 2, "is fitted in one pass");
  EXPECT_EQ(unfold_command(compress + Arguments{"--model", "rnn:4", "--window", "5", "--quiet"}).code, 0);
  train();
  expect_failure(compress + Arguments{"--model", run_, "--window", "5"}, 2, "require --online");
  EXPECT_EQ(unfold_command(compress + Arguments{"--model", run_, "--window", "5", "--online", "--quiet"}).code, 0);
  EXPECT_EQ(unfold_command(compress + Arguments{"--model", fitted("ppm:2"), "--online", "--quiet"}).code, 0);
}

TEST_F(UnusedOptions, decompress_model_is_only_for_archives_that_need_one) {
  const std::string packed = folder_ / "packed", restored = folder_ / "restored";
  for (const char* bytes : {"", "some bytes"}) {
    write_bytes(text_, bytes);
    ASSERT_EQ(unfold_command({"compress", text_, "--fast", "-o", packed, "--quiet"}).code, 0);
    expect_failure({"decompress", packed, "-o", restored, "--model", folder_ / "none"}, 2,
                   "does not need one; omit --model");
    EXPECT_FALSE(std::ifstream(restored).good());
  }
  write_bytes(text_, small_text(1000));
  train();
  ASSERT_EQ(unfold_command({"compress", text_, "--model", run_, "-o", packed, "--quiet"}).code, 0);
  EXPECT_EQ(unfold_command({"decompress", packed, "--model", run_, "-o", restored, "--quiet"}).code, 0);
  EXPECT_EQ(read_bytes(restored), read_bytes(text_));
}

TEST_F(UnusedOptions, complete_reports_which_output_an_option_applies_to) {
  const std::string model = fitted("ngram:3");
  expect_refused({"complete", model, "--match", "[a-z]+"},
                 {{{"--diversity", "2"}, "--diversity requires --diverse N"}, {{"--expansions", "9"}, "--prove"}});
  expect_refused({"complete", model, "--match", "[a-z]+", "--length", "4", "--probability"},
                 {{{"--beam", "4"}, "--beam applies only to the search"},
                  {{"--count", "4"}, "--count applies only to the search"},
                  {{"--normalization", "0"}, "--normalization applies only to the search"},
                  {{"--diverse", "2"}, "--diverse applies only to the search"},
                  {{"--prove"}, "--prove applies only to the search"}});
}

TEST_F(UnusedOptions, explain_rejects_models_without_gradients) {
  expect_failure({"explain", fitted("ngram:3"), "abc", "--unknown", "skip", "--reach", "5"}, 2,
                 "there are no gradients");
  const std::string lines = data("lines", labeled_lines(40));
  train_on(lines, {"--model", "gru:4", "--format", "labelled"});
  expect_refused({"explain", run_, lines}, {{{"--guesses", "2"}, "--guesses applies to text"},
                                            {{"--reach", "2"}, "--reach applies to text"},
                                            {{"--at", "2"}, "is one label per example"}});
}

TEST_F(UnusedOptions, info_and_sample_report_what_an_option_requires) {
  train();
  expect_failure({"info", run_, "--over", "steps"}, 2, "--over requires --plot");
  expect_failure({"info", run_, "--plan", "--plot", folder_ / "x.svg"}, 2, "--plan cannot be combined with --plot");
  const std::string rolls = data("x.rolls", roll_lines(20));
  train_on(rolls, {"--model", "gru:4", "--format", "rolls", "--overwrite"});
  expect_failure({"sample", run_, "--step", "100"}, 2, "--step requires --midi");
}

/// Holds with and without a device.
TEST_F(UnusedOptions, train_names_options_that_no_device_supports) {
  const Arguments train = {"train", text_, "--out", run_, "--steps", "3", "--device", "cuda"};
  for (const Arguments& unused : {Arguments{"--memory-limit", "2G"},
                                  {"--shards", "2"},
                                  {"--restarts", "2"},
                                  {"--gradient", "rtrl"},
                                  {"--teacher-forcing", "0.5"},
                                  {"--flow-penalty", "1"}})
    expect_failure(train + unused, 2, unused.front());
  for (const char* model : {"ngram:3", "ppm:3", "hmm:2", "mix:ppm:3+ctw:8"})
    expect_failure({"train", text_, "--out", run_, "--model", model, "--device", "cuda"}, 2,
                   "--device applies to models trained by gradient");
  const std::string load = data("load.csv", wave(100, true));
  for (const char* model : {"esn:10", "gaussian-hmm:2"})
    expect_failure({"train", load, "--out", run_, "--predict", "load", "--model", model, "--device", "cuda"}, 2,
                   "--device applies to models trained by gradient");
  const std::string lines = data("lines", labeled_lines(40));
  expect_failure({"train", lines, "--out", run_, "--trees", "found", "--model", "tree-lstm:4", "--device", "cuda"}, 2,
                 "--trees found does not support devices");
  EXPECT_FALSE(std::ifstream(run_ + "/config.toml").good());
}

TEST_F(UnusedOptions, sweep_lists_the_available_metrics) {
  const Arguments sweep = {"sweep",   text_, "--grid",   "units=3", "--out",   folder_ / "s", "--model", "rnn:4",
                           "--batch", "4",   "--window", "8",       "--steps", "3",           "--quiet"};
  for (const char* place : {"valid/nonsense", "valid/perplexty", "~"}) {
    const Finished finished = unfold_command(sweep + Arguments{"--measure", place});
    EXPECT_EQ(finished.code, 2) << finished.err;
    EXPECT_THAT(finished.err, HasSubstr(std::string("--measure ") + place + ": no run has this metric"));
    EXPECT_THAT(finished.err, HasSubstr("valid/perplexity"));
  }
  EXPECT_EQ(unfold_command(sweep + Arguments{"--measure", "valid/perplexity"}).code, 0);
}

}  // namespace
}  // namespace unfold::test
