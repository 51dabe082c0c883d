/// Passes of one layer on a device, forward and backward with all gradients, by the device's clock: a line of JSON for
/// each cell, size, batch and precision, as bench/gpu/peers.py prints them of PyTorch.
///
///   bench_offload [--seconds 60] [--only lstm,gru] [--check]

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <iostream>

#include "unfold/base/error.h"
#include "unfold/cells/cells.h"
#include "unfold/engine/unfolding.h"
#include "unfold/numerics/random.h"
#include "unfold/offload/offload.h"

namespace unfold {
namespace {

constexpr Index kSteps = 128, kSymbols = 64;

struct Case {
  std::string cell;
  Index hidden, batch;
  DevicePrecision precision;
};
std::string_view name_of(DevicePrecision p) {
  return p == DevicePrecision::exact ? "float" : p == DevicePrecision::tf32 ? "tf32" : "bf16";
}

Signal layer(Circuit& c, const std::string& cell, Signal x, Index n) {
  if (cell == "lstm") return lstm(c, x, n);
  if (cell == "gru") return gru(c, x, n, {.reset_after = true, .two_biases = true});
  if (cell == "gru-before") return gru(c, x, n);
  if (cell == "mingru") return min_gru(c, x, n);
  if (cell == "mrnn") return mrnn(c, x, n);
  if (cell == "rnn") return rnn(c, x, n);
  throw UsageError("no such cell: " + cell);
}

void measure(const std::shared_ptr<Device>& device, const Case& of, bool by_stage) {
  Circuit c;
  const Signal x = c.affine("x", of.hidden, {{"V", c.symbols("s", kSymbols)}});
  const Signal h = layer(c, of.cell, x, of.hidden);
  c.output(h);
  const auto plan = std::make_shared<const Plan>(c);
  Team team;
  auto times = std::make_shared<DeviceTimes>();
  times->by_stage = by_stage;
  Unfolding<float> u(plan, team, Precision::exact, make_offload(device, {.precision = of.precision, .times = times}));
  Parameters<float> parameters(c);
  parameters.initialise(1);
  u.lay(Structure::chains(of.batch, kSteps));
  u.set_parameters(parameters);
  Random random(1, "symbols");
  for (Symbol& s : u.symbols({&c, 0})) s = static_cast<Symbol>(random.below(kSymbols));
  const Matrix<float> d = u.adjoint(h);
  for (Index r = 0; r < d.rows; ++r)
    for (Index k = 0; k < d.cols; ++k) d(r, k) = static_cast<float>(random.normal()) * 1e-3f;
  std::vector<float> gradient(static_cast<std::size_t>(parameters.size()));
  std::vector<double> forward, backward;
  for (int round = 0; round < 3 + 9; ++round) {
    const DeviceTimes before = *times;
    if (round == 3) times->stages.clear();
    u.forward();
    u.backward(gradient);
    if (round < 3) continue;
    forward.push_back(times->forward - before.forward);
    backward.push_back(times->backward - before.backward);
  }
  std::ranges::sort(forward);
  std::ranges::sort(backward);
  const double median = forward[forward.size() / 2] + backward[backward.size() / 2];
  fmt::print(
      R"({{"cell": "{}", "hidden": {}, "batch": {}, "steps": {}, "precision": "{}", "how": "unfold", "what": "layer", "forward_ms": {:.4f}, "backward_ms": {:.4f}, "ms": {:.4f}, "min_ms": {:.4f}, "positions_per_second": {:.4g})",
      of.cell, of.hidden, of.batch, kSteps, name_of(of.precision), 1e3 * forward[forward.size() / 2],
      1e3 * backward[backward.size() / 2], 1e3 * median, 1e3 * (forward[0] + backward[0]),
      static_cast<double>(of.batch * kSteps) / median);
  for (const auto& [stage, seconds] : times->stages) fmt::print(R"(, "{}": {:.4f})", stage, 1e3 * seconds / 9);
  fmt::print("}}\n");
  std::cout.flush();
}

int run(const std::vector<std::string>& arguments) {
  double seconds = 1e9;
  std::string only;
  bool by_stage = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--seconds")
      seconds = std::stod(arguments.at(++i));
    else if (arguments[i] == "--only")
      only = arguments.at(++i);
    else if (arguments[i] == "--stages")
      by_stage = true;
  }
  const auto start = std::chrono::steady_clock::now();
  const auto device = open_device("cuda");
  fmt::print("{{\"device\": \"{}\", \"processors\": {}, \"shared_bytes\": {}}}\n", device->name(), device->processors(),
             device->shared_bytes());
  std::vector<Case> cases;
  for (const DevicePrecision p : {DevicePrecision::bf16, DevicePrecision::tf32, DevicePrecision::exact})
    for (const char* cell : {"lstm", "gru"})
      for (const Index n : {512, 256, 1024})
        for (const Index batch : {64, 16, 256}) cases.push_back({cell, n, batch, p});
  for (const char* cell : {"mingru", "gru-before", "mrnn", "rnn"})
    for (const DevicePrecision p : {DevicePrecision::bf16, DevicePrecision::tf32, DevicePrecision::exact})
      cases.push_back({cell, 512, 64, p});
  for (const Case& of : cases) {
    if (!only.empty() && ("," + only + ",").find("," + of.cell + ",") == std::string::npos) continue;
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > seconds) break;
    try {
      measure(device, of, by_stage);
    } catch (const std::exception& failure) {
      fmt::print("{{\"cell\": \"{}\", \"hidden\": {}, \"batch\": {}, \"precision\": \"{}\", \"error\": \"{}\"}}\n",
                 of.cell, of.hidden, of.batch, name_of(of.precision), failure.what());
    }
  }
  return 0;
}

}  // namespace
}  // namespace unfold

int main(int count, char** arguments) {
  try {
    return unfold::run({arguments + 1, arguments + count});
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << "\n";
    return 1;
  }
}
