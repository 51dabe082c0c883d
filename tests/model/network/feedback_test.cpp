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
#include "unfold/graph/engine/stepper.h"
#include "unfold/model/network/network_model.h"
#include "unfold/train/objective/output_feedback.h"
#include "unfold/train/passes/batch_pass.h"
#include "unfold/train/trainer.h"

namespace unfold {
namespace {

using testing::HasSubstr;
using Type = FieldSpecification::Type;

DataSpecification winds() {
  return {.source = "table",
          .fields = {{.name = "sky", .type = Type::symbols, .size = 3},
                     {.name = "wind", .type = Type::values, .size = 2},
                     {.name = "rain", .type = Type::values, .size = 2}}};
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
    {"rnn:3", {.reads = {"previous wind"}, .heads = {{.field = "wind", .loss = "mixture:3"}}}},
    {"rnn:3", {.reads = {"previous rain"}, .heads = {{.field = "rain", .loss = "bernoulli"}}}},
    {"rnn:3", {.reads = {"previous rain", "sky"}, .heads = {{.field = "rain", .loss = "poisson"}}}},
    {"rnn:3", {.reads = {"previous sky"}, .heads = {{.field = "sky"}}}},
    {"tdnn:3,width=1,dilations=1", {.reads = {"previous sky"}, .heads = {{.field = "sky"}}}},
    {"lstm:3,embedding=2",
     {.reads = {"previous sky", "previous wind"}, .heads = {{.field = "wind", .loss = "normal"}, {.field = "sky"}}}},
    {"mrnn:3", {.reads = {"previous(2) sky", "rain"}, .heads = {{.field = "sky"}}}},
};

/// The same networks, which read their own outputs at all positions.
std::vector<Case> always_fed_back() {
  std::vector<Case> result;
  for (Case of : kCases) {
    const auto is_own = [&](const std::string& read) { return parse_read(read).back > 0; };
    std::ranges::copy_if(of.layout.reads, std::back_inserter(of.layout.feedback), is_own);
    std::erase_if(of.layout.reads, is_own);
    result.push_back(of);
  }
  result.push_back({"tensor-rnn:3", {.reads = {}, .heads = {{.field = "sky"}}, .feedback = {"previous sky"}}});
  result.push_back({"lstm:3", {.reads = {"sky"}, .heads = {{.field = "wind"}}, .feedback = {"previous wind"}}});
  return result;
}

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

/// Sets an entry of a field to that of another field, `back` positions earlier, at every position that has one.
template <class Rows>
Rows delayed(const Rows& rows, const Structure& structure, Index back, Rows earlier) {
  for (Index c = 0; c < structure.sequences(); ++c)
    for (Index t = back; t < structure.size(c); ++t) {
      const Index to = structure.row(c, t), from = structure.row(c, t - back);
      if constexpr (std::is_same_v<Rows, SymbolRows>)
        earlier.symbols[at(to)] = rows.symbols[at(from)];
      else
        for (Index i = 0; i < rows.cols(); ++i) earlier.set(to, i, rows.template values<float>(from, 1)(0, i));
    }
  return earlier;
}

/// Sequences of 9 and 5 positions.
Batch some_batch(const Case& of) {
  Batch batch;
  batch.structure = Structure::chains(std::vector<Index>{9, 5});
  const Index rows = batch.structure.positions();
  Random random(6, "winds");
  ValueRows &wind = batch.value_field("wind"), &rain = batch.value_field("rain");
  SymbolRows& sky = batch.symbol_field("sky");
  wind.clear(rows, 2), rain.clear(rows, 2), sky.clear(rows);
  for (Index r = 0; r < rows; ++r) {
    for (Index i = 0; i < 2; ++i) {
      wind.set(r, i, static_cast<float>(random.normal()));
      rain.set(r, i, static_cast<float>(random.below(2)));
    }
    sky.symbols[at(r)] = static_cast<Symbol>(random.below(3));
  }
  for (const std::string& read : of.layout.reads) {
    const FieldRead what = parse_read(read);
    if (what.back == 0) continue;
    if (what.field == "sky") {
      SymbolRows none;
      none.clear(rows);
      batch.symbol_field(read) = delayed(sky, batch.structure, what.back, none);
    } else {
      ValueRows none;
      none.clear(rows, 2);
      batch.value_field(read) = delayed(batch.value_field(what.field), batch.structure, what.back, none);
    }
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
  const auto check = [](const Case& of, bool pattern) {
    Circuit circuit;
    const auto network =
        build_network<double>(parse_model_spec(of.spec), winds(), of.layout, circuit, {.feedback = pattern});
    const CheckReport report = check_derivatives(network, Structure::chains(std::vector<Index>{4, 1, 3}));
    EXPECT_TRUE(report.passed()) << of.spec << report.text();
  };
  for (const Case& of : kCases) check(of, true);
  for (const Case& of : always_fed_back()) check(of, false);
}

TEST(Feedback, feedback_without_free_positions_changes_nothing) {
  for (const Case& of : kCases) {
    const Built plain(of, false), loops(of, true);
    ASSERT_EQ(std::vector<double>(plain.parameters.flat().begin(), plain.parameters.flat().end()),
              std::vector<double>(loops.parameters.flat().begin(), loops.parameters.flat().end()));
    const Batch batch = some_batch(of);
    OutputFeedback<double> free(loops.network, {.given = 3, .free = 2}, 1);
    const auto want = outputs(plain, batch), found = outputs(loops, free.mark(batch, 1, 0));
    const auto is_own = [](const std::string& read) { return parse_read(read).back > 0; };
    const bool reordered = of.layout.heads.front().field == "sky" && !std::ranges::all_of(of.layout.reads, is_own);
    if (!reordered) {
      EXPECT_EQ(want, found) << of.spec;
    }
    // Lookups of symbols are added before the terms of other fields, and terms inside a loop after them.
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(want[i], found[i], 1e-14) << of.spec;
  }
}

/// Returns the expected target of a row of the signal, as written in the documentation of the losses.
std::vector<double> expected_target(const std::string& loss, std::vector<double> o) {
  std::vector<double> result;
  double total = 0;
  if (loss.empty())  // softmax of three symbols
    for (const double x : o) total += std::exp(x);
  for (std::size_t k = 0; k < 3 && loss == "mixture:3"; ++k) total += std::exp(o[k]);
  for (std::size_t i = 0; i < (loss.empty() ? 3U : 2U); ++i) {
    if (loss.empty()) result.push_back(std::exp(o[i]) / total);
    if (loss == "gaussian" || loss == "normal") result.push_back(o[i]);
    if (loss == "bernoulli") result.push_back(1 / (1 + std::exp(-o[i])));
    if (loss == "poisson") result.push_back(std::exp(o[i]));
    if (loss != "mixture:3") continue;
    double mean = 0;
    for (std::size_t k = 0; k < 3; ++k) mean += std::exp(o[k]) / total * o[3 + 2 * k + i];
    result.push_back(mean);
  }
  return result;
}

/// The same network, read position by position, with its own expected outputs written into its inputs.
TEST(Feedback, free_positions_read_the_network_output) {
  for (const Case& of : kCases) {
    const HeadSpecification& head = of.layout.heads.front();
    const std::string& read = of.layout.reads.front();
    const FieldRead what = parse_read(read);
    if (what.field != head.field) continue;  // the first head is not the one that is read
    const Built loops(of, true);
    const Feedback pattern{.given = 3, .free = 4};
    const bool one = std::ranges::count_if(of.layout.reads, [](const auto& r) { return parse_read(r).back > 0; }) == 1;
    ASSERT_TRUE(one);
    const Batch batch = some_batch(of);
    OutputFeedback<double> free(loops.network, pattern, 1), none(loops.network, {.given = 1000, .free = 1}, 1);
    double nats = 0, written = 0;
    const auto want = outputs(loops, free.mark(batch, 0, 0), &nats);
    Batch stepped = none.mark(batch, 0, 0);
    const bool symbols = what.field == "sky";
    ValueRows& input = stepped.value_field(symbols ? shown_field(read) : read);
    for (Index t = what.back; t < 9; ++t) {
      const auto given = outputs(loops, stepped);
      const auto size = static_cast<Index>(given.size()) / batch.structure.positions();
      for (Index c = 0; c < 2; ++c) {
        if (t >= batch.structure.size(c) || t % 7 < 3) continue;
        const double* o = given.data() + batch.structure.row(c, t - what.back) * size;
        const std::string loss = symbols ? "" : head.loss.empty() ? "gaussian" : head.loss;
        const std::vector<double> own = expected_target(loss, {o, o + size});
        for (Index i = 0; i < static_cast<Index>(own.size()); ++i)
          input.set(batch.structure.row(c, t), i, static_cast<float>(own[at(i)]));
      }
    }
    const auto reached = outputs(loops, stepped, &written);
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(want[i], reached[i], 1e-5 * std::max(1.0, std::abs(want[i]))) << of.spec;  // fields hold floats
    EXPECT_NEAR(nats, written, 1e-4 * std::max(1.0, std::abs(nats)));
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

/// Networks that always read their own outputs equal networks that do so in training from the first position on.
TEST(Feedback, network_that_always_reads_its_outputs_equals_one_that_is_free_everywhere) {
  const std::vector<Case> always = always_fed_back();
  for (std::size_t k = 0; k < kCases.size(); ++k) {
    const Built own(always[k], false), loops(kCases[k], true);
    ASSERT_EQ(own.parameters.flat().size(), loops.parameters.flat().size());
    OutputFeedback<double> free(loops.network, {.given = 0, .free = 1}, 1);
    const Batch batch = some_batch(kCases[k]);
    const auto want = outputs(loops, free.mark(batch, 0, 0)), found = outputs(own, batch);
    ASSERT_EQ(found.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(found[i], want[i], 1e-12 * std::max(1.0, std::abs(want[i]))) << kCases[k].spec;
  }
}

TEST(Feedback, stepper_equals_the_unfolding_of_a_network_that_reads_its_outputs) {
  for (const Case& of : always_fed_back()) {
    const Built own(of, false);
    const Batch batch = some_batch(of);
    const auto want = outputs(own, batch);
    const auto size = static_cast<Index>(want.size()) / batch.structure.positions();
    Team team(1);
    for (Index c = 0; c < 2; ++c) {
      Stepper<double> stepper(own.network.plan, own.parameters, team);
      for (Index t = 0; t < batch.structure.size(c); ++t) {
        const Index row = batch.structure.row(c, t);
        for (const NetworkInput& input : own.network.inputs) {
          const Field& field = batch.field(input.field);
          if (const auto* symbols = std::get_if<SymbolRows>(&field))
            stepper.symbols(input.signal)[0] = symbols->symbols[at(row)];
          else
            std::copy_n(std::get<ValueRows>(field).values<double>(row, 1).data, input.signal.size(),
                        stepper.input(input.signal).row(0));
        }
        stepper.step();
        const Matrix<const double> found = stepper.value(own.network.heads.front().signal);
        for (Index i = 0; i < size; ++i) EXPECT_EQ(found(0, i), want[at(row * size + i)]) << of.spec;
      }
    }
  }
}

/// h_t = tanh(W p_{t-1} + U h_{t-1} + b), p_t = softmax(V h_t + c): an autonomous system, written out.
TEST(Feedback, autonomous_network_follows_its_equations) {
  Case of{"rnn:2", {.reads = {}, .heads = {{.field = "sky"}}, .feedback = {"previous sky"}}};
  Built own(of, false);
  EXPECT_TRUE(own.network.inputs.empty());
  const Batch batch = some_batch(of);
  const auto found = outputs(own, batch);
  Parameters<double>& p = own.parameters;
  const auto w = p.at("layer1/z/W"), u = p.at("layer1/z/U"), b = p.at("layer1/z/bias");
  const auto v = p.at("output/V"), c = p.at("output/bias");
  std::vector<double> h(2, 0.0), shares(3, 0.0);
  for (Index t = 0; t < 9; ++t) {
    std::vector<double> next(2), o(3);
    for (Index i = 0; i < 2; ++i) {
      double z = b(0, i);
      for (Index k = 0; k < 3; ++k) z += shares[at(k)] * w(k, i);
      for (Index j = 0; j < 2; ++j) z += h[at(j)] * u(j, i);
      next[at(i)] = std::tanh(z);
    }
    h = next;
    for (Index k = 0; k < 3; ++k) o[at(k)] = c(0, k) + h[0] * v(0, k) + h[1] * v(1, k);
    for (Index k = 0; k < 3; ++k) EXPECT_NEAR(found[at(batch.structure.row(0, t) * 3 + k)], o[at(k)], 1e-12);
    shares = expected_target("", o);
  }
}

TEST(Feedback, model_file_keeps_the_feedback) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("unfold-feedback-" + std::to_string(::getpid()) + ".safetensors"))
          .string();
  DataSpecification data = winds();
  data.fields.front().alphabet = std::make_shared<const Alphabet>(Alphabet::chars_of("abc"));
  NetworkModel<double> model("rnn:3", data,
                             {.reads = {"rain"}, .heads = {{.field = "sky"}}, .feedback = {"previous sky"}});
  Random random(1, "weights");
  for (double& w : model.parameters().flat()) w = random.normal();
  model.save(path);
  const NetworkModel<double> loaded(ModelFile::open(path));
  EXPECT_EQ(loaded.layout().feedback, std::vector<std::string>{"previous sky"});
  const auto values = [](const NetworkModel<double>& m) {
    return std::vector<double>(m.parameters().flat().begin(), m.parameters().flat().end());
  };
  EXPECT_EQ(values(loaded), values(model));
  std::filesystem::remove(path);
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
                     std::string_view optimizer = "adam:rate=0.01", const Case& of = kCases[0]) {
  struct Stop : Observer {
    void progress(const ProgressEvent& e) override { flag = at > 0 && e.step >= at; }
    Index at = 0;
    std::atomic<bool> flag{false};
  } stop;
  stop.at = stop_at;
  options.stop = &stop.flag;
  options.optimizer = optimizer;
  options.log_every = 1;
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

/// Operators without parameters have empty blocks, which the trained parameters do not have.
TEST(Feedback, every_expected_output_can_be_trained) {
  for (const Case& of : kCases) {
    TrainerOptions options;
    options.feedback = {.given = 2, .free = 3};
    options.steps = 1;
    const double before = train_freely(options, 1, 0, "adam:rate=0.01", of).loss;
    options.steps = 40;
    EXPECT_LT(train_freely(options, 1, 0, "adam:rate=0.01", of).loss, before) << of.spec;
  }
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
  EXPECT_THAT(refusal({.reads = {"previous sky"}, .heads = {{.field = "sky", .loss = "crf"}}}),
              HasSubstr("the loss crf of sky does not have"));
  EXPECT_THAT(refusal({.reads = {"sky"}, .heads = {{.field = "wind"}}}), HasSubstr("previous F"));
  EXPECT_THAT(refusal({.reads = {"previous wind"}, .heads = {{.field = "wind", .loss = "nade:2"}}}),
              HasSubstr("the loss nade of wind does not have"));
  EXPECT_THAT(refusal({.reads = {}, .heads = {{.field = "wind"}}, .feedback = {"previous sky"}}),
              HasSubstr("previous sky is not an earlier output"));
  EXPECT_THAT(refusal({.reads = {}, .heads = {{.field = "wind"}}, .feedback = {"wind"}}),
              HasSubstr("wind is not an earlier output"));
  for (const char* wrong : {"", "20", "20+", "+3", "3+0", "-1+2", "2+x", "1+2+3"})
    EXPECT_THROW(Feedback::parse(wrong), UsageError) << wrong;
  EXPECT_EQ(Feedback::parse("0+5").free, 5);
  EXPECT_TRUE(Feedback::parse("always").always);
  EXPECT_FALSE(Feedback::parse("always").on());
}

}  // namespace
}  // namespace unfold
