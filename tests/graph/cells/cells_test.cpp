/// All derivative checks for each cell with one and two layers, with and without a trained initial state.

#include "unfold/graph/cells/cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/graph/cells/gate_functions.h"
#include "tests/support/runner.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/cells/registry.h"

namespace unfold {
namespace {

using test::logistic;

struct Cell {
  std::string name;
  std::function<Signal(Circuit&, Signal x, Index n, bool trained_initial)> add;
};

void PrintTo(const Cell& cell, std::ostream* out) { *out << cell.name; }

Cell rnn_with(const char* name, Map activation, Init recurrent = Init::orthogonal()) {
  return {name, [=](Circuit& c, Signal x, Index n, bool trained) {
            return rnn(c, x, n, {.activation = activation, .recurrent = recurrent, .trained_initial = trained});
          }};
}

Cell lstm_with(const char* name, double chrono) {
  return {name, [=](Circuit& c, Signal x, Index n, bool trained) {
            return lstm(c, x, n, {.chrono = chrono, .trained_initial = trained});
          }};
}

Cell gru_with(const char* name, bool reset_after) {
  return {name, [=](Circuit& c, Signal x, Index n, bool trained) {
            return gru(c, x, n, {.reset_after = reset_after, .trained_initial = trained});
          }};
}

Cell mrnn_with(const char* name, Map activation, Index factors) {
  return {name, [=](Circuit& c, Signal x, Index n, bool trained) {
            return mrnn(c, x, n, {.factors = factors, .activation = activation, .trained_initial = trained});
          }};
}

/// urnn with a power of two as the number n of complex units; its output has 2 n numbers.
Cell urnn_with(const char* name) {
  return {name, [=](Circuit& c, Signal x, Index n, bool trained) {
            return urnn(c, x, n <= 2 ? 2 : 4, {.permutation = 1, .trained_initial = trained});
          }};
}

/// A cell with options.
template <class Options>
Cell with(const char* name, Signal (*add)(Circuit&, Signal, Index, const Options&), Options options = {}) {
  return {name, [=](Circuit& c, Signal x, Index n, bool trained) {
            Options mine = options;
            mine.trained_initial = trained;
            return add(c, x, n, mine);
          }};
}

const std::vector<Cell> kCells = {
    rnn_with("rnn_tanh", Map::tanh),
    rnn_with("rnn_sigmoid", Map::sigmoid),
    rnn_with("rnn_relu", Map::relu),
    rnn_with("rnn_relu_identity", Map::relu, Init::identity()),
    rnn_with("rnn_softplus", Map::softplus),
    rnn_with("rnn_ramp", Map::hard_sigmoid),
    rnn_with("rnn_linear", Map::copy),
    with<RnnOptions>("rnn_without_biases", rnn, {.biases = false}),
    with<LstmOptions>("lstm_softplus", lstm, {.activation = Map::softplus}),
    with<LstmOptions>("lstm_linear", lstm, {.activation = Map::copy}),
    with<LstmOptions>("lstm_without_biases", lstm, {.biases = false}),
    with<LstmOptions>("lstm_normalised_ramp", lstm, {.layer_norm = true, .activation = Map::hard_sigmoid}),
    with<GruOptions>("gru_softplus", gru, {.activation = Map::softplus}),
    with<GruOptions>("gru_reset_after_linear", gru, {.reset_after = true, .activation = Map::copy}),
    with<MrnnOptions>("mrnn_delays", mrnn, {.delays = "1+3"}),
    with<MrnnOptions>("mrnn_leaky", mrnn, {.leak = TimeConstants::fixed, .longest = 8}),
    with<MrnnOptions>("mrnn_linear_leaky_learned", mrnn,
                      {.activation = Map::copy, .leak = TimeConstants::learned, .longest = 8}),
    lstm_with("lstm", 0),
    lstm_with("lstm_chrono", 50),
    gru_with("gru", false),
    gru_with("gru_reset_after", true),
    with<GruOptions>("gru_two_biases", gru, {.reset_after = true, .two_biases = true}),
    with<LstmOptions>("lstm_hard_gates", lstm, {.hard_gates = true}),
    with<GruOptions>("gru_hard_gates", gru, {.hard_gates = true}),
    with<GruOptions>("gru_reset_after_hard_gates", gru, {.reset_after = true, .hard_gates = true}),
    with<GruOptions>("gru_normalised_hard_gates", gru, {.layer_norm = true, .hard_gates = true}),
    with<GruOptions>("gru_gated_state", gru, {.gated_state = true}),
    with<GruOptions>("gru_reset_after_gated_state", gru, {.reset_after = true, .gated_state = true}),
    mrnn_with("mrnn", Map::tanh, 0),
    mrnn_with("mrnn_relu", Map::relu, 4),
    urnn_with("urnn"),
    with<RnnOptions>("rnn_delays", rnn, {.delays = {1, 2, 4}}),
    with<RnnOptions>("rnn_far", rnn, {.delays = {2}}),
    with<RnnOptions>("rnn_leaky", rnn, {.leak = TimeConstants::fixed, .longest = 8}),
    with<RnnOptions>("rnn_leaky_learned", rnn, {.delays = {1, 3}, .leak = TimeConstants::learned, .longest = 8}),
    with<LstmOptions>("lstm_delays", lstm, {.delays = "1+3"}),
    with<LstmOptions>("lstm_normalised", lstm, {.layer_norm = true}),
    with<GruOptions>("gru_normalised", gru, {.layer_norm = true}),
    with<MinimalOptions>("mingru", min_gru),
    with<MinimalOptions>("mingru_chrono", min_gru, {.chrono = 20}),
    with<MinimalOptions>("mingru_hard_gates", min_gru, {.hard_gates = true}),
    with<MinimalOptions>("sru_hard_gates", sru, {.hard_gates = true}),
    with<MinimalOptions>("minlstm", min_lstm),
    with<MinimalOptions>("sru", sru),
    with<QrnnOptions>("qrnn_1", qrnn, {.width = 1}),
    with<QrnnOptions>("qrnn_2", qrnn),
    with<QrnnOptions>("qrnn_3", qrnn, {.width = 3}),
    with<IndRnnOptions>("indrnn", ind_rnn),
    with<IndRnnOptions>("indrnn_tanh", ind_rnn, {.activation = Map::tanh}),
    with<LruOptions>("lru", lru),
    with<LruOptions>("lru_linear", lru, {.gated = false}),
    with<SlstmOptions>("slstm", slstm),
    with<SlstmOptions>("slstm_exponential", slstm, {.exponential_forget = true}),
    with<HighwayOptions>("rhn", recurrent_highway),
    with<HighwayOptions>("rhn_1", recurrent_highway, {.depth = 1}),
    with<MogrifierOptions>("mogrifier", mogrifier),
    with<MogrifierOptions>("mogrifier_2", mogrifier, {.rounds = 2}),
};

class EveryCell : public testing::TestWithParam<Cell> {
 protected:
  Circuit circuit_;

