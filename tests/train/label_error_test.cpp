/// The fraction of wrong labels and of sequences that contain one, compared with counts by hand, and used as a
/// criterion for the best model.

#include "train/label_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/train/sentences.h"
#include "tests/train/trained_text.h"
#include "unfold/train/evaluate.h"
#include "unfold/train/sources/example_sources.h"

namespace unfold {
namespace {

using testing_support::Data;
using testing_support::SentenceNetwork;

/// Returns the metrics of label_judge for all sentences, read in windows (0: whole) and in batches of `batch`.
template <class T>
double judged(const Data& data, SentenceNetwork<T>& net, WrongLabels wrong, Index window, Index batch) {
  Team team(1);
  const auto judge = label_judge(net.network, net.parameters, wrong, team);
  judge->start();
  Evaluator<T> evaluator(net.network, team);
  const auto reader = example_reader(
      data.set, {.reads = {"word", "previous wind"}, .predicts = Data::kPredicts, .batch = batch, .window = window});
  evaluator.run(net.parameters, *reader, {},
                [&](const Batch& b, std::span<const Matrix<const T>> outputs) { judge->see(b, outputs); });
  EXPECT_EQ(judge->measures(),
            (Measures{{wrong == WrongLabels::each ? "error_rate" : "sequence_error", judge->error_rate()}}));
  return judge->error_rate();
}

struct Counted {
  double labels = 0, wrong = 0, sentences = 0, with_wrong = 0;
};

/// Counts sentence by sentence, from the columns of the data: the tag at every position, the class at the last one.
template <class T>
Counted counted(const Data& data, SentenceNetwork<T>& net) {
  Team team(1);
  BatchPass<T> pass(net.network, team);
  pass.set_parameters(net.parameters);
  Counted result;
  const auto reader = example_reader(
      data.set, {.reads = {"word", "previous wind"}, .predicts = Data::kPredicts, .batch = 1, .window = 0});
  State<T> state;
  for (Batch batch; reader->next(batch);) {
    enter_batch(batch, *net.network.plan, state);
    pass.forward(batch, state);
    const Index example = batch.passages[0], begin = data.set.begin(example), length = data.set.length(example);
    Index labels = 0, wrong = 0;
    for (std::size_t head = 0; head < 2; ++head) {
      const std::string& name = Data::kPredicts[head];
      const ExampleColumn& column = data.examples.columns[head + 1];
      const Alphabet& alphabet = *data.specification->field(name).alphabet;
      for (Index t = 0; t < length; ++t) {
        if (column.once && t + 1 < length) continue;
        const auto entry = at(column.once ? example : begin + t);
        if (column.missing[entry]) continue;
        const T* o = pass.outputs()[head].row(batch.structure.row(0, t));
        Symbol best = 0;
        for (Symbol x = 1; x < alphabet.size(); ++x)
          if (o[x] > o[best]) best = x;
        ++labels;
        wrong += alphabet.text(best) != column.texts[entry];
      }
    }
    result.labels += static_cast<double>(labels);
    result.wrong += static_cast<double>(wrong);
    result.sentences += labels > 0;
    result.with_wrong += wrong > 0;
  }
  return result;
}

template <class T>
void expect_counts() {
  const Data data(60);
  SentenceNetwork<T> net(*data.specification, false, Data::kPredicts);
  const Counted all = counted(data, net);
  ASSERT_GT(all.wrong, 0);
  ASSERT_LT(all.with_wrong, all.sentences);
  for (const Index window : {0, 1, 3})
    for (const Index batch : {1, 7}) {
      EXPECT_EQ(judged(data, net, WrongLabels::each, window, batch), all.wrong / all.labels);
      EXPECT_EQ(judged(data, net, WrongLabels::sequences, window, batch), all.with_wrong / all.sentences);
    }
}

TEST(LabelJudge, label_judge_counts_wrong_labels_and_sentences_for_any_batching) {
  expect_counts<float>();
  expect_counts<double>();
}

TEST(LabelJudge, networks_without_labels_are_rejected) {
  const Data data;
  SentenceNetwork<float> net(*data.specification, false, {"wind"});
  Team team(1);
  EXPECT_THROW(label_judge(net.network, net.parameters, WrongLabels::each, team), UsageError);
}

/// Returns predefined results, validation by validation.
class ToldJudge final : public Judge<float> {
 public:
  explicit ToldJudge(const std::map<Index, double>& errors, const Index& step) : errors_(errors), step_(step) {}
  void start() override {}
  void see(const Batch& /*batch*/, std::span<const Matrix<const float>> /*outputs*/) override {}
  Measures measures() const override { return {{"error_rate", error_rate()}}; }
  double error_rate() const override { return errors_.at(step_); }

