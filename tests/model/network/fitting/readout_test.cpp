#include "model/network/fitting/readout.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/tasks/series_tasks.h"
#include "data/text/repeated_reader.h"
#include "unfold/base/error.h"
#include "unfold/data/tasks/task_batches.h"
#include "unfold/model/network/network_model.h"

namespace unfold {
namespace {

constexpr const char* kModel = "esn:30,input-scale=0.1,bias-scale=0.4,reservoir=2";

struct Fitted {
  explicit Fitted(Index parallel_for_each, const std::string& more = ",washout=40")
      : task(narma({.length = 400, .skip = 20})),
        model(std::string(kModel) + more, task_specification("narma:400", *task), task_layout()) {
    model.initialize(1);
    before.assign(model.parameters().flat().begin(), model.parameters().flat().end());
    const auto reader = task_reader(*task, TaskSplit::training, 1, 3, parallel_for_each);
    fit = fit_readout(model.network(), model.parameters(), *reader, team, *readout_of(model.spec()));
  }
  double squared_error() {
    const TaskScore score = evaluate_double();
    return 2 * score.evaluation.nats / static_cast<double>(score.evaluation.predicted);
  }
  TaskScore evaluate_double() {
    TaskScore score;
    Evaluator<double> evaluator(model.network(), team);
    score.evaluation = evaluator.run(model.parameters(), *task_reader(*task, TaskSplit::test, 1, 2, 2));
    return score;
  }
  Team team{1};
  std::unique_ptr<Task> task;
  NetworkModel<double> model;
  std::vector<double> before;
  ReadoutFit fit;
};

TEST(Readout, readout_fit_leaves_the_reservoir_unchanged) {
  Fitted f(1);
  EXPECT_EQ(f.fit.positions, 1200);
  EXPECT_EQ(f.fit.fitted, 3 * 360);
  const auto after = f.model.parameters().flat();
  for (const ParameterInfo& p : f.model.parameters().info())
    for (Index i = 0; i < p.size(); ++i)
      if (!p.name.starts_with("output/")) {
        EXPECT_EQ(after[at(p.offset + i)], f.before[at(p.offset + i)]) << p.name;
      }
  EXPECT_LT(f.squared_error(), 0.5 * 0.0108);  // half of the variance of the series
}

/// Changing any weight increases the error on the positions of the fit.
TEST(Readout, readout_minimizes_the_error) {
  Fitted f(1, ",ridge=1e-12,washout=20");
  const auto error = [&] {
    Evaluator<double> evaluator(f.model.network(), f.team);
    return evaluator.run(f.model.parameters(), *task_reader(*f.task, TaskSplit::training, 1, 3, 1)).nats;
  };
  const double least = error();
  Matrix<double> v = f.model.parameters().at("output/V");
  for (const Index i : {0, 7, 29})
    for (const double factor : {0.9, 1.1}) {
      const double kept = v(i, 0);
      v(i, 0) *= factor;
      EXPECT_GT(error(), least) << i;
      v(i, 0) = kept;
    }
}

TEST(Readout, batched_readout_equals_sequential_readout) {
  Fitted one(1, ",ridge=1e-6,washout=40"), three(3, ",ridge=1e-6,washout=40");
  const Matrix<double> a = one.model.parameters().at("output/V"), b = three.model.parameters().at("output/V");
  for (Index i = 0; i < a.rows; ++i) EXPECT_NEAR(a(i, 0), b(i, 0), 1e-6 * (1 + std::fabs(a(i, 0))));
}

TEST(Readout, readout_selects_lambda_by_blocks) {
  Fitted f(1, ",blocks=3");
  EXPECT_GT(f.fit.lambda, 0);
  EXPECT_LT(f.squared_error(), 0.5 * 0.0108);
}

/// With n rows and p weights, the held-out residuals have the variance d^2 = r n^2 / (n - p)^2, where r is the mean
/// square of the residuals, and the nats on the training data are log d + log(2 pi) / 2 + r / (2 d^2).
TEST(Readout, normal_readout_has_the_deviation_of_held_out_residuals) {
  const auto task = narma({.length = 400, .skip = 20});
  NetworkLayout layout = task_layout();
  layout.heads[0].loss = "normal";
  NetworkModel<double> model("esn:30,input-scale=0.1,ridge=1e-9,washout=20", task_specification("narma:400", *task),
                             layout);
  model.initialize(1);
  Team team(1);
  const auto read = [&] { return task_reader(*task, TaskSplit::training, 1, 3, 1); };
  const ReadoutFit fit = fit_readout(model.network(), model.parameters(), *read(), team, *readout_of(model.spec()));
  Evaluator<double> evaluator(model.network(), team);
  const double n = 3 * 380, p = 31, ratio = std::pow(n / (n - p), 2);
  EXPECT_NEAR(evaluator.run(model.parameters(), *read()).nats_per_symbol(),
              0.5 * std::log(fit.mean_square * ratio) + 0.91893853320467274 + 0.5 / ratio, 1e-4);
}

/// Sequences of these lengths, each in pieces of at most 10 positions.
class PieceReader final : public BatchReader {
 public:
  explicit PieceReader(std::vector<Index> lengths) : lengths_(std::move(lengths)) {}
  bool next(Batch& batch) override {
    if (sequence_ == lengths_.size()) return false;
    const Index size = std::min<Index>(10, lengths_[sequence_] - read_);
    batch = {};
    batch.structure = Structure::chains(1, size);
    batch.carry = {.slots = {0}, .fresh = {}, .moves = {}, .slots_needed = 1};
    if (read_ == 0) batch.carry.fresh = {0};
    read_ += size;
    if (read_ == lengths_[sequence_]) ++sequence_, read_ = 0;
    return true;
  }