  void build(Index layers, bool trained_initial) {
    Signal x = circuit_.symbols("x", 3);
    for (Index l = 0; l < layers; ++l) {
      const auto scope = circuit_.scope("layer" + std::to_string(l));
      x = GetParam().add(circuit_, x, 3 - l, trained_initial);
    }
    circuit_.output(circuit_.affine("logits", 3, {{"V", x}}));
  }

  void expect_derivatives() {
    const Index lengths[] = {3, 5, 1};
    const CheckReport report = check_derivatives(circuit_, *softmax_loss<double>(), Structure::chains(lengths));
    EXPECT_TRUE(report.passed()) << report.text();
  }
};

TEST_P(EveryCell, every_cell_has_correct_derivatives_in_one_layer) {
  build(1, false);
  expect_derivatives();
}

TEST_P(EveryCell, every_cell_has_correct_derivatives_in_two_layers) {
  build(2, false);
  expect_derivatives();
}

TEST_P(EveryCell, every_cell_has_correct_derivatives_with_a_trained_initial_state) {
  build(1, true);
  expect_derivatives();
}

TEST_P(EveryCell, every_cell_has_one_loop_per_layer) {
  build(2, false);
  const Plan plan(circuit_);
  EXPECT_EQ(std::count_if(plan.segments().begin(), plan.segments().end(), [](const Segment& s) { return s.loop; }), 2);
}

TEST_P(EveryCell, float_results_are_close_to_double) {
  build(2, true);
  const Index lengths[] = {7, 3};
  const Structure structure = Structure::chains(lengths);
  const auto exact = test::Runner<double>(circuit_).run(structure);
  const auto single = test::Runner<float>(circuit_).run(structure);
  for (std::size_t i = 0; i < exact.outputs.size(); ++i) EXPECT_NEAR(single.outputs[i], exact.outputs[i], 2e-5);
  for (std::size_t i = 0; i < exact.gradient.size(); ++i) EXPECT_NEAR(single.gradient[i], exact.gradient[i], 5e-4);
}

INSTANTIATE_TEST_SUITE_P(, EveryCell, testing::ValuesIn(kCells), [](const auto& tested) { return tested.param.name; });

TEST(Cells, only_relu_and_linear_networks_have_a_path_reading) {
  for (const Cell& cell : kCells) {
    Circuit c;
    c.output(cell.add(c, c.symbols("x", 3), 2, false));
    Circuit reading;
    if (cell.name.starts_with("rnn_relu") || cell.name.starts_with("mrnn_relu") || cell.name == "rnn_linear" ||
        cell.name == "indrnn") {
      EXPECT_NO_THROW(path_reading(c, reading));
    } else {
      EXPECT_THROW(path_reading(c, reading), UsageError) << cell.name;
    }
  }
}

/// Each cell with its defaults, as a model adds it.
TEST(Registry, registered_cells_have_correct_derivatives_in_both_directions) {
  for (const CellEntry& cell : cells()) {
    if (!cell.reads_sequences()) continue;  // trees_test.cpp, grids_test.cpp
    Circuit c;
    const Signal x = c.symbols("x", 3);
    std::vector<Signal> both;
    both.push_back(cell.add(c, x, 2, cell.options, false));
    {
      const auto scope = c.scope("backward");
      const auto reversal = c.reversed();
      both.push_back(cell.add(c, x, 2, cell.options, false));
    }
    c.output(c.affine("logits", 3, {{"V", c.join(both)}}));
    const Index lengths[] = {3, 4, 1};
    const CheckReport report = check_derivatives(c, *softmax_loss<double>(), Structure::chains(lengths));
    EXPECT_TRUE(report.passed()) << cell.name << "\n" << report.text();
  }
}

TEST(Registry, reversed_cell_reads_its_sequence_from_the_end) {
  const auto run = [](bool reversed) {
    Circuit c;
    std::vector<Signal> y;
    const Signal x = c.input("x", 2);
    if (reversed) {
      const auto reversal = c.reversed();
      y.push_back(lstm(c, x, 3));
    } else {
      y.push_back(lstm(c, x, 3));
    }
    c.output(y[0]);
    Parameters<double> p = test::some_parameters<double>(c);
    Team team(1);
    Unfolding<double> u(std::make_shared<const Plan>(c), team);
    u.lay(Structure::chains(1, 5));
    u.set_parameters(p);
    for (Index t = 0; t < 5; ++t)
      for (Index i = 0; i < 2; ++i) u.input(x)(t, i) = std::sin(static_cast<double>(2 * (reversed ? 4 - t : t) + i));
    u.forward();
    std::vector<double> outputs;
    for (Index t = 0; t < 5; ++t)
      for (Index i = 0; i < 3; ++i) outputs.push_back(u.value(y[0])(reversed ? 4 - t : t, i));
    return outputs;
  };
  EXPECT_EQ(run(false), run(true));
}

/// The LSTM equations in scalars: one unit, one symbol.
class LstmEquations : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Gates, LstmEquations, testing::Bool(),
                         [](const auto& hard) { return hard.param ? "hard" : "sigmoid"; });
TEST_P(LstmEquations, lstm_follows_its_equations) {
  Circuit c;
  const Signal h = lstm(c, c.input("x", 1), 1, {.hard_gates = GetParam()});
  c.output(h);
  test::Runner<double> runner(c);
  const auto outputs = runner.run(Structure::chains(1, 3)).outputs;
  const auto at = [&](const char* name, Index column) {
    for (std::size_t p = 0; p < c.parameters().size(); ++p)
      if (c.parameters()[p].name == name) return runner.parameters()[static_cast<int>(p)](0, column);
    throw UsageError(name);
  };
  double state = 0, y = 0;
  for (Index t = 0; t < 3; ++t) {
    const double x = test::numbers("input", "x", 0, t).normal();
    const auto z = [&](Index k) { return x * at("z/W", k) + y * at("z/U", k) + at("z/bias", k); };
    const auto gate = [&](Index k) { return GetParam() ? test::cut_off(z(k)) : logistic(z(k)); };
    const double i = gate(0), f = gate(1), o = gate(2), g = std::tanh(z(3));
    state = state * f + g * i;
    y = std::tanh(state) * o;
    EXPECT_NEAR(outputs[static_cast<std::size_t>(t)], y, 1e-14);
  }
}

class GruEquations : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Gates, GruEquations, testing::Bool(),
                         [](const auto& hard) { return hard.param ? "hard" : "sigmoid"; });
