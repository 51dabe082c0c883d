#include "unfold/train/sources/task_sources.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "tests/optim/small_network.h"
#include "unfold/base/error.h"
#include "unfold/train/passes/batch_pass.h"

namespace unfold {
namespace {

/// A few examples, each once per epoch: a vector as input, a vector at every second step as target.
class FiniteTask final : public Task {
 public:
  std::string_view name() const override { return "finite"; }
  TaskShape shape() const override { return {.inputs = 2, .outputs = 2}; }
  Index length() const override { return 4; }
  Index scored_steps() const override { return 2; }
  Index examples(TaskSplit part) const override { return part == TaskSplit::training ? 7 : 3; }
  void example(TaskSplit, std::uint64_t, Index number, Example& out) const override {
    out.length = 4;
    out.values.resize(8);
    out.target_values.assign(8, std::nanf(""));
    for (std::size_t i = 0; i < 8; ++i) out.values[i] = static_cast<float>(number) + 0.1F * static_cast<float>(i);
    for (const std::size_t i : {2U, 3U, 6U, 7U}) out.target_values[i] = 0.25F * out.values[i];
  }
};

/// Its examples depend on the epoch in which they are read.
class MovingTask final : public Task {
 public:
  std::string_view name() const override { return still_.name(); }
  TaskShape shape() const override { return still_.shape(); }
  Index length() const override { return still_.length(); }
  Index examples(TaskSplit part) const override { return still_.examples(part); }
  void example(TaskSplit part, std::uint64_t seed, Index number, Example& out) const override {
    still_.example(part, seed, number, out);
  }
  void in_pass(Index pass, std::uint64_t seed, Index number, Example& out) const override {
    example(TaskSplit::training, seed, number, out);
    out.values.front() = static_cast<float>(100 * (pass + 1) + number);
  }

