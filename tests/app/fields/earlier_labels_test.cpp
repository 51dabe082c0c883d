/// Networks that read the labels of earlier positions, which a search finds: training, predictions and metrics.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/fields/evaluation/field_evaluation.h"
#include "tests/app/small_runs.h"
#include "tests/base/scratch.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using testing::HasSubstr;
using testing_support::message_of;
using testing_support::predicted;
using testing_support::ScratchFolder;
using testing_support::train_small;

enum class Tags { none, right, flipped };

/// Sentences in which the tag of an "x" is the tag of the word before, and a word "a" or "b" has its own tag.
std::string chained_tags(Index sentences, Tags tags) {
  Random random(4, "sentences");
  std::string text;
  for (Index s = 0; s < sentences; ++s) {
    bool a = true;
    for (int t = 0; t < 6; ++t) {
      const auto kind = t == 0 ? random.below(2) : random.below(4);
      if (kind < 2) a = kind == 0;
      const char* word = kind == 0 ? "a" : kind == 1 ? "b" : "x";
      text += tags == Tags::none ? fmt::format("{}\n", word)
                                 : fmt::format("{} {}\n", word, a == (tags == Tags::right) ? "A" : "B");
    }
    text += "\n";
  }
  return text;
}

class EarlierLabels : public testing::Test {
 protected:
  std::string run(const std::string& name, const std::string& model, Index steps,
                  const std::function<void(TrainSettings&)>& more = {},
                  const std::string& optimizer = "adam:rate=0.03") {
    return train_small(folder_.path(name), data_, model, optimizer, steps, [&](TrainRequest& request) {
      request.settings.read = "1,2[-1]";
      request.settings.predict = "2";
      if (more) more(request.settings);
    });
  }
  std::vector<nlohmann::json> rows(PredictRequest request) const {
    request.format = TableFormat::jsonl;
    std::istringstream text(predicted(std::move(request)));
    std::vector<nlohmann::json> examples;
    for (std::string line; std::getline(text, line);) examples.push_back(nlohmann::json::parse(line));
    return examples;
  }
  double accuracy(const std::string& model, Tags tags, bool true_labels, Index beam = 1) {
    const std::string file = folder_.write("judged.conll", chained_tags(20, tags));
    const FieldFigures figures =
        evaluate_on_fields({.model = model, .data = {file}, .beam = beam, .threads = 1, .true_labels = true_labels});
    for (const auto& [name, value] : figures.heads.front().measures)
      if (name == "accuracy") return value;
    return -1;
  }

  ScratchFolder folder_;
  std::string data_ = folder_.write("train.conll", chained_tags(60, Tags::right)),
              words_ = folder_.write("words.conll", chained_tags(20, Tags::none));
};

/// The network has no other recurrence: without the previous label, the tag of "x" is unknown.
TEST_F(EarlierLabels, are_found_by_search_in_predictions_and_metrics) {
  const std::string model = run("run", "tdnn:8,width=1,dilations=1", 300);
  std::string wanted, found;
  std::istringstream lines(chained_tags(20, Tags::right));
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) wanted += line.back();
  for (const nlohmann::json& example : rows({.model = model, .data = {words_}}))
    for (const nlohmann::json& label : example.at("2.best")) found += label.get<std::string>();
  EXPECT_EQ(found, wanted);
  EXPECT_EQ(accuracy(model, Tags::right, false), 1);
  EXPECT_EQ(accuracy(model, Tags::right, false, 4), 1);
  // With wrong labels in the data, the search is unaffected; after the labels of the data, only "x" is right.
  EXPECT_EQ(accuracy(model, Tags::flipped, false), 0);
  const double after_data = accuracy(model, Tags::flipped, true);
  EXPECT_NEAR(after_data, static_cast<double>(std::ranges::count(chained_tags(20, Tags::none), 'x')) / 120, 1e-9);
  EXPECT_GT(after_data, 0.3);
  // A stream gives the same predictions, one example at a time.
  EXPECT_EQ(predicted({.model = model, .data = {words_}, .follow = true}),
            predicted({.model = model, .data = {words_}}));
}

