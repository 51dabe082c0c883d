/// Networks that read their own outputs, with the gradient through them.

#include "model/network/feedback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "unfold/base/error.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/train/objective/output_feedback.h"
#include "unfold/train/passes/batch_pass.h"
#include "unfold/train/trainer.h"

namespace unfold {
namespace {

using testing::HasSubstr;
using Type = FieldSpecification::Type;

DataSpecification winds() {
  return {
      .source = "table",
      .fields = {{.name = "sky", .type = Type::symbols, .size = 3}, {.name = "wind", .type = Type::values, .size = 2}}};
}

struct Case {
  std::string spec;
  NetworkLayout layout;
};

const std::vector<Case> kCases = {
    {"rnn:3", {.reads = {"previous wind"}, .heads = {{.field = "wind"}}}},
    {"lstm:3,layers=2,embedding=2,direct=2",
     {.reads = {"previous wind"}, .heads = {{.field = "wind", .loss = "normal"}}}},
    {"gru:3", {.reads = {"previous(2) wind", "sky"}, .heads = {{.field = "wind"}, {.field = "sky"}}}},
};

struct Built {
  Built(const Case& of, bool feedback)
      : network(build_network<double>(parse_model_spec(of.spec), winds(), of.layout, circuit, {.feedback = feedback})),
        parameters(circuit) {
    parameters.initialize(3);
    Random noise(4, "parameters");
    for (double& p : parameters.flat()) p += 0.3 * noise.normal();
  }
  Circuit circuit;
  Network<double> network;
  Parameters<double> parameters;
};

/// Sequences of 9 and 5 positions.
Batch some_batch(const Case& of) {
  Batch batch;
  batch.structure = Structure::chains(std::vector<Index>{9, 5});
  const Index rows = batch.structure.positions();
  Random random(6, "winds");
  ValueRows& wind = batch.value_field("wind");
  SymbolRows& sky = batch.symbol_field("sky");
  wind.clear(rows, 2), sky.clear(rows);
  for (Index r = 0; r < rows; ++r) {
    for (Index i = 0; i < 2; ++i) wind.set(r, i, static_cast<float>(random.normal()));
    sky.symbols[at(r)] = static_cast<Symbol>(random.below(3));
  }
  for (const std::string& read : of.layout.reads) {
    const FieldRead what = parse_read(read);
    if (what.back == 0) continue;
    ValueRows& earlier = batch.value_field(read);
    earlier.clear(rows, 2);
    for (Index c = 0; c < 2; ++c)
      for (Index t = what.back; t < batch.structure.size(c); ++t)
        for (Index i = 0; i < 2; ++i)
          earlier.set(
              batch.structure.row(c, t), i,
              std::get<ValueRows>(batch.field("wind")).values<float>(batch.structure.row(c, t - what.back), 1)(0, i));
  }
  batch.whole = true;
  batch.reset_all_chains();
  return batch;
}

/// Returns the output of the first head at every row.
std::vector<double> outputs(const Built& built, const Batch& batch, double* nats = nullptr) {
  Team team(1);
  BatchPass<double> pass(built.network, team);
  State<double> state(*built.network.plan, 2);
  enter_batch(batch, *built.network.plan, state);
  pass.set_parameters(built.parameters);
  const double all = pass.forward(batch, state);
  if (nats != nullptr) *nats = all;
  const Matrix<const double> o = pass.outputs().front();
  return {o.data, o.data + o.rows * o.cols};
}

TEST(Feedback, feedback_has_correct_derivatives_through_outputs) {
  for (const Case& of : kCases) {
    Circuit circuit;
    const auto network =
        build_network<double>(parse_model_spec(of.spec), winds(), of.layout, circuit, {.feedback = true});
    const CheckReport report = check_derivatives(network, Structure::chains(std::vector<Index>{4, 1, 3}));
    EXPECT_TRUE(report.passed()) << of.spec << report.text();
  }
}

TEST(Feedback, feedback_without_free_positions_changes_nothing) {
  for (const Case& of : kCases) {
    const Built plain(of, false), loops(of, true);
    ASSERT_EQ(std::vector<double>(plain.parameters.flat().begin(), plain.parameters.flat().end()),
              std::vector<double>(loops.parameters.flat().begin(), loops.parameters.flat().end()));
    const Batch batch = some_batch(of);
    OutputFeedback<double> free(loops.network, {.given = 3, .free = 2}, 1);
    EXPECT_EQ(outputs(plain, batch), outputs(loops, free.mark(batch, 1, 0))) << of.spec;
  }
}

/// The same network, read position by position, with its own means written into its inputs.
TEST(Feedback, free_positions_read_the_network_output) {
  for (const Case& of : kCases) {
    const Built plain(of, false), loops(of, true);
    const Feedback pattern{.given = 3, .free = 4};
    Batch batch = some_batch(of);
    OutputFeedback<double> free(loops.network, pattern, 1);
    double nats = 0, written = 0;
    const auto want = outputs(loops, free.mark(batch, 0, 0), &nats);
    const std::string& read = of.layout.reads.front();
    const Index back = parse_read(read).back;
    for (Index t = back; t < 9; ++t) {
      const auto given = outputs(plain, batch);
      const auto size = static_cast<Index>(given.size()) / batch.structure.positions();
      for (Index c = 0; c < 2; ++c)
        if (t < batch.structure.size(c) && t % 7 >= 3)
          for (Index i = 0; i < 2; ++i)
            batch.value_field(read).set(batch.structure.row(c, t), i,
                                        static_cast<float>(given[at(batch.structure.row(c, t - back) * size + i)]));
    }
    const auto stepped = outputs(plain, batch, &written);
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(want[i], stepped[i], 3e-6) << of.spec;  // fields hold floats
    EXPECT_NEAR(nats, written, 1e-4);
  }
}

/// Central differences of the loss, including free positions.
TEST(Feedback, gradient_equals_differences_of_the_loss_with_free_positions) {
  for (const Case& of : kCases) {
    Built loops(of, true);
    OutputFeedback<double> free(loops.network, {.given = 2, .free = 3}, 1);
    const Batch batch = free.mark(some_batch(of), 0.3, 4);
    Team team(2);
    BatchPass<double> pass(loops.network, team);
    const auto loss = [&] {
      State<double> state(*loops.network.plan, 2);
      enter_batch(batch, *loops.network.plan, state);
      pass.set_parameters(loops.parameters);
      return pass.forward(batch, state);
    };
    std::vector<double> gradient(loops.parameters.flat().size());
    State<double> state(*loops.network.plan, 2);
    enter_batch(batch, *loops.network.plan, state);
    pass.set_parameters(loops.parameters);
    pass.gradient(batch, state, 1, gradient);
    for (std::size_t i = 0; i < gradient.size(); i += 3) {
      double& p = loops.parameters.flat()[i];
      const double kept = p;
      p = kept + 1e-5;
      const double above = loss();
      p = kept - 1e-5;
      const double below = loss();
      p = kept;
      EXPECT_NEAR(gradient[i], (above - below) / 2e-5, 1e-6 * std::max(1.0, std::abs(gradient[i]))) << of.spec << i;
    }
  }
}

TEST(Feedback, feedback_alternates_n_true_and_k_free_positions) {
  const Built loops(kCases[0], true);
  const Batch batch = some_batch(kCases[0]);
  OutputFeedback<double> free(loops.network, {.given = 2, .free = 3}, 1);
  const auto marked = [&](double forcing, Index step) {
    const Batch result = free.mark(batch, forcing, step);
    std::vector<float> flags;
    for (Index t = 0; t < 9; ++t)
      flags.push_back(
          std::get<ValueRows>(result.field("free previous wind")).values<float>(result.structure.row(0, t), 1)(0, 0));
    return flags;
  };
  EXPECT_EQ(marked(0, 0), (std::vector<float>{0, 0, 1, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(marked(1, 0), std::vector<float>(9, 0));
  double share = 0;
  for (Index step = 0; step < 400; ++step)
    for (const float flag : marked(0.7, step)) share += flag / (400.0 * 5);
  EXPECT_NEAR(share, 0.3, 5 * std::sqrt(0.21 / 2000));
  EXPECT_EQ(marked(0.5, 3), marked(0.5, 3));
}

/// A source that returns the same batch in every step.
class OneBatch final : public BatchSource {
 public:
  explicit OneBatch(Batch batch) : batch_(std::move(batch)) {}
  const Batch& batch() const override { return batch_; }
  void advance() override { ++position_; }
  void seek(Index, Index batch) override { position_ = batch; }
  Index epoch() const override { return 0; }
  Index position() const override { return position_; }
  double epochs_done() const override { return 0; }
  Index streams() const override { return 2; }
  bool shortened() const override { return false; }

 private:
  Batch batch_;
  Index position_ = 0;
};

struct Trained {
  std::vector<double> parameters;
  double loss = 0;
};

/// `stop_at`: the step at which training is stopped; 0: never.
Trained train_freely(TrainerOptions options, int threads, Index stop_at = 0,
                     std::string_view optimizer = "adam:rate=0.01") {
  struct Stop : Observer {
    void progress(const ProgressEvent& e) override { flag = at > 0 && e.step >= at; }
    Index at = 0;
    std::atomic<bool> flag{false};
  } stop;
  stop.at = stop_at;
  options.stop = &stop.flag;
  options.optimizer = optimizer;
  options.log_every = 1;
  const Case& of = kCases[0];
  Built plain(of, false), loops(of, true);
  Batch batch = some_batch(of);
  batch.predicted = batch.symbols = batch.structure.positions();
  TrainingSources<double> sources;
  sources.training = std::make_unique<OneBatch>(batch);
  sources.step_symbols = batch.symbols;
  sources.configuration = nlohmann::json{{"data", "winds"}};
  if (options.feedback.on()) sources.feedback = std::make_shared<const Network<double>>(loops.network);
  Team team(threads);
  Trainer<double> trainer(plain.network, plain.parameters, std::move(sources), options, team);
  trainer.set_observer(&stop);
  Trained trained;
  try {
    trained.loss = trainer.run().last_loss;
  } catch (const InterruptedError&) {
  }
  trained.parameters.assign(plain.parameters.flat().begin(), plain.parameters.flat().end());
  return trained;
}

TEST(Feedback, training_is_byte_identical_for_any_threads_and_interruptions) {
  const auto folder = std::filesystem::temp_directory_path() / ("unfold-feedback-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  TrainerOptions options;
  options.steps = 60;
  options.feedback = {.given = 2, .free = 3};
  options.forcing = {.from = 0.9, .to = 0.1};
  options.checkpoint_seconds = 0;
  options.checkpoint = (folder / "whole").string();
  const Trained whole = train_freely(options, 1);
  EXPECT_EQ(train_freely(options, 2).parameters, whole.parameters);
  options.checkpoint = (folder / "cut").string();
  EXPECT_NE(train_freely(options, 1, 23).parameters, whole.parameters);
  options.resume = true;
  EXPECT_EQ(train_freely(options, 1).parameters, whole.parameters);
  TrainerOptions other = options;
  other.feedback.free = 4;
  EXPECT_THROW(train_freely(other, 1), UsageError);  // differs from the run of the checkpoint
  options.resume = false;
  options.checkpoint.clear();
  options.steps = 1;
  const double before = train_freely(options, 1).loss;
  EXPECT_LT(whole.loss, before);
  for (const char* optimizer : {"hf", "ruop"}) EXPECT_THROW(train_freely(options, 1, 0, optimizer), UsageError);
  std::filesystem::remove_all(folder);
}

TEST(Feedback, feedback_without_gradient_flow_is_named_in_the_error) {
  const auto refusal = [](const NetworkLayout& layout) {
    Circuit circuit;
    try {
      build_network<double>(parse_model_spec("rnn:2"), winds(), layout, circuit, {.feedback = true});
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal({.reads = {"previous sky"}, .heads = {{.field = "sky"}}}), HasSubstr("Symbols are sampled"));
  EXPECT_THAT(refusal({.reads = {"sky"}, .heads = {{.field = "wind"}}}), HasSubstr("previous F"));
  EXPECT_THAT(refusal({.reads = {"previous wind"}, .heads = {{.field = "wind", .loss = "mixture:2"}}}),
              HasSubstr("mixture"));
  for (const char* wrong : {"", "20", "20+", "+3", "3+0", "-1+2", "2+x", "1+2+3"})
    EXPECT_THROW(Feedback::parse(wrong), UsageError) << wrong;
  EXPECT_EQ(Feedback::parse("0+5").free, 5);
}

}  // namespace
}  // namespace unfold
