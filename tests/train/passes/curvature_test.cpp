/// Gauss-Newton products compared with the dense matrix J'HJ + mu J_h'DJ_h, whose Jacobians are finite differences of
/// forward passes and whose H and D are defined here.

#include "train/passes/curvature.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/optim/small_network.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using Vector = std::vector<double>;
using Build = std::function<Signal(Circuit&, Signal, Index)>;
constexpr Index kSymbols = 4, kUnits = 3;

enum class Out { softmax, bernoulli, gaussian };

std::shared_ptr<const Loss<double>> loss_of(Out out) {
  if (out == Out::softmax) return softmax_loss<double>();
  return out == Out::bernoulli ? bernoulli_loss<double>() : gaussian_loss<double>();
}

Batch random_window(std::span<const Index> lengths, Out out, std::uint64_t seed) {
  Batch w;
  w.structure = Structure::chains(lengths);
  const Index rows = w.structure.positions();
  if (out != Out::softmax) w.value_field(kSymbol).clear(rows, kSymbols);
  Random random(seed, "window");
  for (Index s = 0; s < w.structure.sequences(); ++s) w.carry.slots.push_back(s);
  for (Index r = 0; r < rows; ++r) {
    read_symbols(w).push_back(static_cast<Symbol>(random.below(kSymbols)));
    const bool predicted = random.below(3) != 0;
    w.predicted += predicted;
    if (out == Out::softmax) {
      predicted_symbols(w).push_back(predicted ? static_cast<Symbol>(random.below(kSymbols)) : kNoSymbol);
    } else {
      for (Index c = 0; c < kSymbols; ++c) {
        const auto bit = static_cast<float>(random.below(2));
        if (predicted) w.value_field(kSymbol).set(r, c, bit);
      }
    }
  }
  w.carry.slots_needed = w.structure.sequences();
  return w;
}

struct Problem {
  /// `penalized`: the layer is an output, as for penalties.
  Problem(const Build& build, Out out, Distance distance_, bool penalized = false) : distance(distance_) {
    windows = {random_window(std::vector<Index>{5, 3, 6}, out, 1), random_window(std::vector<Index>{4, 4}, out, 2)};
    const Signal x = circuit.symbols("x", kSymbols);
    const Signal h = build(circuit, x, kUnits), o = circuit.affine("output", kSymbols, {{"V", h}});
    circuit.output(o);
    if (penalized) circuit.output(h);
    network =
        Network<double>::of(std::make_shared<const Plan>(circuit), {kPreviousSymbol, x}, {kSymbol, o, loss_of(out)});
    if (penalized) network.hidden = {h};
    parameters = Parameters<double>(circuit);
    parameters.initialize(2);
    Random noise(3, "noise");
    for (double& p : parameters.flat()) p += 0.4 * noise.normal();
    damped = damped_signals(network, distance);
    states.assign(windows.size(), State<double>(*network.plan, 3));
    Random carried(5, "carried");
    for (double& v : states[1].values()) v = carried.uniform(-0.5, 0.5);  // a window that is not the first
    for (Index slot = 0; slot < 3; ++slot) states[1].mark_carried(slot);
  }

  std::vector<CurvaturePart<double>> parts() const {
    std::vector<CurvaturePart<double>> result;
    for (std::size_t i = 0; i < windows.size(); ++i) result.push_back({&windows[i], &states[i]});
    return result;
  }

  /// Returns the values of the output and of the damped signals of a window.
  std::vector<Matrix<const double>> values(Unfolding<double>& u, std::size_t window) {
    const Batch& w = windows[window];
    u.lay(w.structure, w.carry.slots);
    std::copy(read_symbols(w).begin(), read_symbols(w).end(), u.symbols(network.inputs.front().signal).begin());
    u.set_parameters(parameters);
    State<double> state = states[window];
    u.forward(&state);
    std::vector<Matrix<const double>> result = {u.value(network.heads.front().signal)};
    for (const Damped& d : damped) result.push_back(u.value(d.signal));
    return result;
  }

  Circuit circuit;
  Network<double> network;
  Parameters<double> parameters;
  Distance distance;
  std::vector<Damped> damped;
  std::vector<Batch> windows;
  std::vector<State<double>> states;
};

/// H at a row of the output, and D of a unit, by definition.
double hessian(Out out, const double* o, Index i, Index j) {
  if (out == Out::gaussian) return i == j ? 1 : 0;
  if (out == Out::bernoulli) {
    const double p = 1 / (1 + std::exp(-o[i]));
    return i == j ? p * (1 - p) : 0;
  }
  double total = 0;
  for (Index k = 0; k < kSymbols; ++k) total += std::exp(o[k]);
  const double pi = std::exp(o[i]) / total, pj = std::exp(o[j]) / total;
  return (i == j ? pi : 0) - pi * pj;
}