TEST_P(GruEquations, gru_follows_its_equations_in_both_conventions) {
  const auto gate = [](double v) { return GetParam() ? test::cut_off(v) : logistic(v); };
  for (const bool reset_after : {false, true}) {
    Circuit c;
    c.output(gru(c, c.input("x", 1), 1, {.reset_after = reset_after, .hard_gates = GetParam()}));
    test::Runner<double> runner(c);
    const auto outputs = runner.run(Structure::chains(1, 3)).outputs;
    Parameters<double> p = runner.parameters();
    const auto at = [&](const char* name, Index column) { return p.at(name)(0, column); };
    double h = 0;
    for (Index t = 0; t < 3; ++t) {
      const double x = test::numbers("input", "x", 0, t).normal();
      double z, g;
      if (reset_after) {
        const auto u = [&](Index k) { return h * at("u/U", k) + at("u/bias", k); };
        z = gate(x * at("w/W", 0) + u(0));
        g = std::tanh(x * at("w/W", 2) + gate(x * at("w/W", 1) + u(1)) * u(2));
      } else {
        z = gate(x * at("zr/W", 0) + h * at("zr/U", 0) + at("zr/bias", 0));
        const double r = gate(x * at("zr/W", 1) + h * at("zr/U", 1) + at("zr/bias", 1));
        g = std::tanh(x * at("g/W", 0) + r * h * at("g/U", 0) + at("g/bias", 0));
      }
      h = (1 - z) * h + z * g;
      EXPECT_NEAR(outputs[static_cast<std::size_t>(t)], h, 1e-14) << reset_after;
    }
  }
}