 private:
  std::map<Index, double> errors_;
  const Index& step_;
};

struct Steps : Observer {
  void progress(const ProgressEvent& e) override {
    step = e.step;
    if (step == stop_at) stop = true;
  }
  void validation(const ValidationEvent& e) override {
    nats[e.step] = e.nats_per_symbol;
    if (e.best) best.push_back(e.step);
  }
  Index step = 0, stop_at = -1;
  std::atomic<bool> stop{false};
  std::map<Index, double> nats;
  std::vector<Index> best;
};

class BestByErrorTest : public TrainerTest {
 protected:
  /// Runs training that validates every ten steps.
  TrainingResult run(const std::map<Index, double>& errors, Steps& steps, TrainerOptions options) {
    const Data data;
    SentenceNetwork<float> net(*data.specification, false, Data::kPredicts);
    options.optimizer = "adam:rate=0.03";
    options.validate_every = 10;
    options.best_by_error = !errors.empty();
    options.stop = &steps.stop;
    Team team(1);
    TrainingSources<float> sources = example_sources<float>(
        data.set, data.set, {.reads = {"word", "previous wind"}, .predicts = Data::kPredicts, .batch = 8}, 3);
    if (!errors.empty()) sources.judge = std::make_unique<ToldJudge>(errors, steps.step);
    Trainer<float> trainer(net.network, net.parameters, std::move(sources), options, team);
    trainer.set_observer(&steps);
    const TrainingResult result = trainer.run();
    best_ = flat(trainer.best());
    return result;
  }
  std::vector<float> best_;
};

TEST_F(BestByErrorTest, best_model_has_the_least_error_and_then_the_least_nats) {
  Steps steps;
  const TrainingResult result = run({{10, 0.5}, {20, 0.5}, {30, 0.2}, {40, 0.3}, {50, 0.2}}, steps, {.steps = 50});
  ASSERT_LT(steps.nats[20], steps.nats[10]);
  ASSERT_LT(steps.nats[50], steps.nats[30]);
  EXPECT_THAT(steps.best, testing::ElementsAre(10, 20, 30, 50));
  EXPECT_EQ(result.best_step, 50);
  EXPECT_EQ(result.best_nats_per_symbol, steps.nats[50]);
  Steps early;
  EXPECT_EQ(run({{10, 0.1}, {20, 0.2}, {30, 0.3}, {40, 0.4}, {50, 0.5}}, early, {.steps = 50}).best_step, 10);
  Steps by_nats;
  EXPECT_EQ(run({}, by_nats, {.steps = 50}).best_step, 50);
}

TEST_F(BestByErrorTest, resumed_run_remembers_the_least_error) {
  const std::map<Index, double> errors = {{10, 0.5}, {20, 0.1}, {30, 0.3}, {40, 0.2}};
  Steps whole;
  ASSERT_EQ(run(errors, whole, {.steps = 40}).best_step, 20);
  const std::vector<float> expected = best_;
  Steps cut;
  cut.stop_at = 25;
  EXPECT_THROW(run(errors, cut, {.steps = 40, .checkpoint = file("c")}), InterruptedError);
  Steps resumed;
  EXPECT_EQ(run(errors, resumed, {.steps = 40, .checkpoint = file("c"), .resume = true}).best_step, 20);
  EXPECT_EQ(best_, expected);
  Steps other;
  EXPECT_THROW(run({}, other, {.steps = 40, .checkpoint = file("c"), .resume = true}), UsageError);
}

}  // namespace
}  // namespace unfold
