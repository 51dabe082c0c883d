/// Training, evaluation, scoring and sampling as functions, on a tiny text.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/evaluate/evaluate.h"
#include "app/inspect/gradient_check.h"
#include "app/inspect/info.h"
#include "app/sample/generate.h"
#include "app/sample/sample.h"
#include "app/score/score.h"
#include "app/score/text_score.h"
#include "app/train/train.h"
#include "interop/arpa/arpa_file.h"
#include "model/registry/run_folder.h"
#include "tests/app/texts.h"
#include "tests/base/scratch.h"
#include "unfold/model/network/language_model.h"

namespace unfold {
namespace {

using testing_support::blocks;
using testing_support::contains;
using testing_support::file_bytes;
using testing_support::message_of;
using testing_support::ScratchFolder;

/// Records all events.
class Listener final : public Reporter {
 public:
  void remark(std::string_view text) override { remarks += std::string(text) + "\n"; }
  void progress(const WorkDone& work) override {
    last = work.what;
    EXPECT_LE(work.done, work.total);
  }
  std::string remarks, last;
};

TEST(TextScorer, double_models_are_scored_in_double) {
  LanguageModel<double> model("rnn:5", Alphabet::chars_of("ab\n"));
  model.initialize(3);
  const std::unique_ptr<Predictor> predictor = model.predictor();
  TextScorer scorer(model, "model");
  for (const std::string text : {"abba", "bab", "a"}) {
    double nats = 0;
    for (const char c : text + "\n") {
      const Symbol symbol = model.alphabet().find(std::string(1, c));
      nats += predictor->surprisal(symbol);
      predictor->observe(symbol);
    }
    scorer.score(std::vector<TextLine>{{text}}, "text",
                 [&](const ScoredTextLine& line) { EXPECT_NEAR(line.nats, nats, 1e-13); });
  }
}

class AppFunctionsTest : public ::testing::Test {
 protected:
  TrainRequest training(const std::string& model, const std::string& out) const {
    TrainRequest request{.out = folder_.path(out)};
    request.settings.data = {text_};
    request.settings.model = model;
    request.settings.steps = 20;
    request.settings.window = 8;
    request.settings.batch = 4;
    request.run.threads = 1;
    request.given = {"model", "steps", "window", "batch"};
    return request;
  }