/// Unlike with a sigmoid, the state stays bit-identical for any number of steps while the gate is closed.
TEST(Cells, closed_hard_gate_keeps_its_state_exactly) {
  Circuit c;
  c.output(gru(c, c.input("x", 1), 3, {.hard_gates = true, .trained_initial = true}));
  test::Runner<float> runner(c);
  Parameters<float> p = runner.parameters();
  for (Index unit = 0; unit < 3; ++unit) p.at("zr/bias")(0, unit) = -100;
  runner.unfolding().set_parameters(p);
  const std::vector<float> outputs = runner.run(Structure::chains(1, 500)).outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(outputs[i], outputs[i % 3]) << i;
  EXPECT_NE(outputs[0], 0);
}

TEST(Cells, gru_with_gated_state_reads_it_scaled_and_keeps_it_unscaled) {
  Circuit c;
  c.output(gru(c, c.input("x", 1), 1, {.reset_after = true, .gated_state = true}));
  test::Runner<double> runner(c);
  const auto outputs = runner.run(Structure::chains(1, 3)).outputs;
  Parameters<double> p = runner.parameters();
  const auto at = [&](const char* name, Index column) { return p.at(name)(0, column); };
  double h = 0;
  for (Index t = 0; t < 3; ++t) {
    const double x = test::numbers("input", "x", 0, t).normal();
    const double s = 2 * logistic(x * at("m/W", 0) + at("m/bias", 0)) * h;
    const auto w = [&](Index k) { return x * at("w/W", k); };
    const auto u = [&](Index k) { return s * at("u/U", k) + at("u/bias", k); };
    const double z = logistic(w(0) + u(0)), r = logistic(w(1) + u(1)), g = std::tanh(w(2) + r * u(2));
    h = (1 - z) * h + z * g;
    EXPECT_NEAR(outputs[static_cast<std::size_t>(t)], h, 1e-14);
  }
}

