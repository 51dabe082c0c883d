/// Trains a model with the cell of CONTRIBUTING.md, for bench/python/own_cell.py, which compares with the same cell in
/// Python:
///
///   bench_own_cell TEXT RUN SPEC STEPS THREADS
///
/// Prints the CPU seconds and the wall seconds of the training.

#include <chrono>
#include <ctime>
#include <iostream>

#include "app/train/train.h"
#include "unfold/base/error.h"
#include "unfold/graph/cells/register_cell.h"

using namespace unfold;

namespace {

/// h_t = 0.7 h_{t-1} + 0.3 tanh(x_t W + h_{t-1} U + b)
Signal leaky(Circuit& c, Signal x, Index n) {
  const Signal h = c.link(n);
  const Signal kept = 0.7 * h;  // computed first, as in Python: C++ does not define the order of the operands of +
  const Signal y = kept + 0.3 * tanh(c.affine("z", n, {{"W", x}, {"U", h}}));
  c.feed(h, y);
  return y;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 6) throw UsageError("bench_own_cell TEXT RUN SPEC STEPS THREADS");
  register_cell("leaky", leaky);
  TrainRequest request{.out = argv[2], .overwrite = true};
  request.settings.data = {argv[1]};
  request.settings.model = argv[3];
  request.settings.steps = std::stoll(argv[4]);
  request.run.threads = std::stoll(argv[5]);
  request.given.add(&TrainSettings::data, &TrainSettings::model, &TrainSettings::steps, &RunSettings::threads);
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();
  train(request);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  std::cout << static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC << " " << wall.count() << "\n";
} catch (const Error& error) {
  std::cerr << error.what() << "\n";
  return static_cast<int>(error.code());
}