  ScratchFolder folder_;
  std::string text_ = folder_.write("text", blocks(60));
};

TEST_F(AppFunctionsTest, train_writes_a_run_folder_and_returns_its_results) {
  Listener listener;
  const TrainOutcome outcome = train(training("gru:6", "run"), listener);
  EXPECT_EQ(outcome.result.steps, 20);
  ASSERT_TRUE(outcome.valid);
  EXPECT_GT(outcome.valid->symbols, 0);
  EXPECT_TRUE(contains(listener.remarks, "gru:6"));
  EXPECT_TRUE(RunFolder(outcome.run).has_config());
  EXPECT_EQ(describe_model(outcome.run).parameter_count, outcome.parameters);
  EXPECT_EQ(to_json(outcome)["valid"]["nats_per_symbol"], outcome.valid->nats_per_symbol);
  EXPECT_TRUE(contains(message_of<UsageError>([&] { train(training("gru:6", "run")); }), "already contains a run"));
  EXPECT_TRUE(contains(message_of<UsageError>([&] {
                         TrainRequest other = training("gru:7", "run");
                         other.resume = true;
                         train(other);
                       }),
                       "model is gru:6"));
}

TEST_F(AppFunctionsTest, settings_without_effect_on_results_change_no_bit) {
  const TrainOutcome one = train(training("lstm:5", "one"));
  TrainRequest request = training("lstm:5", "two");
  request.run = {.threads = 2, .memory_limit = "200K", .checkpoint_every = 3, .log_every = 5};
  const TrainOutcome two = train(request);
  EXPECT_TRUE(file_bytes(one.model_file) == file_bytes(two.model_file));
}

TEST_F(AppFunctionsTest, run_resumes_with_its_stored_settings) {
  TrainRequest uninterrupted = training("gru:6", "whole"), first = training("gru:6", "half");
  uninterrupted.settings.optimizer = first.settings.optimizer = "adam:rate=0.01";
  const TrainOutcome whole = train(uninterrupted);
  first.settings.steps = 10;
  train(first);
  TrainRequest second{.out = first.out, .resume = true, .given = {"steps"}};
  second.settings.steps = 20;
  const TrainOutcome outcome = train(second);
  EXPECT_EQ(outcome.settings.model, whole.settings.model);
  EXPECT_EQ(outcome.settings.window, 8);
  EXPECT_EQ(outcome.result.steps, 20);
  EXPECT_EQ(outcome.valid->nats_per_symbol, whole.valid->nats_per_symbol);
}

TEST_F(AppFunctionsTest, evaluate_reproduces_training_results) {
  const TrainOutcome outcome = train(training("gru:6", "run"));
  Index symbols = 0;
  double nats = 0;
  const EvaluateRequest request{.model = outcome.run,
                                .data = {text_},
                                .split = "90/10",
                                .threads = 1,
                                .symbol = [&](Index position, std::string_view, float surprisal) {
                                  EXPECT_EQ(position, symbols++);
                                  nats += surprisal;
                                }};
  const EvaluateOutcome found = evaluate(request);
  EXPECT_EQ(found.part, "validation");
  EXPECT_EQ(found.figures.symbols, symbols);
  EXPECT_NEAR(found.figures.nats_per_symbol, nats / static_cast<double>(symbols), 1e-6);
  EXPECT_NEAR(found.figures.nats_per_symbol, outcome.valid->nats_per_symbol, 0.05);
  EvaluateRequest stepwise = request;
  stepwise.use_stepper = true, stepwise.symbol = {};
  EXPECT_EQ(evaluate(stepwise).figures.nats_per_symbol, found.figures.nats_per_symbol);
  EvaluateRequest both = stepwise;
  both.reading.segments = 3;
  EXPECT_THROW(evaluate(both), UsageError);
}

TEST_F(AppFunctionsTest, symbol_and_line_scores_sum_to_the_evaluation) {
  const TrainOutcome outcome = train(training("gru:6", "run"));
  Listener listener;
  const ScoredText text = score({.model = outcome.run, .data = text_, .by = ScoreUnit::line, .threads = 1}, listener);
  const EvaluateOutcome whole = evaluate({.model = outcome.run, .data = {text_}, .threads = 1});
  EXPECT_EQ(listener.last, "score");
  double by_symbol = 0, by_line = 0;
  text.for_each_symbol([&](const ScoredSymbol& s) { by_symbol += std::isnan(s.nats) ? 0 : s.nats; });
  const std::vector<ScoredLine> lines = text.lines();
  for (const ScoredLine& line : lines) by_line += line.nats;
  EXPECT_EQ(lines.size(), 60U);
  EXPECT_NEAR(by_symbol, by_line, 1e-9 * by_line);
  EXPECT_NEAR(whole.figures.nats_per_symbol * static_cast<double>(whole.figures.symbols), by_line, 1e-5 * by_line);
  EXPECT_THROW(score({.model = outcome.run, .data = text_, .by = ScoreUnit::state}), UsageError);
}

TEST_F(AppFunctionsTest, samples_and_completions_use_only_the_alphabet) {
  const TrainOutcome outcome = train(training("gru:6", "run"));
  const SampleRequest request{.model = outcome.run, .sampling = {.length = 30, .seed = 4}, .prime = "a", .count = 2};
  const std::vector<SampledText> samples = sample(request), again = sample(request);
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[0].symbols, 30);
  EXPECT_EQ(samples[0].text.find_first_not_of("ab\n"), std::string::npos);
  EXPECT_EQ(samples[1].text, again[1].text);
  EXPECT_NE(samples[0].text, samples[1].text);
  const std::vector<CompletedText> completions = complete({.model = outcome.run, .beam = {.length = 4}, .prime = "aa"});
  ASSERT_FALSE(completions.empty());
  EXPECT_EQ(completions.front().names.size(), 4U);
  EXPECT_NEAR(completions.front().probability(), std::exp2(-completions.front().bits()), 1e-9);
}

TEST_F(AppFunctionsTest, fitted_models_support_the_same_functions_and_exports) {
  Listener listener;
  TrainRequest request{.out = folder_.path("ngram")};
  request.settings.data = {text_};
  request.settings.model = "ngram:3";
  const TrainOutcome outcome = train(request, listener);
  EXPECT_EQ(outcome.result.reason, "fitted");
  std::string arpa;
  export_arpa(outcome.run, [&](std::string_view text) { arpa += text; });
  const ImportOutcome back = import_arpa(folder_.write("arpa", arpa), "chars", folder_.path("back"));
  const EvaluateOutcome here = evaluate({.model = outcome.run, .data = {text_}});
  EXPECT_EQ(back.symbols, 3);
  EXPECT_NEAR(evaluate({.model = folder_.path("back"), .data = {text_}}).figures.nats_per_symbol,
              here.figures.nats_per_symbol, 1e-6);
  request.given = {"window"};
  request.overwrite = true;
  EXPECT_TRUE(
      contains(message_of<UsageError>([&] { train(request); }), "--window applies to models trained by gradient"));
}

TEST_F(AppFunctionsTest, tasks_can_be_trained_and_evaluated) {
  TrainRequest request{.out = folder_.path("task")};
  request.settings.task = "adding:10";
  request.settings.model = "rnn:6";
  request.settings.steps = 5;
  request.settings.validate_on = 20;
  const TrainOutcome outcome = train(request);
  ASSERT_TRUE(outcome.task_valid && outcome.task_test);
  EXPECT_EQ(outcome.task_valid->score.sequences, 20);
  ASSERT_TRUE(holds_task_model(outcome.run));
  const TaskMetrics again = evaluate_on_task({.model = outcome.run, .count = 1000});
  EXPECT_EQ(again.score.measures, outcome.task_test->score.measures);
  EXPECT_EQ(describe_model(outcome.run).task, "adding:length=10");
}

TEST_F(AppFunctionsTest, generate_and_check_return_their_results) {
  const GenerateOutcome made = generate({.task = "xor:5", .count = 7});
  EXPECT_EQ(made.units, 7);
  EXPECT_EQ(made.mask.size(), made.text.size());
  EXPECT_FALSE(generate({.task = "adding:10", .count = 2}).is_text());
  const GenerateOutcome delayed = generate({.task = "delay-line:6,delays=2,skip=2", .count = 1});
  std::istringstream table(delayed.text);
  std::string line;
  std::getline(table, line);
  EXPECT_EQ(line, "example\tstep\tinput1\ttarget1\ttarget2");
  std::vector<std::string> inputs;
  for (std::string example, step, input, first, second; table >> example >> step >> input >> first >> second;) {
    EXPECT_EQ(first, inputs.size() < 2 ? "-" : inputs[inputs.size() - 1]);
    EXPECT_EQ(second, inputs.size() < 2 ? "-" : inputs[inputs.size() - 2]);
    inputs.push_back(input);
  }
  EXPECT_EQ(inputs.size(), 6);
  EXPECT_TRUE(contains(message_of<UsageError>([] { generate({.task = "addin"}); }), "adding"));
  Listener listener;
  const CheckOutcome checked = check({.model = "gru:200", .units = 3}, listener);
  EXPECT_TRUE(checked.report.passed());
  EXPECT_TRUE(contains(listener.remarks, "checking gru:3"));
}

TEST_F(AppFunctionsTest, check_accepts_a_hidden_markov_model_as_a_network) {
  Listener listener;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const CheckOutcome checked = check({.model = "hmm:40,restarts=2", .units = 3, .seed = seed}, listener);
    EXPECT_TRUE(checked.report.passed()) << checked.report.text();
    EXPECT_EQ(checked.model, "hmm:3");
    const CheckResult& last = checked.report.results.back();
    EXPECT_EQ(last.name, "probabilities");
    EXPECT_FALSE(last.where.empty());
    for (const CheckResult& result : checked.report.results) EXPECT_TRUE(result.run || result.name == "path");
  }
  EXPECT_TRUE(contains(message_of<UsageError>([&] { check({.model = "ngram:3"}, listener); }),
                       "ngram is fitted, not trained by gradients, so it has no derivatives to check"));
}

}  // namespace
}  // namespace unfold