/// As documented by PyTorch: biases inside and outside the reset gate.
TEST(Cells, gru_with_two_biases_has_one_outside_the_reset_gate) {
  Circuit c;
  c.output(gru(c, c.input("x", 1), 1, {.reset_after = true, .two_biases = true}));
  test::Runner<double> runner(c);
  const auto outputs = runner.run(Structure::chains(1, 3)).outputs;
  Parameters<double> p = runner.parameters();
  const auto at = [&](const char* name, Index column) { return p.at(name)(0, column); };
  double h = 0;
  for (Index t = 0; t < 3; ++t) {
    const double x = test::numbers("input", "x", 0, t).normal();
    const auto w = [&](Index k) { return x * at("w/W", k) + at("w/bias", k); };
    const auto u = [&](Index k) { return h * at("u/U", k) + at("u/bias", k); };
    const double z = logistic(w(0) + u(0)), r = logistic(w(1) + u(1)), g = std::tanh(w(2) + r * u(2));
    h = (1 - z) * h + z * g;
    EXPECT_NEAR(outputs[static_cast<std::size_t>(t)], h, 1e-14);
  }
}

/// One dense recurrent matrix for each symbol: W_fh diag(x W_fx + b_f) W_hf.
TEST(Cells, mrnn_has_one_recurrent_matrix_per_symbol) {
  constexpr Index kUnits = 3, kFactors = 4, kSymbols = 2;
  Circuit c;
  const Signal x = c.symbols("x", kSymbols), y = mrnn(c, x, kUnits, {.factors = kFactors});
  c.output(y);
  test::Runner<double> runner(c);
  const auto outputs = runner.run(Structure::chains(1, 4)).outputs;
  const auto read = runner.unfolding().symbols(x);
  Parameters<double> p = runner.parameters();
  std::vector<double> h(kUnits, 0.0);
  for (Index t = 0; t < 4; ++t) {
    const Symbol symbol = read[static_cast<std::size_t>(t)];
    const auto row = [&](const char* name, Index j) { return symbol == kNoSymbol ? 0 : p.at(name)(symbol, j); };
    std::vector<double> next(kUnits);
    for (Index j = 0; j < kUnits; ++j) {
      double z = p.at("z/bias")(0, j) + row("z/W", j);
      for (Index i = 0; i < kUnits; ++i)
        for (Index f = 0; f < kFactors; ++f)
          z += h[static_cast<std::size_t>(i)] * p.at("fh/U")(i, f) * (p.at("fx/bias")(0, f) + row("fx/W", f)) *
               p.at("z/U")(f, j);
      next[static_cast<std::size_t>(j)] = std::tanh(z);
    }
    h = next;
    for (Index j = 0; j < kUnits; ++j)
      EXPECT_NEAR(outputs[static_cast<std::size_t>(t * kUnits + j)], h[static_cast<std::size_t>(j)], 1e-14);
  }
}

TEST(TensorRnn, tensor_rnn_has_correct_derivatives) {
  const Index lengths[] = {4, 1, 3};
  for (const Map activation : {Map::tanh, Map::relu, Map::softplus})
    for (const bool trained : {false, activation != Map::relu}) {  // zero initial states are at the kink of relu
      Circuit c;
      const Signal h = tensor_rnn(c, c.symbols("x", 3), 3, {.activation = activation, .trained_initial = trained});
      c.output(c.affine("logits", 3, {{"V", h}}));
      CheckOptions options;
      options.dense_parameters = 0;
      const CheckReport report = check_derivatives(c, *softmax_loss<double>(), Structure::chains(lengths), options);
      EXPECT_TRUE(report.passed()) << report.text();
    }
}

