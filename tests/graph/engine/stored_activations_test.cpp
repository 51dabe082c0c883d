// Activations stored in reduced precision: the restored values, and the gradients computed from them, compared with a
// network written out by hand.

#include "unfold/graph/engine/stored_activations.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/circuit/cell_maps.h"
#include "unfold/graph/engine/unfolding.h"
#include "unfold/numerics/bf16.h"

namespace unfold {
namespace {

constexpr Index kKeptInputs = 3, kKeptUnits = 4, kKeptOutputs = 2, kKeptSteps = 6, kKeptChains = 2;

/// h_t = tanh(W x_t + U h_{t-1} + b), o_t = V h_t + c.
struct KeptNet {
  KeptNet() {
    x = circuit.input("x", kKeptInputs);
    const Signal h = circuit.link(kKeptUnits, Delay::previous());
    const Signal next = tanh(circuit.affine("z", kKeptUnits, {{"W", x}, {"U", h}}));
    circuit.feed(h, next);
    o = circuit.affine("o", kKeptOutputs, {{"V", next}});
    circuit.output(o);
    parameters = Parameters<float>(circuit);
    parameters.initialize(5);
  }
  Circuit circuit;
  Signal x, o;
  Parameters<float> parameters;
};

float kept_input(Index row, Index i) { return static_cast<float>(std::sin(1.7 * static_cast<double>(row * 5 + i))); }
float kept_seed(Index row, Index k) { return static_cast<float>(std::cos(2.3 * static_cast<double>(row * 3 + k))); }

void fill_inputs(Unfolding<float>& u, Signal x) {
  const Matrix<float> in = u.input(x);
  for (Index r = 0; r < in.rows; ++r)
    for (Index i = 0; i < in.cols; ++i) in(r, i) = kept_input(r, i);
}

/// Prepares the network to run over the chains of these tests.
void begin(Unfolding<float>& u, const KeptNet& net) {
  u.lay(Structure::chains(kKeptChains, kKeptSteps));
  u.set_parameters(net.parameters);
  fill_inputs(u, net.x);
}

/// Returns a weight or bias from the circuit's parameters by name.
double number_of(const KeptNet& net, std::string_view name, Index row, Index col) {
  for (std::size_t k = 0; k < net.circuit.parameters().size(); ++k)
    if (net.circuit.parameters()[k].name == name)
      return static_cast<double>(net.parameters[static_cast<int>(k)](row, col));
  throw std::logic_error("no parameter " + std::string(name));
}

TEST(StoredActivations, gradients_equal_those_of_rounded_activations_by_hand) {
  KeptNet net;
  Team team(2);
  Unfolding<float> u(std::make_shared<const Plan>(net.circuit), team);
  begin(u, net);
  State<float> state(u.plan(), kKeptChains), start = state;
  start.reset_all();
  state = start;
  u.forward(&state);
  std::vector<float> outputs;
  for (Index r = 0; r < kKeptChains * kKeptSteps; ++r)
    for (Index k = 0; k < kKeptOutputs; ++k) outputs.push_back(u.value(net.o)(r, k));
  StoredActivations<float> kept;
  u.keep(kept);
  State<float> other(u.plan(), kKeptChains);
  for (Index r = 0; r < kKeptChains * kKeptSteps; ++r)
    for (Index i = 0; i < kKeptInputs; ++i) u.input(net.x)(r, i) = 0.5F;
  u.forward(&other);  // another pass in between
  fill_inputs(u, net.x);
  u.recall(kept, &start);
  for (Index r = 0; r < kKeptChains * kKeptSteps; ++r)
    for (Index k = 0; k < kKeptOutputs; ++k) {
      EXPECT_EQ(u.value(net.o)(r, k), outputs[static_cast<std::size_t>(r * kKeptOutputs + k)]);
      u.adjoint(net.o)(r, k) = kept_seed(r, k);
    }
  std::vector<float> gradient(static_cast<std::size_t>(net.parameters.size()));
  u.backward(gradient);

  // Rows are ordered by step; within a step, by chain.
  double h[kKeptSteps + 1][kKeptChains][kKeptUnits] = {}, rounded[kKeptSteps + 1][kKeptChains][kKeptUnits] = {};
  for (Index t = 0; t < kKeptSteps; ++t)
    for (Index s = 0; s < kKeptChains; ++s)
      for (Index j = 0; j < kKeptUnits; ++j) {
        double z = number_of(net, "z/bias", 0, j);
        for (Index i = 0; i < kKeptInputs; ++i)
          z += static_cast<double>(kept_input(t * kKeptChains + s, i)) * number_of(net, "z/W", i, j);
        for (Index i = 0; i < kKeptUnits; ++i) z += h[t][s][i] * number_of(net, "z/U", i, j);
        h[t + 1][s][j] = std::tanh(z);
        rounded[t + 1][s][j] = static_cast<double>(from_bf16(to_bf16(static_cast<float>(h[t + 1][s][j]))));
      }
  double du[kKeptUnits][kKeptUnits] = {}, dv[kKeptUnits][kKeptOutputs] = {}, dw[kKeptInputs][kKeptUnits] = {},
         back[kKeptChains][kKeptUnits] = {};
  for (Index t = kKeptSteps; t-- > 0;)
    for (Index s = 0; s < kKeptChains; ++s) {
      const Index row = t * kKeptChains + s;
      double dz[kKeptUnits];
      for (Index j = 0; j < kKeptUnits; ++j) {
        double dh = back[s][j];
        for (Index k = 0; k < kKeptOutputs; ++k) {
          dh += static_cast<double>(kept_seed(row, k)) * number_of(net, "o/V", j, k);
          dv[j][k] += rounded[t + 1][s][j] * static_cast<double>(kept_seed(row, k));
        }
        dz[j] = dh * (1 - rounded[t + 1][s][j] * rounded[t + 1][s][j]);
      }
      for (Index i = 0; i < kKeptUnits; ++i) {
        back[s][i] = 0;
        for (Index j = 0; j < kKeptUnits; ++j) {
          back[s][i] += dz[j] * number_of(net, "z/U", i, j);
          du[i][j] += rounded[t][s][i] * dz[j];
        }
      }
      for (Index i = 0; i < kKeptInputs; ++i)
        for (Index j = 0; j < kKeptUnits; ++j) dw[i][j] += static_cast<double>(kept_input(row, i)) * dz[j];
    }
  const auto found = [&](std::string_view name, Index row, Index col) {
    for (const ParameterInfo& p : net.circuit.parameters())
      if (p.name == name) return static_cast<double>(gradient[static_cast<std::size_t>(p.offset + row * p.cols + col)]);
    throw std::logic_error("no parameter " + std::string(name));
  };
  constexpr double kClose = 2e-6;
  for (Index i = 0; i < kKeptUnits; ++i)
    for (Index j = 0; j < kKeptUnits; ++j) EXPECT_NEAR(found("z/U", i, j), du[i][j], kClose) << i << ", " << j;
  for (Index i = 0; i < kKeptInputs; ++i)
    for (Index j = 0; j < kKeptUnits; ++j) EXPECT_NEAR(found("z/W", i, j), dw[i][j], kClose) << i << ", " << j;
  for (Index j = 0; j < kKeptUnits; ++j)
    for (Index k = 0; k < kKeptOutputs; ++k) EXPECT_NEAR(found("o/V", j, k), dv[j][k], kClose) << j << ", " << k;
}

TEST(StoredActivations, rounding_halves_the_memory_of_hidden_activations) {
  KeptNet net;
  Team team(1);
  Unfolding<float> u(std::make_shared<const Plan>(net.circuit), team);
  begin(u, net);
  u.forward();
  StoredActivations<float> kept;
  u.keep(kept);
  const std::size_t rows = kKeptChains * kKeptSteps;
  EXPECT_GE(kept.memory_bytes(), rows * (2 * kKeptUnits + 4 * kKeptOutputs));
  EXPECT_LE(kept.memory_bytes(),
            rows * (2 * 2 * kKeptUnits + 4 * kKeptOutputs));  // z if h is not computed in place
}

}  // namespace
}  // namespace unfold
