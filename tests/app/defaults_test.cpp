/// What training does if only the data is specified: mixtures, the choice of a density model, lists of lines, small
/// data sets and notes on the budget.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "app/explain/explain.h"
#include "app/sample/sample.h"
#include "app/settings/line_lists.h"
#include "app/train/train.h"
#include "loss/density/bernoulli_mixture_fit.h"
#include "tests/base/scratch.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using testing_support::ScratchFolder;

/// Collects the notes of a run.
class Notes final : public Reporter {
 public:
  void remark(std::string_view text) override { text_ += std::string(text) + "\n"; }
  bool contain(std::string_view text) const { return text_.find(text) != std::string::npos; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class Defaults : public ::testing::Test {
 protected:
  TrainOutcome learn(const std::string& file, const std::function<void(TrainRequest&)>& change = {}) {
    TrainRequest request{.out = folder_.path("run"), .overwrite = true};
    request.settings.data = {file};
    request.run.threads = 1;
    request.given = {"data", "threads"};
    if (change) change(request);
    return train(request, notes_);
  }
  static void set(TrainRequest& request, const std::string& name, const std::string& value) {
    assign_text(name, value, request.settings, request.run);
    request.given.insert(name);
  }
  /// Two groups of rows of two numbers, with opposite correlations.
  std::string groups(Index rows) const {
    Random random(3, "groups");
    std::string text = "a,b\n";
    for (Index r = 0; r < rows; ++r) {
      const double x = random.normal(), y = 0.2 * random.normal(), side = r % 2 == 0 ? 1 : -1;
      text += fmt::format("{:.6f},{:.6f}\n", 5 * side + x, side * x + y);
    }
    return folder_.write("groups.csv", text);
  }
  std::string names() const {
    Random random(4, "names");
    const char *const first[] = {"Al", "Be", "Ca", "Do", "El", "Fa", "Gi", "Ha"}, *const middle[] = {"ba", "de", "la",
                                                                                                     "mi", "no", "ra",
                                                                                                     "ri", "so", "ta",
                                                                                                     "vi"},
                      *const last[] = {"", "n", "s", "nda", "rt", "lla"};
    std::string text;
    for (int i = 0; i < 400; ++i) {
      text += first[random.below(8)];
      for (std::uint64_t k = 1 + random.below(3); k > 0; --k) text += middle[random.below(10)];
      text += std::string(last[random.below(6)]) + "\n";
    }
    return folder_.write("names.txt", text);
  }

  ScratchFolder folder_;
  Notes notes_;
};

TEST_F(Defaults, MixturesAreFittedByExpectationMaximizationAndByGradientsWithABudget) {
  const std::string file = groups(300);
  const auto two = [](TrainRequest& request) {
    set(request, "format", "table");
    set(request, "model", "gaussian-mixture:2");
  };
  const TrainOutcome fitted = learn(file, two);
  EXPECT_EQ(fitted.result.reason, "fitted");
  ASSERT_TRUE(fitted.field_valid);
  // Entropy of the true distribution: log 2 + 2 (log sqrt(2 pi) + 1/2) + log 0.2.
  EXPECT_NEAR(fitted.field_valid->heads.front().nats_each(), 0.693 + 2 * (0.919 + 0.5) - 1.609, 0.4);
  const TrainOutcome trained = learn(file, [&](TrainRequest& request) {
    two(request);
    set(request, "steps", "3");
  });
  EXPECT_EQ(trained.result.reason, "steps");
  EXPECT_EQ(trained.settings.model, "gaussian-mixture:2,fit=gradients");
}

TEST_F(Defaults, ADensityIsChosenForATableOfNumbers) {
  const TrainOutcome outcome = learn(groups(200), [](TrainRequest& request) { set(request, "format", "table"); });
  EXPECT_EQ(outcome.settings.model, "gaussian-mixture:2") << notes_.text();
  EXPECT_TRUE(notes_.contain("cross-validation")) << notes_.text();
}

TEST(BernoulliMixture, FitFindsTheGroupsWithEverySeed) {
  Random random(5, "bits");
  constexpr Index kRows = 400, kBits = 8;
  std::vector<double> values;
  for (Index r = 0; r < kRows; ++r)
    for (Index i = 0; i < kBits; ++i)
      values.push_back(random.uniform() < ((i < 4) == (r % 2 == 0) ? 0.9 : 0.1) ? 1 : 0);
  const Matrix<const double> rows{values.data(), kRows, kBits, kBits};
  Team team(1);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const BernoulliMixtureFit fit = fit_bernoulli_mixture(rows, 2, {.seed = seed}, team);
    EXPECT_NEAR(fit.weights.front(), 0.5, 0.05) << seed;
    for (const double q : fit.probabilities) EXPECT_LT(std::min(std::abs(q - 0.1), std::abs(q - 0.9)), 0.08) << seed;
    double sum = 0;
    for (const double log_p : log_probabilities(fit, rows, team)) sum += log_p;
    EXPECT_NEAR(sum, fit.log_likelihood, 1e-6 * kRows);
  }
}

TEST(LineLists, NamesAreItemsAndOrdinaryTextIsNot) {
  std::string names, poem, tokens, code;
  for (int i = 0; i < 300; ++i) {
    names += fmt::format("name{}x\n", i);
    poem += fmt::format("the {} rose is red, and so are you\n", i);
    tokens += i % 3 == 0 ? "the\n" : i % 3 == 1 ? "cat\n" : "sat\n";
    code += fmt::format("  x{} = 1;\n", i);
  }
  EXPECT_NE(guess_item_lines(names), "");
  for (const std::string& other : {poem, tokens, code, names.substr(0, 200), std::string()})
    EXPECT_EQ(guess_item_lines(other), "") << other.substr(0, 40);
}

TEST_F(Defaults, AListOfNamesIsReadAsLinesAndSampledAsLines) {
  const std::string file = names();
  const TrainOutcome outcome = learn(file, [](TrainRequest& request) { set(request, "model", "ngram:3"); });
  EXPECT_TRUE(outcome.settings.lines);
  EXPECT_TRUE(notes_.contain("is read as lines")) << notes_.text();
  EXPECT_TRUE(samples_lines(outcome.run));
  const SampleRequest request{.model = outcome.run, .sampling = {.length = 1000}, .count = 200, .by_line = true};
  for (const SampledText& line : sample(request)) {
    EXPECT_GT(line.text.size(), 1U);
    EXPECT_EQ(line.text.find('\n'), line.text.size() - 1) << line.text;
  }
  const TrainOutcome text = learn(file, [](TrainRequest& given) {
    set(given, "model", "ngram:3");
    set(given, "format", "text");
  });
  EXPECT_FALSE(text.settings.lines);
}

TEST_F(Defaults, AListOfNamesIsTrainedForEnoughUpdates) {
  const TrainOutcome outcome = learn(names(), [](TrainRequest& request) { set(request, "model", "gru:8"); });
  EXPECT_TRUE(notes_.contain("small data (")) << notes_.text();
  EXPECT_GE(*outcome.settings.epochs, 10);
  EXPECT_GT(outcome.result.steps, 200);
  ASSERT_TRUE(outcome.valid);
  EXPECT_LT(outcome.valid->nats_per_symbol, outcome.baselines.front().baseline.value);  // the unigram
}

TEST_F(Defaults, ConstantColumnsDoNotDecideTheChoiceOfADensity) {
  Random random(3, "constant");
  std::string text = "a,b,c\n";
  for (Index r = 0; r < 200; ++r) {
    const double x = random.normal();
    text += fmt::format("{:.6f},7.5,{:.6f}\n", x, x + 0.3 * random.normal());
  }
  const TrainOutcome outcome =
      learn(folder_.write("constant.csv", text), [](TrainRequest& request) { set(request, "format", "table"); });
  EXPECT_EQ(outcome.settings.model, "gaussian-mixture:1") << notes_.text();
  EXPECT_TRUE(notes_.contain("1 of 3 columns have only one value")) << notes_.text();
}

TEST_F(Defaults, SmallDataAreFittedAgainWithWhatWasHeldOut) {
  const auto table = [](TrainRequest& request) {
    set(request, "format", "table");
    set(request, "model", "gaussian-mixture:1");
  };
  const std::string file = groups(100);
  EXPECT_EQ(learn(file, table).refitted_examples, 100);
  EXPECT_TRUE(notes_.contain("validated on 10 of 100 examples")) << notes_.text();
  const auto change = [&](const std::string& name, const std::string& value) {
    return learn(file, [&](TrainRequest& request) {
      table(request);
      set(request, name, value);
    });
  };
  EXPECT_EQ(change("refit", "no").refitted_examples, 0);
  EXPECT_EQ(change("split", "80/20").refitted_examples, 0);
  EXPECT_THROW(learn(file,
                     [&](TrainRequest& request) {
                       table(request);
                       set(request, "split", "100/0/0");
                       set(request, "refit", "yes");
                     }),
               UsageError);
}

TEST_F(Defaults, LabelsOfSmallDataAreLearnedAgainForTheBestSteps) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += i % 2 == 0 ? "1\tgood film\n" : "0\tbad film\n";
  const std::string file = folder_.write("few.txt", text);
  const auto labels = [](TrainRequest& request) {
    set(request, "format", "labelled");
    set(request, "model", "lstm:4");
  };
  const TrainOutcome again = learn(file, labels);
  EXPECT_EQ(again.refitted_examples, 60);
  const TrainOutcome once = learn(file, [&](TrainRequest& request) {
    labels(request);
    set(request, "refit", "no");
  });
  EXPECT_EQ(once.refitted_examples, 0);
  EXPECT_EQ(once.result.best_step, again.result.best_step);
  EXPECT_EQ(once.field_valid->heads.front().nats, again.field_valid->heads.front().nats);
}