TEST(TensorRnn, tensor_rnn_has_one_dense_recurrent_matrix_per_symbol) {
  constexpr Index kUnits = 3;
  Circuit c;
  const Signal x = c.symbols("x", 2), y = tensor_rnn(c, x, kUnits, {.trained_initial = true});
  c.output(y);
  const auto edges = random_edges(kUnits, kUnits, 0);
  ASSERT_EQ(edges->count(), kUnits * kUnits);
  Parameters<double> p = test::some_parameters<double>(c);
  Team team(1);
  Unfolding<double> u(std::make_shared<const Plan>(c), team);
  u.lay(Structure::chains(1, 4));
  u.set_parameters(p);
  const Symbol text[] = {kNoSymbol, 1, 0, 1};
  std::copy(text, text + 4, u.symbols(x).begin());
  u.forward();
  const Matrix<const double> w = p.at("z/W"), tensor = p.at("z/U"), start = p.at("link1/start");
  std::vector<double> h(start.data, start.data + kUnits);
  for (Index t = 0; t < 4; ++t) {
    std::vector<double> z = h;  // unchanged if there is no symbol
    if (text[t] != kNoSymbol) {
      for (Index i = 0; i < kUnits; ++i) z[static_cast<std::size_t>(i)] = w(text[t], i);
      for (Index e = 0; e < edges->count(); ++e) {
        const auto from = static_cast<std::size_t>(edges->from()[static_cast<std::size_t>(e)]);
        const auto to = static_cast<std::size_t>(edges->to()[static_cast<std::size_t>(e)]);
        z[to] += tensor(text[t], e) * h[from];
      }
    }
    for (std::size_t i = 0; i < h.size(); ++i) h[i] = std::tanh(z[i]);
    for (Index i = 0; i < kUnits; ++i) EXPECT_NEAR(u.value(y)(t, i), h[static_cast<std::size_t>(i)], 1e-14) << t;
  }
}

TEST(TensorRnn, tensor_rnn_with_vector_inputs_has_correct_derivatives) {
  const Index lengths[] = {4, 1, 3};
  Circuit c;
  const Signal h = tensor_rnn(c, c.input("x", 2), 3, {.trained_initial = true});
  c.output(c.affine("logits", 3, {{"V", h}}));
  const CheckReport report = check_derivatives(c, *softmax_loss<double>(), Structure::chains(lengths), {});
  EXPECT_TRUE(report.passed()) << report.text();
}

TEST(Cells, lstm_initializes_its_forget_gate_open) {
  Circuit c;
  lstm(c, c.symbols("x", 3), 4, {.forget_bias = 1.5});
  Parameters<double> p(c);
  p.initialize(1);
  const Matrix<double> bias = p.at("z/bias");
  for (Index k = 0; k < 16; ++k) EXPECT_EQ(bias(0, k), k / 4 == 1 ? 1.5 : 0);
}

TEST(Cells, chrono_lstm_spreads_its_time_scales) {
  Circuit c;
  lstm(c, c.symbols("x", 3), 200, {.chrono = 100});
  Parameters<double> p(c);
  p.initialize(1);
  const Matrix<double> bias = p.at("z/bias");
  double shortest = 100, longest = 0;
  for (Index k = 0; k < 200; ++k) {
    EXPECT_EQ(bias(0, k), -bias(0, 200 + k));
    EXPECT_EQ(bias(0, 400 + k), 0);
    const double scale = std::exp(bias(0, 200 + k));
    shortest = std::min(shortest, scale), longest = std::max(longest, scale);
  }
  EXPECT_GE(shortest, 1);
  EXPECT_LE(longest, 99);
  EXPECT_LT(shortest, 5);
  EXPECT_GT(longest, 90);
}

}  // namespace
}  // namespace unfold
