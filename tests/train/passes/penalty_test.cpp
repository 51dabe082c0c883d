/// Penalties compared with their definitions and finite differences.

#include "unfold/train/passes/penalty.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tests/optim/small_network.h"
#include "train/objective/batch_objective.h"
#include "unfold/base/error.h"
#include "unfold/train/passes/batch_pass.h"
#include "unfold/train/trainer.h"

namespace unfold {
namespace {

enum class Kind { rnn, rnn_two_layers, lstm, gru, mrnn };

template <class T>
struct HiddenNetwork {
  HiddenNetwork(Index alphabet, Kind kind) {
    const Signal symbols = circuit.symbols("symbols", alphabet);
    Signal x = symbols;
    for (Index l = 1; l <= (kind == Kind::rnn_two_layers ? 2 : 1); ++l) {
      const auto scope = circuit.scope("layer" + std::to_string(l));
      switch (kind) {
        case Kind::rnn:
        case Kind::rnn_two_layers: x = rnn(circuit, x, 4); break;
        case Kind::lstm: x = lstm(circuit, x, 4); break;
        case Kind::gru: x = gru(circuit, x, 4); break;
        case Kind::mrnn: x = mrnn(circuit, x, 4, {.factors = 3}); break;
      }
      circuit.output(x);
      network.hidden.push_back(x);
    }
    const Signal logits = circuit.affine("output", alphabet, {{"V", x}});
    circuit.output(logits);
    std::vector<Signal> hidden = network.hidden;
    network = text_network<T>(std::make_shared<const Plan>(circuit), symbols, logits);
    network.hidden = std::move(hidden);
    parameters = Parameters<T>(circuit);
    parameters.initialize(3);
    Random noise(4, "noise");
    for (T& p : parameters.flat()) p += static_cast<T>(0.2 * noise.normal());
  }
  Circuit circuit;
  Network<T> network;
  Parameters<T> parameters;
};

/// A ragged window: sequences of several lengths.
struct Ragged {
  Ragged() : corpus(numbered_corpus({5, 3, 4, 1})), part(whole_corpus(corpus, "training")) {}
  Corpus corpus;
  Split part;
};

struct Pass {
  Pass(HiddenNetwork<double>& net_, const Ragged& data, const PenaltyOptions& penalties)
      : net(net_),
        batches(data.corpus, data.part, {.batch = 4, .whole_sequences = true}, 1),
        pass(net.network, team, 0, penalties) {}
  State<double> start() {
    State<double> state(*net.network.plan, batches.streams());
    enter_batch(batches.batch(), *net.network.plan, state);
    pass.set_parameters(net.parameters);
    return state;
  }
  double loss() {
    State<double> state = start();
    const double nats = pass.forward(batches.batch(), state);
    return nats + pass.penalty(batches.batch());
  }
  std::vector<double> gradient() {
    State<double> state = start();
    std::vector<double> result(net.parameters.flat().size());
    pass.gradient(batches.batch(), state, 1, result);
    return result;
  }
  HiddenNetwork<double>& net;
  Team team{1};
  TextBatches batches;
  BatchPass<double> pass;
};

TEST(ActivityPenalty, activation_penalty_is_the_mean_squared_change_of_the_norm) {
  const Ragged data;
  HiddenNetwork<double> net(data.corpus.alphabet().size(), Kind::rnn);
  Pass plain(net, data, {}), penalized(net, data, {.activity = 3});
  const double added = penalized.loss() - plain.loss();
  Team team(1);
  Unfolding<double> u(net.network.plan, team);
  const Batch& window = plain.batches.batch();
  u.lay(window.structure);
  u.set_parameters(net.parameters);
  std::copy(read_symbols(window).begin(), read_symbols(window).end(),
            u.symbols(net.network.inputs.front().signal).begin());
  u.forward();
  const auto h = u.value(net.network.hidden[0]);
  double sum = 0;
  Index count = 0;
  for (Index s = 0; s < window.structure.sequences(); ++s)
    for (Index t = 1; t < window.structure.size(s); ++t, ++count) {
      double now = 0, before = 0;
      for (Index c = 0; c < h.cols; ++c) {
        now += std::pow(h(window.structure.row(s, t), c), 2);
        before += std::pow(h(window.structure.row(s, t - 1), c), 2);
      }
      sum += std::pow(std::sqrt(now) - std::sqrt(before), 2);
    }
  EXPECT_EQ(count, 9);
  EXPECT_GT(sum, 0.01);
  EXPECT_NEAR(added, 3 * sum / static_cast<double>(count), 1e-12);
}

TEST(ActivityPenalty, penalty_gradient_equals_central_differences_for_every_cell) {
  const Ragged data;
  for (const Kind kind : {Kind::rnn, Kind::rnn_two_layers, Kind::lstm, Kind::gru, Kind::mrnn}) {
    HiddenNetwork<double> net(data.corpus.alphabet().size(), kind);
    Pass pass(net, data, {.activity = 5});
    const std::vector<double> gradient = pass.gradient();
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      double& p = net.parameters.flat()[i];
      const double at = p, h = 1e-5;
      p = at + h;
      const double above = pass.loss();
      p = at - h;
      const double below = pass.loss();
      p = at;
      ASSERT_NEAR(gradient[i], (above - below) / (2 * h), 1e-7) << static_cast<int>(kind) << ", parameter " << i;
    }
  }
}

/// The definition, row by row, with U passed separately from the network, for the immediate derivative.
struct Flow {
  Flow(HiddenNetwork<double>& net_, const Ragged& data) : net(net_), u(net.network.plan, team) {
    const Pass pass(net, data, {});
    window = pass.batches.batch();
    u.lay(window.structure);
    u.set_parameters(net.parameters);
    std::copy(read_symbols(window).begin(), read_symbols(window).end(),
              u.symbols(net.network.inputs.front().signal).begin());
    u.forward();
    u.clear_adjoints();
    std::vector<double> nats(predicted_symbols(window).size()), gradient(net.parameters.flat().size());
    const Head<double>& head = net.network.heads.front();
    const Observed<double> observed{
        .structure = window.structure,
        .signal = u.value(head.signal),
        .targets = targets_of<double>(window.field(head.field), 0, window.structure.positions()),
        .parameters = net.parameters.flat()};
    head.loss->gradient(observed, 1, team, nats.data(), u.adjoint(head.signal), gradient);
    u.backward(gradient);
  }
  double value(const char* affine, Matrix<const double> matrix) {
    Signal z{&net.circuit, -1};
    for (std::size_t i = 0; i < net.circuit.nodes().size(); ++i)
      if (net.circuit.nodes()[i].name == affine) z.id = static_cast<int>(i);
    const auto delta = u.affine_adjoint(z);
    const auto outer = u.adjoint(net.network.hidden[0]);
    const auto sent = [&](Index row, Index i, Matrix<const double> w) {
      double sum = 0;
      for (Index j = 0; j < w.cols; ++j) sum += w(i, j) * delta(row, j);
      return sum;
    };
    const Matrix<const double> present = net.parameters.at(std::string(affine) + "/U");
    double omega = 0;
    for (Index s = 0; s < window.structure.sequences(); ++s)
      for (Index t = 0; t + 1 < window.structure.size(s); ++t) {
        const Index next = window.structure.row(s, t + 1);
        double v = 0, d = 0;
        for (Index i = 0; i < matrix.rows; ++i) {
          v += std::pow(sent(next, i, matrix), 2);
          double whole = outer(next, i);
          if (t + 2 < window.structure.size(s)) whole += sent(window.structure.row(s, t + 2), i, present);
          d += whole * whole;
        }
        omega += std::pow(std::sqrt(v / d) - 1, 2);
      }
    return omega / static_cast<double>(window.structure.sequences());
  }
  HiddenNetwork<double>& net;
  Team team{1};
  Unfolding<double> u;
  Batch window;
};

TEST(FlowPenalty, flow_penalty_adds_the_immediate_derivative) {
  const Ragged data;
  for (const Kind kind : {Kind::rnn, Kind::mrnn}) {
    HiddenNetwork<double> net(data.corpus.alphabet().size(), kind);
    const char* affine = kind == Kind::rnn ? "layer1/z" : "layer1/fh";
    Pass plain(net, data, {}), penalized(net, data, {.flow = 2});
    const std::vector<double> without = plain.gradient(), with = penalized.gradient();
    Flow flow(net, data);
    const Matrix<double> u = net.parameters.at(std::string(affine) + "/U");
    std::vector<double> moved(u.data, u.data + u.rows * u.cols);
    const Matrix<double> m{moved.data(), u.rows, u.cols, u.cols};
    EXPECT_NEAR(penalized.pass.penalty(penalized.batches.batch()), 2 * flow.value(affine, m), 1e-12);
    double largest = 0;
    const Index offset = u.data - net.parameters.flat().data();
    for (Index i = 0; i < static_cast<Index>(with.size()); ++i) {
      const double found = with[static_cast<std::size_t>(i)] - without[static_cast<std::size_t>(i)];
      const Index k = i - offset;
      if (k < 0 || k >= u.rows * u.cols) {
        EXPECT_EQ(found, 0) << i;
        continue;
      }
      double& w = moved[static_cast<std::size_t>(k)];
      const double at = w, h = 1e-6;
      w = at + h;
      const double above = flow.value(affine, m);
      w = at - h;
      const double below = flow.value(affine, m);
      w = at;
      EXPECT_NEAR(found, 2 * (above - below) / (2 * h), 1e-7) << k;
      largest = std::max(largest, std::abs(found));
    }
    EXPECT_GT(largest, 0.01);
  }
}

TEST(FlowPenalty, layer_without_a_single_recurrent_matrix_is_named) {
  const Ragged data;
  Team team(1);
  for (const Kind kind : {Kind::lstm, Kind::gru}) {
    const HiddenNetwork<double> net(data.corpus.alphabet().size(), kind);
    try {
      BatchPass<double> pass(net.network, team, 0, {.flow = 1});
      ADD_FAILURE() << "accepted";
    } catch (const UsageError& e) {
      EXPECT_NE(std::string(e.what()).find("layer1"), std::string::npos) << e.what();
    }
  }
}

/// With several windows per step: the mean of the penalties of the windows, and its exact gradient.
TEST(Penalties, penalties_are_averaged_over_the_windows_of_a_step) {
  const std::string text = wavy_text(400);
  const Corpus corpus = Corpus::from_text(text, Alphabet::chars_of(text));
  const Split part = whole_corpus(corpus, "training");
  HiddenNetwork<double> net(corpus.alphabet().size(), Kind::rnn);
  Team team(1);
  const BatchOptions batches{.window = 7, .batch = 3};
  const auto objective = [&](TextBatches& source, Index windows, double activity) {
    const BatchObjectiveOptions options{.batches = windows, .penalties = {.activity = activity}};
    return BatchObjective<double>(net.network, net.parameters, source, options, team,
                                  [](double, const std::function<double()>&) { return true; });
  };
  std::vector<double> gradient(net.parameters.flat().size());
  double mean = 0;
  TextBatches one(corpus, part, batches, 1);
  BatchObjective<double> with = objective(one, 1, 2), without = objective(one, 1, 0);
  for (Index k = 0; k < 2; ++k) {
    with.gather(k), without.gather(k);
    mean += (with.gradient(gradient) - without.gradient(gradient)) / 2;
    with.leave(), without.leave();
    one.advance();
  }
  TextBatches source(corpus, part, batches, 1), other(corpus, part, batches, 1);
  BatchObjective<double> both = objective(source, 2, 2), plain = objective(other, 2, 0);
  both.gather(0), plain.gather(0);
  EXPECT_EQ(both.symbols_per_sequence(), both.predicted() / 6);  // two windows of three lanes
  std::vector<double> unpenalized(gradient.size());
  EXPECT_NEAR(both.gradient(gradient) - plain.gradient(unpenalized), mean, 1e-12);
  EXPECT_GT(mean, 1e-3);
  for (std::size_t i = 0; i < gradient.size(); i += 7) {
    const double h = 1e-5, here = net.parameters.flat()[i];
    net.parameters.flat()[i] = here + h;
    const double above = both.loss();
    net.parameters.flat()[i] = here - h;
    const double below = both.loss();
    net.parameters.flat()[i] = here;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * h), 1e-7) << i;
  }
}

