// Time of a Gauss-Newton product relative to the time of a gradient (forward, readout, backward), with structural
// damping.
//
//   bench_gauss_newton [--threads N] [--seconds S]
//
// Both are measured alternately in one run; results are medians. The lower bound counts matrix products: a gradient has
// 1 forward and 2 backward, a Gauss-Newton product 2 in the tangent pass (x dW and dx W) and 2 backward, so the ratio
// is 4/3.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "train/passes/curvature.h"
#include "unfold/data/text/text_batches.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/numerics/random.h"

namespace {

using namespace unfold;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Shape {
  const char* cell;
  Index units, sequences, length;
};

Batch random_batch(const Shape& shape, Index symbols) {
  Batch batch;
  batch.structure = Structure::chains(shape.sequences, shape.length);
  Random random(1, "window");
  batch.reset_all_chains();
  for (Index r = 0; r < batch.structure.positions(); ++r) {
    batch.symbol_field(kPreviousSymbol)
        .symbols.push_back(static_cast<Symbol>(random.below(static_cast<std::uint64_t>(symbols))));
    batch.symbol_field(kSymbol).symbols.push_back(
        static_cast<Symbol>(random.below(static_cast<std::uint64_t>(symbols))));
  }
  batch.predicted = batch.symbols = batch.structure.positions();
  return batch;
}

void measure(const Shape& shape, Team& team, double seconds) {
  constexpr Index kSymbols = 64;
  Circuit c;
  const Signal x = c.symbols("x", kSymbols);
  const std::string cell = shape.cell;
  const Signal h = cell == "rnn"    ? rnn(c, x, shape.units, {})
                   : cell == "lstm" ? lstm(c, x, shape.units, {})
                                    : gru(c, x, shape.units, {});
  const Signal o = c.affine("output", kSymbols, {{"V", h}});
  c.output(o);
  const Network<float> network = text_network<float>(std::make_shared<const Plan>(c), x, o);
  Parameters<float> parameters(c);
  parameters.initialize(1);
  const Batch batch = random_batch(shape, kSymbols);
  const State<float> fresh(*network.plan, shape.sequences);
  State<float> state = fresh;
  BatchPass<float> pass(network, team);
  pass.set_parameters(parameters);
  Curvature<float> curvature(network, Distance::matching, team);
  const CurvaturePart<float> part{&batch, &fresh};
  curvature.start(parameters, std::span(&part, 1));
  Buffer<float> gradient(parameters.size()), product(parameters.size());
  std::vector<double> gradients, products;
  for (const double end = seconds_now() + seconds; seconds_now() < end || gradients.size() < 3;) {
    const double start = seconds_now();
    pass.set_parameters(parameters);  // includes packing, as after every update
    pass.gradient(batch, state = fresh, 1e-3, gradient.span());
    const double middle = seconds_now();
    curvature.product(gradient.span(), 0.1, product.span());
    gradients.push_back(middle - start);
    products.push_back(seconds_now() - middle);
  }
  const double g = median(gradients), p = median(products);
  std::printf("%-5s %5ld units %4ld x %4ld   gradient %8.2f ms   product %8.2f ms   ratio %.2f (bound 1.33)\n",
              shape.cell, static_cast<long>(shape.units), static_cast<long>(shape.sequences),
              static_cast<long>(shape.length), 1e3 * g, 1e3 * p, p / g);
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 1;
  double seconds = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--threads") threads = std::atoi(argv[i + 1]);
    if (option == "--seconds") seconds = std::atof(argv[i + 1]);
  }
  Team team(threads, Attendance::all);
  for (const Shape& shape : {Shape{"rnn", 100, 64, 100}, Shape{"rnn", 512, 32, 50}, Shape{"lstm", 128, 32, 64},
                             Shape{"lstm", 512, 32, 64}, Shape{"gru", 256, 32, 64}})
    measure(shape, team, seconds);
  return 0;
}
