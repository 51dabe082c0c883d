/// Runs all commands with hidden Markov models of vectors and over networks.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/evaluate/evaluate.h"
#include "app/fields/evaluation/field_metrics.h"
#include "app/fields/field_model.h"
#include "app/predict/predict.h"
#include "app/sample/sample.h"
#include "loss/hmm/vector_hmm.h"
#include "tests/app/small_runs.h"
#include "tests/base/scratch.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::message_of;
using testing_support::ScratchFolder;
using testing_support::train_small;

/// Sequences of two numbers from three well-separated states.
VectorHmm three_states() {
  VectorHmm hmm({3, 1, 2, true});
  hmm.transitions = {0.9, 0.05, 0.05, 0.1, 0.8, 0.1, 0.05, 0.15, 0.8};
  hmm.means = {-40, 3, 40, 3, 0, 8};
  hmm.covariances = {100, 6, 6, 1, 100, -6, -6, 1, 50, 0, 0, 0.5};
  return hmm;
}

std::string drawn_table(Index sequences, Index length, std::vector<double>* rows = nullptr) {
  Random random(3, "table");
  std::string text = "run,a,b\n";
  for (Index s = 0; s < sequences; ++s) {
    const DrawnRun run = sample(three_states(), length, random);
    for (Index t = 0; t < length; ++t)
      text += fmt::format("{},{:.9g},{:.9g}\n", s, run.rows[at(2 * t)], run.rows[at(2 * t + 1)]);
    if (rows != nullptr) rows->insert(rows->end(), run.rows.begin(), run.rows.end());
  }
  return text;
}

class HiddenMarkov : public ::testing::Test {
 protected:
  std::string learn(const std::string& file, const std::string& model, Index steps, const std::string& predict = "",
                    const std::string& sequences = "") const {
    return train_small(folder_.path("run"), file, model, "adam:rate=0.02,clip=1", steps, [&](TrainRequest& request) {
      request.overwrite = true;
      const auto give = [&](const char* name, std::optional<std::string>& to, const std::string& value) {
        if (value.empty()) return;
        to = value;
        request.given.insert(name);
      };
      give("predict", request.settings.predict, predict);
      give("sequences", request.settings.sequences, sequences);
    });
  }
  HeadFigures head(const std::string& run, const std::string& file) const {
    return with_network_model(run, [&]<class T>(const NetworkModel<T>& model) {
      Team team(1);
      const ExampleSet set(read_for(model, {file}), std::make_shared<const DataSpecification>(model.data()),
                           predicted_fields(model.layout()));
      return evaluate_fields(model, set, team).heads.front();
    });
  }
  std::string predicted(const std::string& run, const std::string& file) const {
    std::string table;
    Reporter quiet;
    predict(
        {.model = run, .data = {file}, .threads = 1}, [&](std::string_view text) { table += text; }, quiet);
    return table;
  }

  ScratchFolder folder_;
};

TEST_F(HiddenMarkov, bic_selects_the_states_and_eval_matches_the_fitted_likelihood) {
  std::vector<double> rows;
  const std::string file = folder_.write("runs.csv", drawn_table(20, 40, &rows));
  for (const char* covariance : {"full", "diagonal"}) {
    const std::string run =
        learn(file, fmt::format("gaussian-hmm:4,covariance={},fewest=2,restarts=3", covariance), 1, "", "run");
    const std::unique_ptr<Model> model = load_model_file(model_file(run));
    // Diagonal covariances need more states for correlated data.
    if (std::string(covariance) == "full") {
      EXPECT_TRUE(model->spec_text().starts_with("gaussian-hmm:3")) << model->spec_text();
    }
    const auto tried = model->history().back().at("states");
    ASSERT_EQ(tried.size(), 3u);
    const HeadFigures found = head(run, file);
    EXPECT_EQ(found.predicted, 800);
    // The model was fitted to standardized numbers.
    const double scale = log_scale(model->data().field("values"));
    EXPECT_NEAR(found.nats, 800 * scale - tried[0].at("log_likelihood").get<double>(), 0.05);
    if (std::string(covariance) == "diagonal") continue;
    std::vector<Index> ends;
    for (Index s = 1; s <= 20; ++s) ends.push_back(40 * s);
    Team team(1);
    const double truth = log_likelihood(three_states(), {{rows.data(), 800, 2, 2}, ends}, team);
    EXPECT_LT(found.nats, -truth + 10);
  }
}

TEST_F(HiddenMarkov, predict_outputs_state_names) {
  const std::string file = folder_.write("runs.csv", drawn_table(5, 40));
  const std::string table = predicted(learn(file, "gaussian-hmm:3", 1, "", "run"), file);
  EXPECT_EQ(table.substr(0, table.find('\n')), "values\tvalues.state\tvalues.probability");
}

/// The parameters of the network describe the fitted model.
TEST_F(HiddenMarkov, SamplesHaveTheMomentsOfTheData) {
  const std::string file = folder_.write("runs.csv", drawn_table(10, 200));
  for (const std::string options : {"", ",covariance=diagonal", ",components=2"}) {
    const std::string run = learn(file, "gaussian-hmm:3" + options, 1, "", "run");
    const SampledNumberSequences drawn =
        sample_hidden_markov({.model = run, .sampling = {.length = 4000, .seed = 5}, .count = 5});
    EXPECT_EQ(drawn.columns, (std::vector<std::string>{"a", "b"}));
    ASSERT_EQ(drawn.sequences.size(), 5U);
    double mean = 0, between = 0, near = 0;  // of state 1 of the truth (a = -40, b = 3)
    for (const SampledNumbers& sequence : drawn.sequences) {
      ASSERT_EQ(sequence.values.size(), 8000U);
      ASSERT_EQ(sequence.states.size(), 4000U);
      for (std::size_t t = 0; t < 4000; ++t) {
        const double a = sequence.values[2 * t], b = sequence.values[2 * t + 1];
        if (a > -20) continue;
        near += 1;
        mean += a;
        between += (a + 40) * (b - 3);
      }
    }
    EXPECT_NEAR(near / 20000, 0.43, 0.06) << options;  // the stationary distribution
    EXPECT_NEAR(mean / near, -40, 1) << options;
    if (options.empty()) {
      EXPECT_NEAR(between / near, 6, 1.5);  // correlation within a state
    }
  }
}