TEST_F(Defaults, SmallSetsGetUpdatesAndStopEarly) {
  std::string text;
  for (int i = 0; i < 36; ++i) text += i % 2 == 0 ? "1\tgood film\n" : "0\tbad film\n";
  const TrainOutcome outcome = learn(folder_.write("few.txt", text), [](TrainRequest& request) {
    set(request, "format", "labelled");
    set(request, "model", "lstm:4");
  });
  EXPECT_GT(outcome.result.steps, 100);
  EXPECT_GT(outcome.settings.early_stop, 0);
}

TEST_F(Defaults, ABagExplainsByGradientTimesContribution) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += i % 2 == 0 ? "1\ta good film\n" : "0\ta bad film\n";
  const std::string file = folder_.write("films.txt", text);
  learn(file, [](TrainRequest& request) {
    set(request, "format", "labelled");
    set(request, "model", "bag:8,pool=mean");
    set(request, "steps", "200");
    set(request, "optimizer", "adam:rate=0.02");
  });
  Reporter silent;
  const FieldExplanation why =
      explain_fields({.model = folder_.path("run"), .data = {file}, .example = 1, .threads = 1, .reporter = &silent});
  ASSERT_EQ(why.votes.size(), 3U);
  EXPECT_GT(why.votes[1].weight, 2 * std::abs(why.votes[0].weight));
  EXPECT_GT(why.votes[1].weight, 2 * std::abs(why.votes[2].weight));
}

}  // namespace
}  // namespace unfold
