/// Time of the passes of one layer on a device, forward and backward with all gradients, by the device's clock. Prints
/// one JSON object per cell, size, batch and precision, in the format of bench/gpu/peers.py for PyTorch.
///
///   bench_offload [--seconds 60] [--only lstm,gru] [--hidden 512] [--batch 64] [--precision bf16]
///                 [--whole]    a whole training step, by the host's clock
///                 [--steps]    loops step by step instead of as a single kernel
///                 [--stages]   breakdown of the time by stage

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>

#include "graph/engine/backend.h"
#include "graph/offload/offload.h"
#include "unfold/base/error.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/graph/engine/unfolding.h"
#include "unfold/numerics/random.h"

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
  throw UsageError("unknown cell: " + cell);
}

/// What to measure.
struct How {
  bool loops = true;  ///< false: one kernel per step
  bool by_stage = false;
  bool whole = false;  ///< a training step: embedding, layer, linear map, softmax, norm, Adam; by the host's clock
};

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void print(const Case& of, const How& how, const std::vector<double>& seconds, const std::string& more) {
  fmt::print(
      R"({{"cell": "{}", "hidden": {}, "batch": {}, "steps": {}, "precision": "{}", "how": "unfold{}", "what": "{}", "ms": {:.4f}, "min_ms": {:.4f}, "positions_per_second": {:.4g}{}}})"
      "\n",
      of.cell, of.hidden, of.batch, kSteps, name_of(of.precision), how.loops ? "" : " step by step",
      how.whole ? "step" : "layer", 1e3 * median(seconds), 1e3 * *std::ranges::min_element(seconds),
      static_cast<double>(of.batch * kSteps) / median(seconds), more);
  std::cout.flush();
}

/// A network with the data needed to run it on the device.
struct Bench {
  Bench(const std::shared_ptr<Device>& device, const Case& of, const How& how)
      : times(std::make_shared<DeviceTimes>()) {
    const Signal x = c.affine("x", of.hidden, {{"V", c.symbols("s", kSymbols)}});
    output = layer(c, of.cell, x, of.hidden);
    if (how.whole) output = c.affine("o", kSymbols, {{"W", output}});
    c.output(output);
    times->by_stage = how.by_stage;
    plan = std::make_shared<const Plan>(c);
    u = std::make_unique<Unfolding<float>>(
        plan, team, Precision::exact,
        make_offload(device, {.precision = of.precision, .times = times, .loops = how.loops}));
    parameters = Parameters<float>(c);
    parameters.initialize(1);
    u->lay(Structure::chains(of.batch, kSteps));
    u->set_parameters(parameters);
    Random random(1, "symbols");
    for (Symbol& s : u->symbols({&c, 0})) s = static_cast<Symbol>(random.below(kSymbols));
  }
  Circuit c;
  Signal output;
  Team team;
  std::shared_ptr<DeviceTimes> times;
  std::shared_ptr<const Plan> plan;
  Parameters<float> parameters;  // must outlive the unfolding, which refers to them
  std::unique_ptr<Unfolding<float>> u;
};

void measure_layer(const std::shared_ptr<Device>& device, const Case& of, const How& how) {
  Bench b(device, of, how);
  const Matrix<float> d = b.u->adjoint(b.output);
  Random random(2, "adjoints");
  for (Index r = 0; r < d.rows; ++r)
    for (Index k = 0; k < d.cols; ++k) d(r, k) = static_cast<float>(random.uniform() - 0.5) * 1e-3f;
  std::vector<double> forward, backward, sum;
  for (int round = 0; round < 3 + 11; ++round) {
    const DeviceTimes before = *b.times;
    if (round == 3) b.times->stages.clear();
    b.u->forward();
    b.u->backward({}, {.keep_gradient_on_device = true});
    if (round < 3) continue;
    forward.push_back(b.times->forward - before.forward);
    backward.push_back(b.times->backward - before.backward);
    sum.push_back(forward.back() + backward.back());
  }
  std::string more =
      fmt::format(R"(, "forward_ms": {:.4f}, "backward_ms": {:.4f})", 1e3 * median(forward), 1e3 * median(backward));
  for (const auto& [stage, seconds] : b.times->stages)
    more += fmt::format(R"(, "{}": {:.4f})", stage, 1e3 * seconds / 11);
  print(of, how, sum, more);
}

