/// Reference equations of recently added cells, element by element.

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "graph/cells/tdnn.h"
#include "tests/graph/cells/gate_functions.h"
#include "tests/support/runner.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {
namespace {

using test::logistic;

using Row = std::vector<double>;

Row operator+(Row a, const Row& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

/// A cell of kUnits units over a sequence of vectors of kInputs numbers, and its reference as a function of scalars.
class LaterCells : public testing::Test {
 protected:
  static constexpr Index kInputs = 2, kUnits = 3, kSteps = 5;
  static constexpr std::size_t kN = 3;

  template <class Add>
  Row run(Add&& add) {
    circuit_.output(add(circuit_, circuit_.input("x", kInputs)));
    test::Runner<double> runner(circuit_);
    const auto outputs = runner.run(Structure::chains(1, kSteps)).outputs;
    parameters_ = runner.parameters();
    return {outputs.begin(), outputs.end()};
  }

  Row input(Index t) const {
    Row x(kInputs, 0.0);
    if (t < 0) return x;
    Random random = test::numbers("input", "x", 0, t);
    for (double& v : x) v = random.normal();
    return x;
  }
  /// x W
  Row times(const Row& x, const char* name) {
    const Matrix<double> w = parameters_.at(name);
    Row y(at(w.cols), 0.0);
    for (Index i = 0; i < w.rows; ++i)
      for (Index j = 0; j < w.cols; ++j) y[at(j)] += x[at(i)] * w(i, j);
    return y;
  }
  Row row(const char* name) {
    const Matrix<double> w = parameters_.at(name);
    return {w.row(0), w.row(0) + w.cols};
  }
  /// LN(x) with the named gains.
  Row normalized(const Row& x, const char* gains) {
    double mean = 0, variance = 0;
    for (const double v : x) mean += v / static_cast<double>(x.size());
    for (const double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
    Row y = row(gains);
    for (std::size_t i = 0; i < x.size(); ++i) y[i] *= (x[i] - mean) / std::sqrt(variance + 1e-5);
    return y;
  }
  static void expect_near(const Row& outputs, Index t, const Row& want) {
    for (std::size_t j = 0; j < want.size(); ++j) EXPECT_NEAR(outputs[at(t) * want.size() + j], want[j], 1e-13) << t;
  }

  Circuit circuit_;
  Parameters<double> parameters_{circuit_};
};

TEST_F(LaterCells, mingru_is_an_average_with_an_input_gate) {
  const Row outputs = run([](Circuit& c, Signal x) { return min_gru(c, x, kUnits); });
  Row h(kN, 0.0);
  for (Index t = 0; t < kSteps; ++t) {
    const Row zg = times(input(t), "zg/W") + row("zg/bias");
    for (std::size_t j = 0; j < kN; ++j) h[j] = (1 - logistic(zg[j])) * h[j] + logistic(zg[j]) * zg[kN + j];
    expect_near(outputs, t, h);
  }
}

TEST_F(LaterCells, minlstm_normalizes_its_gates) {
  const Row outputs = run([](Circuit& c, Signal x) { return min_lstm(c, x, kUnits); });
  Row h(kN, 0.0);
  for (Index t = 0; t < kSteps; ++t) {
    const Row fig = times(input(t), "fig/W") + row("fig/bias");
    for (std::size_t j = 0; j < kN; ++j) {
      const double f = logistic(fig[j]), i = logistic(fig[kN + j]);
      h[j] = f / (f + i) * h[j] + i / (f + i) * fig[2 * kN + j];
    }
    expect_near(outputs, t, h);
  }
}

TEST(MinLstm, minlstm_keeps_the_ratio_of_nearly_closed_gates) {
  Circuit c;
  const Signal x = c.input("x", 1);
  c.output(min_lstm(c, x, 1));
  Parameters<float> p(c);
  p.at("fig/bias")(0, 0) = -200, p.at("fig/bias")(0, 1) = -200, p.at("fig/bias")(0, 2) = 3;
  Team team(1);
  Unfolding<float> u(std::make_shared<const Plan>(c), team);
  u.lay(Structure::chains(1, 1));
  u.set_parameters(p);
  u.input(x)(0, 0) = 0;
  u.forward();
  EXPECT_NEAR(u.value({&c, c.outputs()[0]})(0, 0), 1.5, 1e-6);
}

TEST_F(LaterCells, sru_has_a_highway_around_its_average) {
  const Row outputs = run([](Circuit& c, Signal x) { return sru(c, x, kUnits); });
  Row state(kN, 0.0), h(kN);
  for (Index t = 0; t < kSteps; ++t) {
    const Row a = times(input(t), "frus/W") + row("frus/bias");
    for (std::size_t j = 0; j < kN; ++j) {
      const double f = logistic(a[j]), r = logistic(a[kN + j]), u = a[2 * kN + j], s = a[3 * kN + j];
      state[j] = f * state[j] + (1 - f) * u;
      h[j] = r * state[j] + (1 - r) * s;
    }
    expect_near(outputs, t, h);
  }
}

TEST_F(LaterCells, qrnn_reads_the_last_three_inputs) {
  const Row outputs = run([](Circuit& c, Signal x) { return qrnn(c, x, kUnits, {.width = 3}); });
  Row state(kN, 0.0), h(kN);
  for (Index t = 0; t < kSteps; ++t) {
    const Row a =
        times(input(t), "zfo/W") + times(input(t - 1), "zfo/W2") + times(input(t - 2), "zfo/W3") + row("zfo/bias");
    for (std::size_t j = 0; j < kN; ++j) {
      const double f = logistic(a[kN + j]);
      state[j] = f * state[j] + (1 - f) * std::tanh(a[j]);
      h[j] = logistic(a[2 * kN + j]) * state[j];
    }
    expect_near(outputs, t, h);
  }
}

TEST_F(LaterCells, tdnn_reads_windows_at_its_dilations) {
  const Row outputs = run([](Circuit& c, Signal x) {
    return tdnn(c, x, kUnits, {.width = 2, .dilations = "1+2", .activation = Map::tanh});
  });
  std::vector<Row> first;
  for (Index t = 0; t < kSteps; ++t) {
    const Row a = times(input(t), "dilation1/z/W1") + times(input(t - 1), "dilation1/z/W2") + row("dilation1/z/bias");
    Row& h = first.emplace_back(kN, 0.0);
    for (std::size_t j = 0; j < kN; ++j) h[j] = std::tanh(a[j]);
    const Row b = times(h, "dilation2/z/W1") + times(t < 2 ? Row(kN, 0.0) : first[at(t - 2)], "dilation2/z/W2") +
                  row("dilation2/z/bias");
    Row second(kN, 0.0);
    for (std::size_t j = 0; j < kN; ++j) second[j] = h[j] + std::tanh(b[j]);
    expect_near(outputs, t, second);
  }
}

TEST(Tdnn, tdnn_has_correct_derivatives_for_symbols_and_vectors) {
  for (const bool symbols : {true, false})
    for (const Map activation : {Map::tanh, Map::relu}) {
      Circuit c;
      const Signal x = symbols ? c.symbols("x", 3) : c.input("x", 2);
      c.output(c.affine("o", 3, {{"V", tdnn(c, x, 2, {.width = 3, .dilations = "1+2", .activation = activation})}}));
      const Index lengths[] = {3, 6, 1};
      const CheckReport report = check_derivatives(c, *softmax_loss<double>(), Structure::chains(lengths));
      EXPECT_TRUE(report.passed()) << report.text();
    }
}

TEST_F(LaterCells, indrnn_units_read_only_themselves) {
  const Row outputs = run([](Circuit& c, Signal x) { return ind_rnn(c, x, kUnits); });
  Row h(kN, 0.0);
  for (Index t = 0; t < kSteps; ++t) {
    const Row z = times(input(t), "z/W") + row("z/bias"), w = row("z/w");
    for (std::size_t j = 0; j < kN; ++j) h[j] = std::fmax(0, z[j] + w[j] * h[j]);
    expect_near(outputs, t, h);
  }
}

TEST_F(LaterCells, lru_is_a_complex_recurrence) {
  const Row outputs = run([](Circuit& c, Signal x) { return lru(c, x, kUnits); });
  std::vector<std::complex<double>> z(kN);
  for (Index t = 0; t < kSteps; ++t) {
    const Row u = times(input(t), "u/B"), gains = row("z/gamma"), lambda = row("z/lambda");
    Row parts(2 * kN), h(kN);
    for (std::size_t k = 0; k < kN; ++k) {
      z[k] = std::exp(std::complex(-std::exp(lambda[k]), lambda[kN + k])) * z[k] +
             std::exp(gains[k]) * std::complex(u[k], u[kN + k]);
      parts[k] = z[k].real(), parts[kN + k] = z[k].imag();
    }
    const Row y = times(parts, "y/C") + times(input(t), "y/D") + row("y/bias");
    for (std::size_t j = 0; j < kN; ++j) h[j] = y[j] * logistic(y[kN + j]);
    expect_near(outputs, t, h);
  }
}

/// Without the stabilizer: i = exp(..), f = sigmoid(..), c / n.
TEST_F(LaterCells, slstm_equals_its_unstabilized_form) {
  for (const bool exponential : {false, true}) {
    Circuit circuit;
    circuit.output(slstm(circuit, circuit.input("x", kInputs), kUnits, {.exponential_forget = exponential}));
    test::Runner<double> runner(circuit);
    const auto got = runner.run(Structure::chains(1, kSteps)).outputs;
    const Row outputs(got.begin(), got.end());
    parameters_ = runner.parameters();
    Row h(kN, 0.0), cell(kN, 0.0), norm(kN, 0.0);
    for (Index t = 0; t < kSteps; ++t) {
      const Row a = times(input(t), "z/W") + times(h, "z/U") + row("z/bias");
      for (std::size_t j = 0; j < kN; ++j) {
        const double i = std::exp(a[j]), f = exponential ? std::exp(a[kN + j]) : logistic(a[kN + j]);
        cell[j] = f * cell[j] + i * std::tanh(a[3 * kN + j]);
        norm[j] = f * norm[j] + i;
        h[j] = logistic(a[2 * kN + j]) * cell[j] / norm[j];
      }
      expect_near(outputs, t, h);
    }
  }
}

TEST(Slstm, slstm_stays_finite_for_extreme_gates) {
  for (const float gate : {-300.0F, 300.0F}) {
    Circuit c;
    const Signal x = c.input("x", 1);
    c.output(slstm(c, x, 1, {.exponential_forget = true}));
    Parameters<float> p(c);
    p.at("z/bias")(0, 0) = gate, p.at("z/bias")(0, 1) = gate, p.at("z/bias")(0, 3) = 0.5F;
    Team team(1);
    Unfolding<float> u(std::make_shared<const Plan>(c), team);
    u.lay(Structure::chains(1, 20));
    u.set_parameters(p);
    for (Index t = 0; t < 20; ++t) u.input(x)(t, 0) = 0;
    u.forward();
    for (Index t = 0; t < 20; ++t)
      EXPECT_NEAR(u.value({&c, c.outputs()[0]})(t, 0), 0.5 * std::tanh(0.5), 1e-5) << gate << " at " << t;
  }
}

TEST_F(LaterCells, recurrent_highway_applies_its_layers_in_each_step) {
  const Row outputs = run([](Circuit& c, Signal x) { return recurrent_highway(c, x, kUnits, {.depth = 2}); });
  Row h(kN, 0.0);
  for (Index t = 0; t < kSteps; ++t) {
    for (const int layer : {1, 2}) {
      const Row a =
          layer == 1 ? times(input(t), "z1/W") + times(h, "z1/U") + row("z1/bias") : times(h, "z2/U") + row("z2/bias");
      for (std::size_t j = 0; j < kN; ++j) {
        const double r = logistic(a[kN + j]);
        h[j] = r * std::tanh(a[j]) + (1 - r) * h[j];
      }
    }
    expect_near(outputs, t, h);
  }
}

TEST_F(LaterCells, mogrifier_gates_input_and_state_before_an_lstm) {
  const Row outputs = run([](Circuit& c, Signal x) { return mogrifier(c, x, kUnits, {.rounds = 3}); });
  Row h(kN, 0.0), cell(kN, 0.0);
  for (Index t = 0; t < kSteps; ++t) {
    Row x = input(t), state = h;
    const auto gate = [&](Row& what, const Row& by, const char* matrix, const char* bias) {
      const Row a = times(by, matrix) + row(bias);
      for (std::size_t i = 0; i < what.size(); ++i) what[i] *= 2 * logistic(a[i]);
    };
    gate(x, state, "q1/U", "q1/bias");
    gate(state, x, "r2/U", "r2/bias");
    gate(x, state, "q3/U", "q3/bias");
    const Row z = times(x, "z/W") + times(state, "z/U") + row("z/bias");
    for (std::size_t j = 0; j < kN; ++j) {
      cell[j] = logistic(z[kN + j]) * cell[j] + logistic(z[j]) * std::tanh(z[3 * kN + j]);
      h[j] = logistic(z[2 * kN + j]) * std::tanh(cell[j]);
    }
    expect_near(outputs, t, h);
  }
}

TEST_F(LaterCells, delayed_leaky_rnn_units_decay_with_their_time_constants) {
  for (const auto leak : {TimeConstants::fixed, TimeConstants::learned}) {
    Circuit circuit;
    circuit.output(rnn(circuit, circuit.input("x", kInputs), kUnits, {.delays = {1, 3}, .leak = leak, .longest = 20}));
    test::Runner<double> runner(circuit);
    const auto got = runner.run(Structure::chains(1, kSteps)).outputs;
    const Row outputs(got.begin(), got.end());
    parameters_ = runner.parameters();
    std::vector<Row> h(3, Row(kN, 0.0));
    for (Index t = 0; t < kSteps; ++t) {
      const Row z = times(input(t), "z/W") + times(h.back(), "z/U") + times(h[h.size() - 3], "z/U3") + row("z/bias");
      Row next = h.back();
      for (std::size_t j = 0; j < kN; ++j) {
        const double theta = leak == TimeConstants::fixed ? std::pow(20.0, (static_cast<double>(j) + 0.5) / kUnits)
                                                          : 1 + std::log1p(std::exp(row("leak/rho")[j]));
        next[j] += (std::tanh(z[j]) - next[j]) / theta;
      }
      h.push_back(next);
      expect_near(outputs, t, next);
    }
  }
}

TEST_F(LaterCells, normalized_lstm_normalizes_products_and_cell) {
  const Row outputs = run([](Circuit& c, Signal x) { return lstm(c, x, kUnits, {.layer_norm = true}); });
  Row h(kN, 0.0), cell(kN, 0.0);
  for (Index t = 0; t < kSteps; ++t) {
    const Row z =
        normalized(times(input(t), "w/W"), "z/gain-w") + normalized(times(h, "u/U"), "z/gain-u") + row("z/bias");
    for (std::size_t j = 0; j < kN; ++j)
      cell[j] = logistic(z[kN + j]) * cell[j] + logistic(z[j]) * std::tanh(z[3 * kN + j]);
    const Row out = normalized(cell, "norm/gain") + row("norm/bias");
    for (std::size_t j = 0; j < kN; ++j) h[j] = logistic(z[2 * kN + j]) * std::tanh(out[j]);
    expect_near(outputs, t, h);
  }
}

TEST_F(LaterCells, normalized_gru_normalizes_gates_and_candidate) {
  const Row outputs = run([](Circuit& c, Signal x) { return gru(c, x, kUnits, {.layer_norm = true}); });
  Row h(kN, 0.0);
  for (Index t = 0; t < kSteps; ++t) {
    const Row zr = normalized(times(input(t), "w/W"), "norm-w/gain") + row("norm-w/bias") +
                   normalized(times(h, "u/U"), "norm-u/gain");
    const Row wg = normalized(times(input(t), "wg/W"), "norm-wg/gain") + row("norm-wg/bias");
    const Row ug = normalized(times(h, "ug/U"), "norm-ug/gain");
    for (std::size_t j = 0; j < kN; ++j) {
      const double z = logistic(zr[j]), g = std::tanh(wg[j] + logistic(zr[kN + j]) * ug[j]);
      h[j] = (1 - z) * h[j] + z * g;
    }
    expect_near(outputs, t, h);
  }
}

TEST(LaterCellsThatScan, scannable_cells_have_only_maps_in_their_loop) {
  for (const auto add : {min_gru, min_lstm, sru}) {
    Circuit c;
    c.output(add(c, c.symbols("x", 3), 4, {}));
    const Plan plan(c);
    for (const Segment& segment : plan.segments())
      for (const Item& item : segment.items)
        EXPECT_TRUE(!segment.loop || item.kind == Item::Kind::pointwise) << plan.print();
  }
}

}  // namespace
}  // namespace unfold
