/// Constrained label and target search, compared with filtering the unconstrained results.

#include "app/predict/constraint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "app/fields/field_model.h"
#include "tests/app/small_runs.h"
#include "tests/base/scratch.h"

namespace unfold {
namespace {

using testing::HasSubstr;
using testing_support::message_of;
using testing_support::predicted;
using testing_support::ScratchFolder;
using testing_support::train_small;

class ConstraintTest : public testing::Test {
 protected:
  std::string trained(const std::string& data, const std::string& predict, const std::string& model, Index steps,
                      const std::string& format) {
    return train_small(folder_.path("run"), folder_.write("data", data), model, "adam:rate=0.03", steps,
                       [&](TrainRequest& request) {
                         request.settings.format = format;
                         if (!predict.empty()) request.settings.predict = predict;
                         request.given.insert({"format", "predict"});
                         request.overwrite = true;
                       });
  }
  struct Question {
    Index beam = 1, best = 1;
    bool sampled = false;
    std::optional<std::string> constraint = {};
  };
  std::vector<nlohmann::json> rows(const Question& question) {
    std::istringstream lines(predicted({.model = folder_.path("run"),
                                        .data = {folder_.path("data")},
                                        .format = TableFormat::jsonl,
                                        .beam = question.beam,
                                        .best = question.best,
                                        .sampled = question.sampled,
                                        .constraint = question.constraint}));
    std::vector<nlohmann::json> all;
    for (std::string line; std::getline(lines, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }

  ScratchFolder folder_;
};

std::string chunk_sentences(int count) {
  std::string text;
  for (int s = 0; s < count; ++s) text += s % 2 == 0 ? "a B\nb I\nc O\n\n" : "c O\nb B\nb I\na O\n\n";
  return text;
}

TEST_F(ConstraintTest, constrained_labels_equal_the_matching_n_best_labels) {
  for (const char* loss : {"2=crf", "2=softmax"}) {
    trained(chunk_sentences(10), loss, "birnn:4", 8, "columns");
    // Three labels at four positions give 81 sequences; for a random field all of them are listed with their
    // probabilities.
    const auto allowed = rows({.best = 200, .constraint = "O* B I* O*"});
    const auto anything = rows({.best = 200, .constraint = ".*"});
    ASSERT_EQ(allowed.size(), 10U);
    for (std::size_t e = 0; e < allowed.size(); ++e) {
      const std::size_t length = allowed[e]["2.best"].size();
      double sum = 0, all = 0;
      std::vector<double> share(length);
      std::string first;
      for (int n = 1; n <= 200; ++n) {
        const auto& labels = anything[e]["2.best." + std::to_string(n)];
        std::string text;
        for (const auto& label : labels) text += label.get<std::string>();
        if (text.empty()) break;
        const double p = anything[e]["2.sequence." + std::to_string(n)][0];
        all += p;
        const std::size_t b = text.find_first_not_of('O'), rest = text.find_first_not_of('I', b + 1);
        const bool matches = b != std::string::npos && text[b] == 'B' &&
                             (rest == std::string::npos || text.find_first_not_of('O', rest) == std::string::npos);
        if (!matches) continue;
        if (first.empty()) first = text;
        sum += p;
        for (std::size_t t = 0; t < length; ++t)
          if (text.substr(t, 1) == allowed[e]["2.best"][t]) share[t] += p;
      }
      EXPECT_NEAR(all, 1, 1e-6);
      std::string best;
      for (const auto& label : allowed[e]["2.best"]) best += label.get<std::string>();
      EXPECT_EQ(best, first) << loss;
      EXPECT_NEAR(allowed[e]["2.allowed"][0].get<double>(), sum, 1e-6);
      for (std::size_t t = 0; t < length; ++t)
        EXPECT_NEAR(allowed[e]["2.probability"][t].get<double>(), share[t] / sum, 1e-6);
    }
  }
}

TEST_F(ConstraintTest, constrained_targets_match_the_expression_and_end) {
  std::string pairs;
  for (int k = 0; k < 40; ++k) pairs += k % 2 == 0 ? "ab\txy\n" : "ba\tyx\n";
  trained(pairs, "", "gru:8", 60, "pairs");
  const std::string field = rows({}).front().contains("target.best") ? "target" : "";
  ASSERT_EQ(field, "target");
  for (const auto& row : rows({.beam = 4, .constraint = "y+x?y"})) {
    const std::string found = row["target.best"];
    EXPECT_GE(found.size(), 2U);
    EXPECT_EQ(found.front(), 'y');
    EXPECT_EQ(found.back(), 'y');
  }
  // The best unconstrained result is also the best under a constraint that allows it.
  const auto free = rows({.beam = 4}), same = rows({.beam = 4, .constraint = ".*"});
  for (std::size_t e = 0; e < free.size(); ++e) EXPECT_EQ(free[e]["target.best"], same[e]["target.best"]);
  EXPECT_THAT(message_of<DataError>([&] { rows({.constraint = "x{500}"}); }), HasSubstr("short enough for its source"));
  EXPECT_THAT(message_of<UsageError>([&] { rows({.sampled = true, .constraint = "x"}); }), HasSubstr("not to samples"));
}

TEST_F(ConstraintTest, constraints_on_labels_that_are_inputs_are_rejected) {
  train_small(folder_.path("run"), folder_.write("data", chunk_sentences(10)), "rnn:4", "adam", 2,
              [](TrainRequest& request) {
                request.settings.format = "columns";
                request.settings.read = "1,2[-1]";
                request.settings.predict = "2";
                request.given.insert({"format", "read", "predict"});
              });
  EXPECT_THAT(message_of<UsageError>([&] { rows({.constraint = ".*"}); }), HasSubstr("the model reads"));
}

}  // namespace
}  // namespace unfold
