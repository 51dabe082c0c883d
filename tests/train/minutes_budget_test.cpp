// Time budgets are kept, including the last validation.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/optim/small_network.h"
#include "unfold/train/trainer.h"

namespace unfold {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Measures the longest step.
class LongestStep final : public Observer {
 public:
  /// `delay`: seconds that are added to the first step.
  explicit LongestStep(double delay) : delay_(delay) {}
  void progress(const ProgressEvent& event) override {
    if (event.step == 1) std::this_thread::sleep_for(std::chrono::duration<double>(delay_));
    longest_ = std::max(longest_, event.seconds - last_);
    last_ = event.seconds;
  }
  void validation(const ValidationEvent& event) override {
    last_ = event.seconds;
    ++validations_;
    share_ = event.share;
  }
  double longest() const { return longest_; }
  int validations() const { return validations_; }
  double share() const { return share_; }

 private:
  double delay_, longest_ = 0, last_ = 0, share_ = 0;
  int validations_ = 0;
};

struct Timed {
  TrainingResult result;
  double off = 0;  ///< deviation from the budget in seconds
  double step = 0;
  int validations = 0;
  double share = 0;
};

Timed train_for(double seconds, Index training, Index validation, TrainerOptions options, double delay = 0) {
  const std::string text = wavy_text(training + validation);
  const Corpus corpus = Corpus::from_text(text, Alphabet::chars_of(text));
  const auto parts = split_corpus(
      corpus, {{static_cast<std::int64_t>(training * 100'000'000 / (training + validation)),
                100'000'000 - static_cast<std::int64_t>(training * 100'000'000 / (training + validation)), 0}});
  SmallNetwork<float> small(corpus.alphabet().size(), 24, SmallNetwork<float>::Cell::lstm, 0);
  options.minutes = seconds / 60;
  Team team(1);
  Trainer<float> trainer(small.network, small.parameters, {corpus, parts[0], &parts[1], nullptr}, options, team);
  LongestStep observer(delay);
  trainer.set_observer(&observer);
  const auto start = Clock::now();
  Timed timed{.result = trainer.run()};
  timed.off = since(start) + options.spent_seconds - seconds;
  timed.step = observer.longest();
  timed.validations = observer.validations();
  timed.share = observer.share();
  return timed;
}

/// Other work on the machine can slow down steps and validations: only one of three runs must be on time.
void expect_on_time(double seconds, Index training, Index validation, const TrainerOptions& options) {
  double least = 1e9;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Timed timed = train_for(seconds, training, validation, options);
    EXPECT_EQ(timed.result.reason, "minutes");
    EXPECT_TRUE(timed.result.validated);
    const double excess = std::abs(timed.off) - std::max(0.05 * seconds, timed.step);
    least = std::min(least, excess);
    if (excess <= 0) return;
  }
  ADD_FAILURE() << "off by " << least << " s more than 5 % and a step";
}

TEST(Budget, time_budget_is_kept_for_any_validation_size) {
  TrainerOptions options;
  options.batches = {.window = 32, .batch = 8};
  expect_on_time(1.5, 20000, 2000, options);
  expect_on_time(1.5, 20000, 400000, options);  // a whole validation would take longer than the budget
  options.optimizer = "hf";
  expect_on_time(2, 20000, 2000, options);
  options.optimizer = "adam";
  options.spent_seconds = 0.7;
  expect_on_time(1.5, 20000, 2000, options);
}

TEST(Budget, long_validation_is_shortened_within_a_time_budget) {
  TrainerOptions options;
  options.batches = {.window = 32, .batch = 8};
  options.validation_warmup = 16;
  const Timed cut = train_for(1, 20000, 1000000, options);
  EXPECT_LT(cut.share, 0.7);
  EXPECT_EQ(cut.result.validation_share, cut.share);
  EXPECT_GT(cut.result.validation_symbols, 0);
  EXPECT_LT(cut.result.validation_symbols, 900000);
  const Timed whole = train_for(1, 20000, 1000, options);
  EXPECT_EQ(whole.share, 1);
  EXPECT_NEAR(static_cast<double>(whole.result.validation_symbols), 1000, 1);
  EXPECT_GT(whole.validations, 0);
}

TEST(Budget, ASlowFirstStepDoesNotEndTheRun) {
  TrainerOptions options;
  options.batches = {.window = 32, .batch = 8};
  const Timed timed = train_for(2, 20000, 400000, options, 0.3);
  EXPECT_EQ(timed.result.reason, "minutes");
  EXPECT_GT(timed.result.steps, 10);
}

TEST(Budget, step_budget_validates_everything) {
  TrainerOptions options;
  options.batches = {.window = 32, .batch = 8};
  options.steps = 3;
  const Timed timed = train_for(0, 20000, 20000, options);
  EXPECT_EQ(timed.result.reason, "steps");
  EXPECT_EQ(timed.result.validation_symbols, 20000);
}

}  // namespace
}  // namespace unfold