 private:
  FiniteTask still_;
};

template <class T>
struct ValueNetwork {
  ValueNetwork(const TaskShape& shape, Index units) {
    const Signal x = circuit.input("values", shape.inputs);
    const Signal y = circuit.affine("output", shape.outputs, {{"V", lstm(circuit, x, units)}});
    circuit.output(y);
    network =
        Network<T>::of(std::make_shared<const Plan>(circuit), {kTaskInput, x}, {kTaskTarget, y, gaussian_loss<T>()});
    parameters = Parameters<T>(circuit);
    parameters.initialize(3);
  }
  Circuit circuit;
  Network<T> network;
  Parameters<T> parameters;
};

TEST(TaskBatches, window_contains_its_examples_row_by_row) {
  const FiniteTask task;
  const auto source = task_batches(task, 3, 5);
  const Batch& window = source->batch();
  ASSERT_EQ(window.structure.sequences(), 3);
  EXPECT_EQ(window.symbols, 12);
  EXPECT_EQ(window.predicted, 6);
  Example e;
  for (Index c = 0; c < 3; ++c) {
    task.example(TaskSplit::training, 5, window.passages[at(c)], e);
    const Index* rows = window.structure.order().rows.data() + window.structure.item(c, 0);
    for (Index t = 0; t < 4; ++t) {
      const auto in = std::get<ValueRows>(window.field(kTaskInput)).values<double>(rows[t], 1);
      for (Index i = 0; i < 2; ++i) EXPECT_EQ(in(0, i), static_cast<double>(e.values[at(2 * t + i)]));
      EXPECT_EQ(is_present(window.field(kTaskTarget), rows[t]), t % 2 == 1);
      const auto out = std::get<ValueRows>(window.field(kTaskTarget)).values<float>(rows[t], 1);
      if (t % 2 == 1) {
        EXPECT_EQ(out(0, 1), e.target_values[at(2 * t + 1)]);
      }
    }
  }
}

TEST(TaskBatches, epoch_reads_every_example_once_and_is_seekable) {
  const FiniteTask task;
  const auto source = task_batches(task, 3, 5), other = task_batches(task, 3, 5);
  std::vector<std::vector<Index>> epochs;
  for (Index epoch = 0; epoch < 2; ++epoch) {
    std::multiset<Index> seen;
    std::vector<Index> order;
    for (Index w = 0; w < 3; ++w) {
      EXPECT_EQ(source->epoch(), epoch);
      other->seek(epoch, w);
      EXPECT_EQ(other->batch().passages, source->batch().passages);
      for (const Index n : source->batch().passages) {
        seen.insert(n);
        order.push_back(n);
      }
      source->advance();
    }
    EXPECT_EQ(seen, (std::multiset<Index>{0, 1, 2, 3, 4, 5, 6}));
    epochs.push_back(order);
  }
  EXPECT_NE(epochs[0], epochs[1]);
  const auto task_without_end = adding({.length = 8});
  const auto endless = task_batches(*task_without_end, 4, 1);
  for (int i = 0; i < 5; ++i) endless->advance();
  EXPECT_EQ(endless->batch().passages, (std::vector<Index>{20, 21, 22, 23}));
  EXPECT_EQ(endless->epochs_done(), 0);
  EXPECT_THROW(endless->seek(1, 0), UsageError);
  EXPECT_THROW(task_batches(task, 0, 1), UsageError);
}

TEST(TaskBatches, only_training_examples_change_in_every_pass) {
  const MovingTask task;
  const auto first = [](const Batch& batch, Index chain) {
    const Index row = batch.structure.order().rows[at(batch.structure.item(chain, 0))];
    return std::get<ValueRows>(batch.field(kTaskInput)).values<double>(row, 1)(0, 0);
  };
  const auto source = task_batches(task, 3, 5), sought = task_batches(task, 3, 5);
  for (Index pass = 0; pass < 3; ++pass)
    for (Index position = 0; position < 3; ++position, source->advance()) {
      sought->seek(pass, position);
      for (Index c = 0; c < source->batch().structure.sequences(); ++c) {
        EXPECT_EQ(first(source->batch(), c), static_cast<double>(100 * (pass + 1) + source->batch().passages[at(c)]));
        EXPECT_EQ(first(source->batch(), c), first(sought->batch(), c));
      }
    }
  Batch measured;
  for (const TaskSplit part : {TaskSplit::training, TaskSplit::validation}) {
    ASSERT_TRUE(task_reader(task, part, 5, 3, 3)->next(measured));
    EXPECT_EQ(first(measured, 2), 2.0);
  }
}

TEST(TaskBatches, gradient_of_a_final_value_equals_finite_differences) {
  const auto task = adding({.length = 5});
  ValueNetwork<double> net(task->shape(), 3);
  Team team(1);
  BatchPass<double> pass(net.network, team);
  const auto source = task_batches(*task, 4, 1);
  const Batch& window = source->batch();
  const auto loss = [&] {
    State<double> state(*net.network.plan, window.carry.slots_needed);
    enter_batch(window, *net.network.plan, state);
    pass.set_parameters(net.parameters);
    return pass.forward(window, state);
  };
  // The slow reference: half the squared error at the last step of each example.
  double expected = 0;
  const double found = loss();
  for (Index c = 0; c < 4; ++c) {
    const Index last = window.structure.order().rows[at(window.structure.item(c, 4))];
    const double difference =
        pass.outputs().front()(last, 0) - std::get<ValueRows>(window.field(kTaskTarget)).values<double>(last, 1)(0, 0);
    expected += 0.5 * difference * difference;
  }
  EXPECT_NEAR(found, expected, 1e-12);
  std::vector<double> gradient(net.parameters.flat().size());
  State<double> state(*net.network.plan, window.carry.slots_needed);
  enter_batch(window, *net.network.plan, state);
  pass.gradient(window, state, 1, gradient);
  for (std::size_t i = 0; i < gradient.size(); i += 3) {
    double& p = net.parameters.flat()[i];
    const double kept = p, h = 1e-5;
    p = kept + h;
    const double up = loss();
    p = kept - h;
    const double down = loss();
    p = kept;
    EXPECT_NEAR(gradient[i], (up - down) / (2 * h), 1e-7);
  }
}

TEST(TaskBatches, judge_counts_by_its_rule) {
  const FiniteTask task;
  const auto judge = task_judge<float>(task);
  judge->start();
  const auto stream = task_reader(task, TaskSplit::validation, 1, 100, 2);
  Batch window;
  Index windows = 0;
  while (stream->next(window)) {
    ++windows;
    std::vector<float> output(at(2 * window.symbols), 0.0F);
    for (Index r = 0; r < window.symbols; ++r)
      for (Index i = 0; i < 2; ++i)
        output[at(2 * r + i)] = std::get<ValueRows>(window.field(kTaskTarget)).values<float>(r, 1)(0, i);
    // Example 1 has a large error only before the evaluated steps, example 2 at the last step.
    for (Index c = 0; c < window.structure.sequences(); ++c) {
      const Index* rows = window.structure.order().rows.data() + window.structure.item(c, 0);
      if (window.passages[at(c)] == 1) output[at(2 * rows[1])] += 3;
      if (window.passages[at(c)] == 2) output[at(2 * rows[3])] += 0.21F;  // 0.0441 > 0.04
      if (window.passages[at(c)] == 0) output[at(2 * rows[3])] += 0.19F;  // 0.0361
    }
    const Matrix<const float> outputs[] = {{output.data(), window.symbols, 2, 2}};
    judge->see(window, outputs);
  }
  EXPECT_EQ(windows, 2);
  EXPECT_NEAR(judge->error_rate(), 1.0 / 3, 1e-12);
  EXPECT_NEAR(judge->measures()[1].second, (9 + 0.0441 + 0.0361) / 6, 1e-5);
}

TEST(TaskBatches, curriculum_starts_short_and_doubles_periodically) {
  const auto task = temporal_order({.length = 32});
  const auto source = task_batches(*task, 4, 5, 8);
  std::vector<Index> lengths;
  Example e;
  for (Index w = 0; w < 7; ++w) {
    source->seek(0, w);
    const Batch& window = source->batch();
    lengths.push_back(window.structure.size(0));
    EXPECT_EQ(source->shortened(), w < 4);
    task->shortened(lengths.back())->example(TaskSplit::training, 5, 4 * w + 3, e);
    EXPECT_EQ(std::get<SymbolRows>(window.field(kTaskInput)).symbols[at(window.structure.row(3, lengths.back() - 1))],
              e.symbols.back());
    EXPECT_EQ(std::get<SymbolRows>(window.field(kTaskTarget)).symbols[at(window.structure.row(3, lengths.back() - 1))],
              e.target_symbols.back());
  }
  EXPECT_EQ(lengths, (std::vector<Index>{10, 15, 20, 30, 32, 32, 32}));
  EXPECT_THROW(task_batches(FiniteTask(), 4, 5, 6), UsageError);
  EXPECT_THROW(task_batches(*task, 4, 5, -1), UsageError);
}

std::vector<float> trained(Index steps, const std::string& checkpoint, bool resume) {
  const auto task = adding({.length = 6});
  ValueNetwork<float> net(task->shape(), 4);
  Team team(1);
  const TrainerOptions options{.optimizer = "adam:rate=0.01",
                               .seed = 3,
                               .steps = steps,
                               .validate_every = 7,
                               .checkpoint = checkpoint,
                               .resume = resume};
  Trainer<float> trainer(net.network, net.parameters,
                         task_sources<float>(*task, "adding:6", {.batch = 5, .validation = 20, .curriculum = 20}, 3),
                         options, team);
  const TrainingResult result = trainer.run();
  EXPECT_TRUE(result.validated);
  EXPECT_EQ(result.steps, steps);
  return {net.parameters.flat().begin(), net.parameters.flat().end()};
}

TEST(TaskBatches, interrupted_task_run_equals_uninterrupted_run) {
  const std::string file = (std::filesystem::temp_directory_path() / "unfold-task-checkpoint.safetensors").string();
  const std::vector<float> whole = trained(30, "", false);
  trained(13, file, false);
  EXPECT_EQ(trained(30, file, true), whole);
  std::filesystem::remove(file);
}

/// h doubles at every step: harmless for the short sequences of a curriculum, but it overflows in validation.
TEST(TaskBatches, validation_overflow_during_a_curriculum_is_not_a_divergence) {
  const auto task = adding({.length = 400});
  Circuit circuit;
  const Signal x = circuit.input("values", task->shape().inputs);
  const Signal h = rnn(circuit, x, 3, {.activation = Map::relu, .recurrent = Init::identity(1, 2)});
  const Signal y = circuit.affine("output", 1, {{"V", h}});
  circuit.output(y);
  const Network<float> network = Network<float>::of(std::make_shared<const Plan>(circuit), {kTaskInput, x},
                                                    {kTaskTarget, y, gaussian_loss<float>()});
  Team team(1);
  for (const Index curriculum : {1000000, 0}) {
    Parameters<float> parameters(circuit);
    parameters.initialize(1);
    Trainer<float> trainer(
        network, parameters,
        task_sources<float>(*task, "adding:400", {.batch = 4, .validation = 4, .curriculum = curriculum}, 3),
        {.optimizer = "sgd:rate=1e-9", .steps = 6, .validate_every = 2}, team);
    if (curriculum == 0) {
      EXPECT_THROW(trainer.run(), DivergedError);
      continue;
    }
    const TrainingResult result = trainer.run();
    EXPECT_EQ(result.steps, 6);
    EXPECT_EQ(result.rollbacks, 0);
    EXPECT_FALSE(result.validated);
  }
}

TEST(TaskBatches, training_on_a_class_task_reaches_its_goal) {
  const auto task = copying({.length = 1, .pattern = 1, .symbols = 2});
  ASSERT_EQ(task->shape().outputs, 3);
  Circuit circuit;
  const Signal x = circuit.symbols("symbols", 4);
  const Signal y = circuit.affine("output", 3, {{"V", lstm(circuit, x, 8)}});
  circuit.output(y);
  const Network<float> network = Network<float>::of(std::make_shared<const Plan>(circuit), {kTaskInput, x},
                                                    {kTaskTarget, y, softmax_loss<float>()});
  Parameters<float> parameters(circuit);
  parameters.initialize(1);
  Team team(1);
  Trainer<float> trainer(network, parameters, task_sources<float>(*task, "copy", {.batch = 8, .validation = 50}, 1),
                         {.optimizer = "adam:rate=0.02", .steps = 2000, .validate_every = 20, .goal_error = 0}, team);
  const TrainingResult result = trainer.run();
  EXPECT_EQ(result.reason, "goal");
  EXPECT_LT(result.steps, 2000);
  EXPECT_EQ(result.best_step, result.steps);  // a model that reached the goal is kept, regardless of its loss
}

}  // namespace
}  // namespace unfold