TEST_F(EarlierLabels, best_labelings_and_samples_have_joint_probabilities) {
  const std::string model = run("run", "gru:4", 20);
  for (const nlohmann::json& example : rows({.model = model, .data = {words_}, .beam = 64, .best = 3})) {
    EXPECT_EQ(example.at("2.best"), example.at("2.best.1"));
    double before = 1;
    for (int n = 1; n <= 3; ++n) {
      const double p = example.at(fmt::format("2.sequence.{}", n))[0];
      EXPECT_LE(p, before);
      before = p;
    }
    EXPECT_NE(example.at("2.best.1"), example.at("2.best.2"));
  }
  const PredictRequest samples{.model = model, .data = {words_}, .samples = 2, .sampled = true};
  const auto drawn = rows(samples);
  EXPECT_EQ(drawn, rows(samples));
  for (const nlohmann::json& example : drawn) {
    EXPECT_EQ(example.at("2.sample.2").size(), 6U);
    EXPECT_GT(example.at("2.sequence.2")[0].get<double>(), 0);
  }
}

TEST_F(EarlierLabels, train_with_every_kind_of_step) {
  const std::vector<std::tuple<std::string, std::string, std::function<void(TrainSettings&)>>> cases = {
      {"rnn:3,activation=relu,init=identity", "path", {}},
      {"rnn:3,activation=relu,init=identity", "path+adam", {}},
      {"gru:3", "hf:windows=1,iterations=3", {}},
      {"gru:3", "natural:windows=1,iterations=3", {}},
      {"gru:3", "ruop", {}},
      {"gru:3", "ruop:own=1", {}},
      {"gru:3", "rbpm", {}},
      {"gru:3", "lbfgs", {}},
      {"gru:3", "adam", [](TrainSettings& s) { s.shards = 2; }},
      {"gru:3", "adam", [](TrainSettings& s) { s.teacher_forcing = "1..0.5"; }},
      {"gru:3", "adam", [](TrainSettings& s) { s.feedback = "2+2"; }},
      {"gru:3", "adam", [](TrainSettings& s) { s.gradient = "rtrl"; }},
      {"gru:3", "adam", [](TrainSettings& s) { s.window = 4; }}};
  int n = 0;
  for (const auto& [model, optimizer, more] : cases) {
    const std::string made = run(fmt::format("run{}", n++), model, 2, more, optimizer);
    EXPECT_GE(accuracy(made, Tags::right, false), 0) << model << " " << optimizer;
  }
}

TEST_F(EarlierLabels, entries_that_a_search_cannot_replace_are_rejected) {
  const auto message = [&](const std::string& model, const std::string& read,
                           const std::function<void(TrainSettings&)>& more = {}) {
    return message_of<UsageError>([&] {
      run("none", model, 2, [&](TrainSettings& s) {
        s.read = read;
        if (more) more(s);
      });
    });
  };
  EXPECT_THAT(message("gru:3", "1[0]|2[-1]"), HasSubstr("only whole labels can be read"));
  EXPECT_THAT(message("gru:3", "1,2.lower[-1]"), HasSubstr("use 2[-1]"));
  EXPECT_THAT(message("crf", "1[0],2[-1]"), HasSubstr("predicts neighboring labels jointly"));
  EXPECT_THAT(message("bigru:3", "1,2[-1]"), HasSubstr("both ends"));
  EXPECT_THAT(message("gru:3", "1,2[-1]", [](TrainSettings& s) { s.predict = "2=crf"; }), HasSubstr("use 2=softmax"));
  EXPECT_THAT(message("gru:3", "1,2[-1]", [](TrainSettings& s) { s.best_by = "labels"; }),
              HasSubstr("--best-by sequences"));
  const std::string model = run("run", "gru:3", 2),
                    plain = run("plain", "gru:3", 2, [](TrainSettings&s) { s.read = "1"; });
  EXPECT_THAT(
      message_of<UsageError>([&] { predicted({.model = model, .data = {words_}, .beam = 2, .sampled = true}); }),
      HasSubstr("cannot be combined with --sample"));
  EXPECT_THAT(message_of<UsageError>([&] { accuracy(plain, Tags::right, true); }), HasSubstr("--true-labels applies"));
  EXPECT_THAT(message_of<UsageError>([&] { accuracy(model, Tags::right, true, 2); }), HasSubstr("no effect"));
}

}  // namespace
}  // namespace unfold