double second_derivative(Damped::Kind kind, double h) {
  if (kind == Damped::Kind::tanh) return 1 / (1 - h * h);
  if (kind == Damped::Kind::logistic) return 1 / h + 1 / (1 - h);
  return 1;
}

/// Faults injected into the reference.
struct Fault {
  bool without_hessian = false, without_first_position = false;
};

Vector dense(Problem& problem, Out out, double structural, const Fault& fault = {}) {
  std::vector<Signal> watched;
  for (const Damped& d : problem.damped) watched.push_back(d.signal);
  Team team(1);
  Unfolding<double> u(std::make_shared<const Plan>(problem.circuit, PlanOptions{}, watched), team);
  const auto n = static_cast<std::size_t>(problem.parameters.size());
  Vector g(n * n);
  double predicted = 0;
  for (const Batch& w : problem.windows) predicted += static_cast<double>(w.predicted);
  for (std::size_t window = 0; window < problem.windows.size(); ++window) {
    const Batch& w = problem.windows[window];
    const auto copies = [&] {
      std::vector<Vector> result;
      for (const auto& m : problem.values(u, window)) {
        result.emplace_back();
        for (Index r = 0; r < m.rows; ++r) result.back().insert(result.back().end(), m.row(r), m.row(r) + m.cols);
      }
      return result;
    };
    const std::vector<Vector> at = copies();
    std::vector<std::vector<Vector>> jacobian(n);  // [parameter][signal][row * size]
    for (std::size_t p = 0; p < n; ++p) {
      const double h = 1e-5, before = problem.parameters.flat()[p];
      problem.parameters.flat()[p] = before + h;
      jacobian[p] = copies();
      problem.parameters.flat()[p] = before - h;
      const std::vector<Vector> below = copies();
      problem.parameters.flat()[p] = before;
      for (std::size_t s = 0; s < below.size(); ++s)
        for (std::size_t i = 0; i < below[s].size(); ++i)
          jacobian[p][s][i] = (jacobian[p][s][i] - below[s][i]) / (2 * h);
    }
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b) {
        double sum = 0;
        for (std::size_t r = fault.without_first_position ? 1 : 0;
             r < static_cast<std::size_t>(w.structure.positions()); ++r) {
          if (!is_present(w.field(kSymbol), static_cast<Index>(r))) continue;
          for (Index i = 0; i < kSymbols; ++i)
            for (Index j = 0; j < kSymbols; ++j) {
              const std::size_t row = r * kSymbols;
              const double curved = fault.without_hessian ? i == j : hessian(out, &at[0][row], i, j);
              sum += jacobian[a][0][row + static_cast<std::size_t>(i)] * curved *
                     jacobian[b][0][row + static_cast<std::size_t>(j)];
            }
        }
        for (std::size_t s = 1; s < at.size(); ++s)
          for (std::size_t i = 0; i < at[s].size(); ++i)
            sum += structural * jacobian[a][s][i] * second_derivative(problem.damped[s - 1].kind, at[s][i]) *
                   jacobian[b][s][i];
        g[a * n + b] += sum / predicted;
      }
  }
  return g;
}

Vector by_products(Problem& problem, double structural, int threads = 1) {
  Team team(threads);
  Curvature<double> curvature(problem.network, problem.distance, team);
  curvature.start(problem.parameters, problem.parts());
  const auto n = static_cast<std::size_t>(problem.parameters.size());
  Vector g(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    Vector unit(n);
    unit[i] = 1;
    curvature.product(unit, structural, std::span<double>(g).subspan(i * n, n));
  }
  return g;
}

double difference(const Vector& x, const Vector& y) {
  double most = 0, largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    most = std::max(most, std::fabs(x[i] - y[i]));
    largest = std::max(largest, std::fabs(x[i]));
  }
  return most / largest;
}

Build rnn_of(Map activation) {
  return [=](Circuit& c, Signal x, Index n) { return rnn(c, x, n, {.activation = activation}); };
}

Signal lstm_of(Circuit& c, Signal x, Index n) { return lstm(c, x, n, {.trained_initial = true}); }
Signal gru_of(Circuit& c, Signal x, Index n) { return gru(c, x, n, {}); }

TEST(Curvature, curvature_is_the_dense_gauss_newton_matrix_with_structural_damping) {
  const std::pair<const char*, Build> cells[] = {
      {"tanh", rnn_of(Map::tanh)},         {"relu", rnn_of(Map::relu)}, {"sigmoid", rnn_of(Map::sigmoid)},
      {"softplus", rnn_of(Map::softplus)}, {"lstm", lstm_of},           {"gru", gru_of}};
  for (const auto& [name, build] : cells)
    for (const Out out : {Out::softmax, Out::bernoulli, Out::gaussian})
      for (const Distance distance : {Distance::none, Distance::squared, Distance::matching}) {
        SCOPED_TRACE(std::string(name) + ", readout " + std::to_string(static_cast<int>(out)) + ", distance " +
                     std::to_string(static_cast<int>(distance)));
        Problem problem(build, out, distance);
        EXPECT_LT(difference(dense(problem, out, 0.3), by_products(problem, 0.3)), 1e-7);
      }
}