void measure_step(const std::shared_ptr<Device>& device, const Case& of, const How& how) {
  Bench b(device, of, how);
  State<float> state(*b.plan, of.batch);
  const std::vector<Symbol> targets(static_cast<std::size_t>(of.batch * kSteps), 3);
  std::vector<float> nats(targets.size()), mean(static_cast<std::size_t>(b.parameters.size())), square(mean);
  std::vector<double> seconds;
  Resident<float>& there = *b.u->resident();
  for (int round = 0; round < 3 + 15; ++round) {
    const double start = seconds_now();
    b.u->set_parameters(b.parameters);
    b.u->forward(&state);
    b.u->softmax(b.output, targets, 1.0f / static_cast<float>(targets.size()), true, nats.data());
    b.u->backward({}, {.keep_gradient_on_device = true});
    const double norm = there.gradient_norm();
    there.adam(b.parameters, mean, square,
               {.rate = 1e-3,
                .beta1 = 0.9,
                .beta2 = 0.999,
                .epsilon = 1e-8,
                .correction1 = 0.1,
                .correction2 = 0.001,
                .decay = 0,
                .gradient_scale = norm > 1 ? 1 / norm : 1});
    device->wait();
    if (round >= 3) seconds.push_back(seconds_now() - start);
  }
  print(of, how, seconds, fmt::format(R"(, "passes_ms": {:.4f})", 1e3 * (b.times->forward + b.times->backward) / 16));
}

int run(const std::vector<std::string>& arguments) {
  double seconds = 1e9;
  std::string only;
  How how;
  Index hidden = 0, batch = 0;
  std::string precision;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    if (a == "--seconds") seconds = std::stod(arguments.at(++i));
    if (a == "--only") only = "," + arguments.at(++i) + ",";
    if (a == "--hidden") hidden = std::stol(arguments.at(++i));
    if (a == "--batch") batch = std::stol(arguments.at(++i));
    if (a == "--precision") precision = arguments.at(++i);
    if (a == "--stages") how.by_stage = true;
    if (a == "--steps") how.loops = false;
    if (a == "--whole") how.whole = true;
  }
  const double start = seconds_now();
  const auto device = open_device("cuda");
  fmt::print("{{\"device\": \"{}\", \"processors\": {}, \"shared_bytes\": {}}}\n", device->name(), device->processors(),
             device->shared_bytes());
  std::vector<Case> cases;
  for (const char* cell : {"lstm", "gru"})
    for (const DevicePrecision p : {DevicePrecision::bf16, DevicePrecision::tf32, DevicePrecision::exact})
      for (const Index n : {512, 256, 1024})
        for (const Index b : {64, 16, 256}) cases.push_back({cell, n, b, p});
  for (const char* cell : {"mingru", "gru-before", "mrnn", "rnn"})
    for (const DevicePrecision p : {DevicePrecision::bf16, DevicePrecision::tf32, DevicePrecision::exact})
      cases.push_back({cell, 512, 64, p});
  for (const Case& of : cases) {
    if (!only.empty() && only.find("," + of.cell + ",") == std::string::npos) continue;
    if ((hidden > 0 && of.hidden != hidden) || (batch > 0 && of.batch != batch)) continue;
    if (!precision.empty() && precision != name_of(of.precision)) continue;
    if (seconds_now() - start > seconds) break;
    try {
      how.whole ? measure_step(device, of, how) : measure_layer(device, of, how);
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
