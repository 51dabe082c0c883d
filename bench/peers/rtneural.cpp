/// Time of one step of an exported C file and of one step of RTNeural, measured alternately. bench/peers/rtneural.py
/// builds this program for each size. `model.c` computes log-probabilities, `logits.c` is the same file without the
/// softmax, and UNITS is the size of the LSTM.

#include <RTNeural/RTNeural.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

extern "C" {
#define LOGITS_DECLARATIONS
#include "logits.c"
#define MODEL_DECLARATIONS
#include "model.c"
}

namespace {

constexpr int kUnits = UNITS, kOutputs = MODEL_SYMBOLS, kRounds = 400, kSides = 4;
using Lstm = RTNeural::LSTMLayerT<float, 1, kUnits>;
using Dense = RTNeural::DenseT<float, kUnits, kOutputs>;
using Net = RTNeural::ModelT<float, 1, kOutputs, Lstm, Dense>;
using NetWithSoftmax = RTNeural::ModelT<float, 1, kOutputs, Lstm, Dense, RTNeural::SoftmaxActivationT<float, kOutputs>>;

/// Returns small positive and negative numbers, the same in each call.
std::vector<std::vector<float>> weights(int rows, int columns) {
  std::vector<std::vector<float>> w(rows, std::vector<float>(columns));
  unsigned state = 1;
  for (auto& row : w)
    for (float& x : row) x = static_cast<float>((state = state * 1664525 + 1013904223) >> 8) / 16777216.0F - 0.5F;
  for (auto& row : w)
    for (float& x : row) x *= 2 / std::sqrt(static_cast<float>(kUnits));
  return w;
}

template <class Model>
void fill(Model& model) {
  auto& lstm = model.template get<0>();
  lstm.setWVals(weights(1, 4 * kUnits));
  lstm.setUVals(weights(kUnits, 4 * kUnits));
  lstm.setBVals(weights(1, 4 * kUnits)[0]);
  auto& dense = model.template get<1>();
  dense.setWeights(weights(kOutputs, kUnits));
  dense.setBias(weights(1, kOutputs)[0].data());
  model.reset();
}

Net net;
NetWithSoftmax net_with_softmax;
model_state state;
logits_state logits;
float p[kOutputs];
float checked = 0;

template <class Model>
void run(Model& model, int steps) {
  for (int t = 0; t < steps; ++t) {
    const float x = static_cast<float>(t % 7) * 0.1F;
    model.forward(&x);
  }
  checked += model.getOutputs()[1];
}

void run(int side, int steps) {
  if (side == 0)
    for (int t = 0; t < steps; ++t) logits_step(&logits, t * 5 % kOutputs, p);
  if (side == 1) run(net, steps);
  if (side == 2)
    for (int t = 0; t < steps; ++t) model_step(&state, t * 5 % kOutputs, p);
  if (side == 3) run(net_with_softmax, steps);
  checked += p[1];
}

double microseconds(int side, int steps) {
  const auto begin = std::chrono::steady_clock::now();
  run(side, steps);
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / steps;
}

}  // namespace

int main() {
  fill(net);
  fill(net_with_softmax);
  model_init(&state);
  logits_init(&logits);
  const int steps = std::max(64, 200000 / (kUnits * (kUnits + 16) / 16));
  double best[kSides] = {1e9, 1e9, 1e9, 1e9};
  for (int round = 0; round < kRounds; ++round)
    for (int side = 0; side < kSides; ++side) best[side] = std::min(best[side], microseconds(side, steps));
  std::printf("| %d | %.3f | %.3f | %.2f | %.3f | %.3f | %.2f |\n", kUnits, best[0], best[1], best[0] / best[1],
              best[2], best[3], best[2] / best[3]);
  return std::isnan(checked) ? 1 : 0;
}