TEST(Curvature, wrong_curvature_is_detected) {
  Problem problem(rnn_of(Map::tanh), Out::softmax, Distance::matching);
  const Vector g = by_products(problem, 0.3);
  EXPECT_LT(difference(dense(problem, Out::softmax, 0.3), g), 1e-7);
  EXPECT_GT(difference(dense(problem, Out::softmax, 0.3, {.without_hessian = true}), g), 1e-2);
  EXPECT_GT(difference(dense(problem, Out::softmax, 0.3, {.without_first_position = true}), g), 1e-3);
  EXPECT_GT(difference(dense(problem, Out::softmax, 0.31), g), 1e-3);
  Problem other(rnn_of(Map::tanh), Out::softmax, Distance::squared);
  EXPECT_GT(difference(dense(other, Out::softmax, 0.3), g), 1e-2);
}

TEST(Curvature, curvature_is_symmetric_and_nonnegative) {
  for (const Distance distance : {Distance::none, Distance::matching}) {
    Problem problem(lstm_of, Out::softmax, distance);
    const Vector g = by_products(problem, 0.1);
    const auto n = static_cast<std::size_t>(problem.parameters.size());
    Random random(8, "v");
    for (int trial = 0; trial < 20; ++trial) {
      Vector v(n);
      for (double& x : v) x = random.normal();
      double form = 0;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) {
          form += v[i] * g[i * n + j] * v[j];
          ASSERT_NEAR(g[i * n + j], g[j * n + i], 1e-14);
        }
      EXPECT_GE(form, 0);
    }
  }
}

TEST(Curvature, curvature_samples_have_its_covariance) {
  for (const Out out : {Out::softmax, Out::bernoulli}) {
    Problem problem(rnn_of(Map::tanh), out, Distance::matching);
    const Vector g = by_products(problem, 0.3);
    const auto n = static_cast<std::size_t>(problem.parameters.size());
    Team team(1);
    Curvature<double> curvature(problem.network, problem.distance, team);
    curvature.start(problem.parameters, problem.parts());
    constexpr int kSamples = 2000;
    Vector sample(n), mean(n);
    for (int k = 0; k < kSamples; ++k) {
      curvature.sample(static_cast<std::uint64_t>(k), 0.3, sample);
      for (std::size_t i = 0; i < n; ++i) mean[i] += sample[i] * sample[i] / kSamples;
    }
    for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(mean[i] / g[i * n + i], 1, 0.2) << i;
  }
}

TEST(Curvature, curvature_has_the_same_bits_for_one_and_two_threads) {
  Problem problem(lstm_of, Out::softmax, Distance::squared);
  EXPECT_EQ(by_products(problem, 0.2, 1), by_products(problem, 0.2, 2));
}

TEST(Curvature, structural_damping_applies_to_carried_states) {
  const auto names = [](const Build& build, Distance distance) {
    Problem problem(build, Out::softmax, distance);
    std::vector<Damped::Kind> kinds;
    for (const Damped& d : problem.damped) kinds.push_back(d.kind);
    return kinds;
  };
  using enum Damped::Kind;
  EXPECT_EQ(names(rnn_of(Map::tanh), Distance::matching), std::vector{tanh});
  EXPECT_EQ(names(rnn_of(Map::sigmoid), Distance::matching), std::vector{logistic});
  EXPECT_EQ(names(rnn_of(Map::relu), Distance::matching), std::vector{squared});
  EXPECT_EQ(names(rnn_of(Map::tanh), Distance::squared), std::vector{squared});
  EXPECT_EQ(names(rnn_of(Map::tanh), Distance::none), std::vector<Damped::Kind>{});
  EXPECT_EQ(names(lstm_of, Distance::matching), (std::vector{squared, squared}));
}

/// Penalties have no curvature: their outputs do not change products or samples.
TEST(Curvature, penalized_layers_do_not_change_products) {
  const Build build = [](Circuit& c, Signal x, Index n) { return rnn(c, x, n, {}); };
  for (const Distance distance : {Distance::none, Distance::matching}) {
    Vector results[2][2];
    for (const bool penalized : {false, true}) {
      Problem problem(build, Out::softmax, distance, penalized);
      Team team(1);
      Curvature<double> curvature(problem.network, distance, team);
      curvature.start(problem.parameters, problem.parts());
      Vector direction(at(problem.parameters.size()), 0.1);
      for (Vector& result : results[penalized ? 1 : 0]) result.resize(direction.size());
      curvature.product(direction, 0.5, results[penalized ? 1 : 0][0]);
      curvature.sample(7, 0.5, results[penalized ? 1 : 0][1]);
    }
    EXPECT_EQ(results[0][0], results[1][0]);
    EXPECT_EQ(results[0][1], results[1][1]);
  }
}

}  // namespace
}  // namespace unfold