TEST(Penalties, flow_penalty_with_several_windows_is_rejected) {
  const Ragged data;
  HiddenNetwork<double> net(data.corpus.alphabet().size(), Kind::rnn);
  TextBatches source(data.corpus, data.part, {.batch = 4, .whole_sequences = true}, 1);
  Team team(1);
  const BatchObjectiveOptions options{.optimizer = "hf", .batches = 2, .penalties = {.flow = 1}};
  EXPECT_THROW(BatchObjective<double>(net.network, net.parameters, source, options, team, {}), UsageError);
}

TEST(Penalties, penalties_do_not_depend_on_memory_limit_or_threads_and_resume_exactly) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("unfold-penalty-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const std::string text = wavy_text(1500);
  const Corpus corpus = Corpus::from_text(text, Alphabet::chars_of(text));
  const Split part = whole_corpus(corpus, "training");
  std::vector<std::vector<float>> ends;
  for (const std::string how : {"plain", "threads", "limit", "resumed", "without"}) {
    HiddenNetwork<float> net(corpus.alphabet().size(), Kind::rnn_two_layers);
    Team team(how == "threads" ? 2 : 1);
    TrainerOptions options;
    options.batches = {.window = 20, .batch = 3};
    options.penalties = {.activity = how == "without" ? 0 : 0.5,
                         .flow = how == "limit" || how == "without" ? 0 : 1e-30};
    options.steps = 25;
    options.memory_limit = how == "limit" ? 6000 : 0;
    options.checkpoint = (folder / (how + ".safetensors")).string();
    const auto train = [&] {
      Trainer<float> trainer(net.network, net.parameters, {corpus, part}, options, team);
      trainer.run();
    };
    if (how == "resumed") {
      options.steps = 14;
      train();
      options.steps = 25;
      options.resume = true;
      net.parameters.initialize(99);
    }
    train();
    ends.emplace_back(net.parameters.flat().begin(), net.parameters.flat().end());
  }
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(ends[0], ends[i]) << i;
  EXPECT_NE(ends[0], ends[4]);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace unfold