 private:
  std::vector<Index> lengths_;
  std::size_t sequence_ = 0;
  Index read_ = 0;
};

TEST(Readout, default_washout_is_a_tenth_of_the_median_length) {
  const auto washout = [](std::vector<Index> lengths) {
    PieceReader reader(std::move(lengths));
    return washout_by_length(reader);
  };
  EXPECT_EQ(washout({5, 6, 3}), 0);
  EXPECT_EQ(washout({25, 7, 60}), 2);
  EXPECT_EQ(washout({60, 7, 69, 5000}), 6);
  EXPECT_EQ(washout({999}), 99);
  EXPECT_EQ(washout({1000}), 100);
  EXPECT_EQ(washout({100'000, 30'000}), 100);
  const auto task = narma({.length = 400, .skip = 20});
  EXPECT_EQ(washout_by_length(*task_reader(*task, TaskSplit::training, 1, 6, 3)), 40);
  EXPECT_EQ(readout_of(parse_model_spec("esn:5"))->washout, kWashoutByLength);
  EXPECT_EQ(readout_of(parse_model_spec("esn:5,washout=7"))->washout, 7);
}

TEST(Readout, readout_is_fitted_only_if_the_spec_requests_it) {
  EXPECT_TRUE(readout_of(parse_model_spec("esn:5")).has_value());
  EXPECT_FALSE(readout_of(parse_model_spec("esn:5,readout=trained")).has_value());
  EXPECT_FALSE(readout_of(parse_model_spec("rnn:5")).has_value());
}

/// The label is one of four equally probable orders of two symbols; a constant prediction has ln 4 nats.
TEST(Readout, softmax_readout_predicts_symbols_from_a_fixed_reservoir) {
  const auto task = temporal_order({.length = 12});
  NetworkModel<double> model("esn:120,radius=0.99,input-scale=0.2,washout=0",
                             task_specification("temporal-order:12", *task), task_layout());
  model.initialize(1);
  const std::vector<double> before(model.parameters().flat().begin(), model.parameters().flat().end());
  Team team(1);
  RepeatedReader reader([&] { return task_reader(*task, TaskSplit::training, 1, 1000, 50); });
  const ReadoutFit fit = fit_readout(model.network(), model.parameters(), reader, team, *readout_of(model.spec()));
  EXPECT_GT(reader.passes(), 3);
  EXPECT_EQ(fit.fitted, 1000);
  Evaluator<double> evaluator(model.network(), team);
  const auto after = model.parameters().flat();
  for (const ParameterInfo& p : model.parameters().info())
    for (Index i = 0; i < p.size() && !p.name.starts_with("output/"); ++i)
      EXPECT_EQ(after[at(p.offset + i)], before[at(p.offset + i)]) << p.name;
  const Evaluation fresh = evaluator.run(model.parameters(), *task_reader(*task, TaskSplit::test, 1, 200, 50));
  EXPECT_LT(fresh.nats_per_symbol(), 0.5 * std::log(4));
}

TEST(Readout, heads_without_classes_or_numbers_are_rejected) {
  const auto task = narma({.length = 400, .skip = 20});
  NetworkLayout layout = task_layout();
  layout.heads[0].loss = "mixture:2";
  NetworkModel<double> model("esn:5", task_specification("narma:400", *task), layout);
  Team team(1);
  const auto reader = task_reader(*task, TaskSplit::training, 1, 2, 2);
  EXPECT_THROW(fit_readout(model.network(), model.parameters(), *reader, team, {}), UsageError);
}

}  // namespace
}  // namespace unfold