TEST_F(HiddenMarkov, SamplesCostWhatScoreReports) {
  const std::string file = folder_.write("runs.csv", drawn_table(5, 100));
  for (const std::string options : {"", ",covariance=diagonal,components=2"}) {
    const std::string run = learn(file, "gaussian-hmm:3" + options, 1, "", "run");
    const SampledNumberSequences drawn =
        sample_hidden_markov({.model = run, .sampling = {.length = 50, .seed = 2}, .count = 2});
    std::string table = "run,a,b\n";
    double nats = 0;
    for (std::size_t s = 0; s < 2; ++s) {
      const SampledNumbers& sequence = drawn.sequences[s];
      for (std::size_t t = 0; t < 50; ++t)
        table += fmt::format("{},{},{}\n", s, sequence.values[2 * t], sequence.values[2 * t + 1]);
      nats += sequence.nats;
    }
    EXPECT_NEAR(head(run, folder_.write("drawn.csv", table)).nats, nats, 0.02) << options;
  }
}

/// From a known last state, the forecast of one step is the mixture of the states that can follow.
TEST_F(HiddenMarkov, ForecastsFollowFromTheLastState) {
  const std::string file = folder_.write("runs.csv", drawn_table(10, 200));
  const std::string run = learn(file, "gaussian-hmm:3", 1, "", "run");
  const std::string end = folder_.write("end.csv", "run,a,b\n0,38,3\n0,42,3\n0,40,3\n");
  std::string table;
  Reporter quiet;
  predict(
      {.model = run, .data = {end}, .ahead = 40, .samples = 2000, .threads = 1},
      [&](std::string_view text) { table += text; }, quiet);
  std::istringstream lines(table);
  std::string heading, line;
  std::getline(lines, heading);
  EXPECT_EQ(heading, "example\tahead\ta.mean\ta.q10\ta.q90\tb.mean\tb.q10\tb.q90");
  std::vector<std::vector<double>> rows;
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    rows.emplace_back();
    for (double x = 0; cells >> x;) rows.back().push_back(x);
  }
  ASSERT_EQ(rows.size(), 40U);
  EXPECT_NEAR(rows[0][2], 0.8 * 40 - 0.1 * 40, 4);  // state 2 stays with probability 0.8
  EXPECT_NEAR(rows[0][4], 52, 6);
  EXPECT_NEAR(rows[39][2], -0.43 * 40 + 0.30 * 40, 5);  // the stationary mean
}

TEST_F(HiddenMarkov, table_without_sequences_is_one_sequence) {
  const std::string file = folder_.write("runs.csv", drawn_table(1, 60));
  const std::string run = learn(file, "gaussian-hmm:2", 1, "a,b");
  EXPECT_EQ(head(run, file).predicted, 60);
}

TEST_F(HiddenMarkov, meaningless_options_are_rejected) {
  const std::string file = folder_.write("runs.csv", drawn_table(2, 20));
  EXPECT_TRUE(contains(message_of<UsageError>([&] { learn(file, "gaussian-hmm:2,fewest=3", 1); }), "fewest is larger"));
  EXPECT_TRUE(
      contains(message_of<UsageError>([&] { learn(file, "gaussian-hmm:50", 1, "a", "run"); }), "as many vectors"));
  const std::string texts = folder_.write("texts.csv", "a,b\n1,x\n2,y\n3,x\n");
  EXPECT_TRUE(contains(message_of<UsageError>([&] { learn(texts, "gaussian-hmm:2", 1); }), "supports only numbers"));
}

/// The input at the first position determines the label, so only a model with memory, here the states, can carry it to
/// the end.
TEST_F(HiddenMarkov, states_over_a_network_learn_one_label_per_sequence) {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += fmt::format("{{\"x\":[{}", i % 2 == 0 ? 1 : -1);
    for (int t = 0; t < 3 + i % 4; ++t) text += ",0";
    text += fmt::format("],\"label\":\"{}\"}}\n", i % 2 == 0 ? "up" : "down");
  }
  const std::string file = folder_.write("labels.jsonl", text);
  for (const char* loss : {"hybrid:2", "hybrid:2,order=forward"}) {
    const std::string run = learn(file, "bag:1", 200, fmt::format("label={}", loss));
    const HeadFigures found = head(run, file);
    EXPECT_EQ(found.predicted, 60);
    for (const auto& [name, value] : found.measures)
      if (name == "accuracy") {
        EXPECT_EQ(value, 1) << loss;
      }
    const std::string table = predicted(run, file);
    EXPECT_TRUE(contains(table, "label.best")) << table.substr(0, 200);
  }
  EXPECT_TRUE(contains(message_of<UsageError>([&] { learn(file, "rnn:4", 1, "label=crf"); }), "use softmax or hybrid"));
}

}  // namespace
}  // namespace unfold
