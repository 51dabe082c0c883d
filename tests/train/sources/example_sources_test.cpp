/// Training on examples with fields: windows with carried state, interrupted runs, every optimizer with every kind of
/// head.

#include "unfold/train/sources/example_sources.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/train/sentences.h"
#include "unfold/train/passes/batch_pass.h"

namespace unfold {
namespace {

using testing_support::Data;
using testing_support::SentenceNetwork;

ExampleBatchOptions options_of(Index window, Index batch = 4) {
  return {.reads = {"word", "previous wind"}, .predicts = Data::kPredicts, .batch = batch, .window = window};
}

/// Returns the outputs and nats of every head at every position of the data.
template <class T>
std::vector<std::vector<T>> said(const Data& data, SentenceNetwork<T>& net, const ExampleBatchOptions& options) {
  Team team(1);
  BatchPass<T> pass(net.network, team);
  pass.set_parameters(net.parameters);
  std::vector<std::vector<T>> result(at(data.set.positions()));
  const auto reader = example_reader(data.set, options);
  State<T> state;
  for (Batch batch; reader->next(batch);) {
    enter_batch(batch, *net.network.plan, state);
    pass.forward(batch, state);
    leave_batch(batch, state);
    for (Index c = 0; c < batch.structure.sequences(); ++c)
      for (Index t = 0; t < batch.structure.size(c); ++t) {
        const Index row = batch.structure.row(c, t);
        std::vector<T>& to = result[at(batch.places[at(c)] + t)];
        for (const Matrix<const T> output : pass.outputs())
          to.insert(to.end(), output.row(row), output.row(row) + output.cols);
        to.push_back(pass.nats()[at(row)]);
      }
  }
  return result;
}

template <class T>
void expect_windows_to_equal_wholes() {
  const Data data;
  SentenceNetwork<T> net(*data.specification, false, Data::kPredicts);
  const auto whole = said(data, net, options_of(0));
  for (const auto& row : whole) ASSERT_FALSE(row.empty());
  for (const Index window : {1, 2, 3, 5, 100}) EXPECT_EQ(said(data, net, options_of(window)), whole) << window;
  EXPECT_EQ(said(data, net, options_of(0, 1)), whole);
  EXPECT_EQ(said(data, net, options_of(2, 100)), whole);
}

TEST(ExampleSources, windows_with_carried_state_have_the_bits_of_whole_examples) {
  expect_windows_to_equal_wholes<float>();
  expect_windows_to_equal_wholes<double>();
}

std::vector<float> trained(const Data& data, const ExampleBatchOptions& options, Index steps,
                           const std::string& checkpoint, bool resume) {
  SentenceNetwork<float> net(*data.specification, false, Data::kPredicts);
  Team team(1);
  Trainer<float> trainer(net.network, net.parameters, example_sources<float>(data.set, data.set, options, 3),
                         {.optimizer = "adam:rate=0.01",
                          .seed = 3,
                          .steps = steps,
                          .validate_every = 7,
                          .checkpoint = checkpoint,
                          .resume = resume},
                         team);
  EXPECT_EQ(trainer.run().steps, steps);
  return {net.parameters.flat().begin(), net.parameters.flat().end()};
}

TEST(ExampleSources, interrupted_run_equals_uninterrupted_run) {
  const Data data;
  const std::string file = (std::filesystem::temp_directory_path() / "unfold-examples-checkpoint.safetensors").string();
  for (const Index window : {0, 3}) {
    ExampleBatchOptions options = options_of(window);
    options.unknown_rate = 1;
    const std::vector<float> whole = trained(data, options, 40, "", false);
    for (const Index stop : {1, 14, 25}) {  // in the middle of examples
      trained(data, options, stop, file, false);
      EXPECT_EQ(trained(data, options, 40, file, true), whole) << "window " << window << ", stopped at " << stop;
    }
  }
  std::filesystem::remove(file);
}

/// Returns the best validation on the training examples.
double best_of(const Data& data, const std::vector<std::string>& heads, bool both, const std::string& optimizer,
               Index steps) {
  SentenceNetwork<double> net(*data.specification, both, heads);
  ExampleBatchOptions options = options_of(0, 100);
  options.predicts = heads;
  Team team(1);
  Trainer<double> trainer(net.network, net.parameters, example_sources<double>(data.set, data.set, options, 3),
                          {.optimizer = optimizer, .steps = steps, .validate_every = steps}, team);
  const TrainingResult result = trainer.run();
  EXPECT_EQ(result.rollbacks, 0) << optimizer;
  return result.best_nats_per_symbol;
}

TEST(ExampleSources, every_optimizer_trains_every_kind_of_head) {
  const Data data(16);
  for (const std::vector<std::string>& heads :
       {std::vector<std::string>{"tag"}, {"class"}, {"wind"}, {"tag", "class", "wind"}})
    for (const bool both : {false, true}) {
      const double start = best_of(data, heads, both, "sgd:rate=1e-12", 1);
      for (const char* optimizer :
           {"sgd:rate=0.1", "adam:rate=0.02", "hf:windows=1", "natural:windows=1,rate=0.3", "ruop", "rbpm",
            "ruop:reduction=quasi-diagonal", "rbpm:reduction=quasi-diagonal", "rbpm:control=fixed,keep=0.9", "ascent"})
        EXPECT_LT(best_of(data, heads, both, optimizer, 25), start - 0.02)
            << heads.front() << " of " << heads.size() << (both ? ", both directions, " : ", ") << optimizer;
    }
}

}  // namespace
}  // namespace unfold
