/// Time of a Riemannian iteration: forward, backward, metric and both updates over one long sequence of the nested
/// alphabet (63 symbols), in float and double, compared with one forward and backward pass of the same network and with
/// a lower bound on the number of operations. Results are medians over iterations, measured alternately.
///
///   bench_riemannian [units [edges [length [threads]]]]      one shape: microseconds per symbol and iteration
///   bench_riemannian scaling [threads [folder]]              tables over lengths, units and edges; plots

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <string_view>

#include "app/plots/plot.h"
#include "app/plots/statistics.h"
#include "numerics/simd.h"
#include "optim/riemannian/riemannian.h"
#include "unfold/data/tasks/text_generators.h"
#include "unfold/data/text/text_batches.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/train/passes/batch_pass.h"

namespace unfold {
namespace {

constexpr Index kSymbols = 63;

struct Shape {
  Index units = 20, edges = 3, length = 100000;
};

/// The text as one batch, with the interface that optimizers use.
template <class T>
class Problem final : public Objective<T> {
 public:
  Problem(const Shape& shape, int threads) : team_(threads, Attendance::all) {
    const Signal x = circuit_.symbols("x", kSymbols);
    const Signal a = glnn(circuit_, x, shape.units, {.edges = shape.edges});
    const Signal logits = circuit_.affine("output", kSymbols, {{"V", a}});
    circuit_.output(logits);
    network_ = text_network<T>(std::make_shared<const Plan>(circuit_), x, logits);
    const std::string text = generate(*nested_alphabet(), {.seed = 1, .symbols = shape.length}).text;
    const std::string alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789()[]\n";
    std::vector<double> counts(kSymbols, 1);
    batch_.structure = Structure::chains(1, shape.length);
    batch_.reset_all_chains();
    std::vector<Symbol>& inputs = batch_.symbol_field(kPreviousSymbol).symbols;
    std::vector<Symbol>& targets = batch_.symbol_field(kSymbol).symbols;
    inputs = {kNoSymbol};
    for (Index i = 0; i < shape.length; ++i) {
      const auto symbol = static_cast<Symbol>(alphabet.find(text[static_cast<std::size_t>(i)]) % kSymbols);
      targets.push_back(symbol);
      if (i + 1 < shape.length) inputs.push_back(symbol);
      ++counts[static_cast<std::size_t>(symbol)];
    }
    batch_.predicted = shape.length;
    parameters_ = Parameters<T>(circuit_);
    parameters_.initialize(1);
    initialize_from_frequencies<T>(circuit_, logits, counts, counts, 1, parameters_);
    start_ = left_ = State<T>(*network_.plan, 1);
    start_.reset_all();
  }
  Parameters<T>& parameters() override { return parameters_; }
  Team& team() override { return team_; }
  double gradient(std::span<T>) override { throw UsageError("not supported here"); }
  double loss() override { throw UsageError("not supported here"); }
  EnteredBatch<T> enter() override { return {network_, batch_, start_, left_, std::nullopt}; }

  const Network<T>& network() const override { return network_; }
  const Batch& batch() const { return batch_; }
  const State<T>& start() const { return start_; }

 private:
  Circuit circuit_;
  Network<T> network_;
  Batch batch_;
  Parameters<T> parameters_;
  State<T> start_, left_;
  Team team_;
};

template <class Do>
double seconds_of(Do&& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Times {
  double plain, ruop, rbpm;  ///< seconds per iteration
};

/// A step size of 1e-6 makes every step successful, so iterations without backtracking are measured.
template <class T>
Times measure(const Shape& shape, int threads, int rounds) {
  Problem<T> problem(shape, threads);
  BatchPass<T> pass(problem.network(), problem.team());
  std::vector<T> gradient(problem.parameters().flat().size());
  State<T> state;
  std::unique_ptr<Control<T>> controls[2];
  std::unique_ptr<Problem<T>> own[2];
  for (int k = 0; k < 2; ++k) {
    own[k] = std::make_unique<Problem<T>>(shape, threads);
    RiemannianOptions options;
    options.metric = k == 0 ? RiemannianMetric::ruop : RiemannianMetric::rbpm;
    controls[k] = riemannian_control<T>(own[k]->parameters().size(), options);
    controls[k]->attach(*own[k]);
  }
  std::unique_ptr<Direction<T>> none;
  std::vector<double> times[3];
  for (int round = -1; round < rounds; ++round) {
    const double plain = seconds_of([&] {
      state = problem.start();
      pass.set_parameters(problem.parameters());
      pass.gradient(problem.batch(), state, 1, gradient);
    });
    if (round >= 0) times[0].push_back(plain);
    for (std::size_t k = 0; k < 2; ++k) {
      const double riemannian = seconds_of([&] { controls[k]->step(*own[k], *none, 1e-6); });
      if (round >= 0) times[k + 1].push_back(riemannian);
    }
  }
  return {quantile(times[0], 0.5), quantile(times[1], 0.5), quantile(times[2], 0.5)};
}

/// Returns the number of multiplications and additions per symbol in an iteration without backtracking, counted from
/// the equations of docs/riemannian.md: products of the readout (logits twice, gradient, two Hessian sums, seeds,
/// variances), sparse sums of the passes, matrices of the units.
double operations(const Shape& s, bool modulus) {
  const auto n = static_cast<double>(s.units), a = static_cast<double>(kSymbols);
  const auto d = static_cast<double>(std::min(s.edges, s.units));
  const double readout = 2 * n * a * (modulus ? 8 : 6), passes = 2 * n * d * (modulus ? 3 : 2);
  return readout + passes + n * ((d + 1) * (d + 2) + 2 * (d + 1));
}

template <class T>
Times measure_row(const Shape& s, int threads, int rounds) {
  const Times t = measure<T>(s, threads, rounds);
  const auto length = static_cast<double>(s.length);
  fmt::print("{:>6} {:5} {:5} {:9} {:7} | {:8.3f} {:8.3f} {:8.3f} | {:6.2f} {:6.2f} | {:6.1f} {:6.1f}\n",
             sizeof(T) == 4 ? "float" : "double", s.units, s.edges, s.length, threads, 1e6 * t.plain / length,
             1e6 * t.ruop / length, 1e6 * t.rbpm / length, t.ruop / t.plain, t.rbpm / t.plain,
             1e-9 * length * operations(s, false) / t.ruop, 1e-9 * length * operations(s, true) / t.rbpm);
  return t;
}

void print_heading() {
  fmt::print("glnn, {} symbols, {}; microseconds per symbol and iteration\n", kSymbols, simd_name());
  fmt::print("{:>6} {:>5} {:>5} {:>9} {:>7} | {:>8} {:>8} {:>8} | {:>13} | {:>13}\n", "type", "units", "edges",
             "length", "threads", "fwd+bwd", "ruop", "rbpm", "ratios", "GFLOP/s");
}

/// Prints a table of shapes that differ in one parameter and, if a folder is given, plots seconds per iteration over
/// it.
void scale(const std::string& what, Index Shape::*number, Shape shape, const std::vector<Index>& values, int threads,
           const std::string& folder) {
  std::vector<Curve> curves = {
      {.label = "forward + backward", .points = {}}, {.label = "ruop", .points = {}}, {.label = "rbpm", .points = {}}};
  for (const Index value : values) {
    shape.*number = value;
    const Times t = measure_row<float>(shape, threads, shape.length > 100000 ? 3 : 7);
    const double ms[] = {1e3 * t.plain, 1e3 * t.ruop, 1e3 * t.rbpm};
    for (std::size_t k = 0; k < curves.size(); ++k)
      curves[k].points.push_back({.x = static_cast<double>(value), .y = {ms[k], ms[k], ms[k]}});
  }
  if (folder.empty()) return;
  std::ofstream(folder + "/riemannian-cost-" + what + ".svg")
      << line_plot("Cost of an iteration", {.label = what, .logarithmic = true},
                   {.label = "milliseconds", .logarithmic = true}, curves);
}

void scaling(int threads, const std::string& folder) {
  print_heading();
  scale("length", &Shape::length, {}, {1000, 10000, 100000, 1000000}, threads, folder);
  scale("units", &Shape::units, {.length = 20000}, {10, 20, 40, 80, 160}, threads, folder);
  scale("edges", &Shape::edges, {.units = 40, .length = 20000}, {1, 2, 4, 8, 16, 32}, threads, folder);
}

}  // namespace
}  // namespace unfold

int main(int count, char** arguments) {
  const auto number = [&](int i, unfold::Index otherwise) {
    return count > i ? static_cast<unfold::Index>(std::stol(arguments[i])) : otherwise;
  };
  if (count > 1 && std::string_view(arguments[1]) == "scaling") {
    unfold::scaling(static_cast<int>(number(2, 2)), count > 3 ? arguments[3] : "");
    return 0;
  }
  const unfold::Shape shape{.units = number(1, 20), .edges = number(2, 3), .length = number(3, 100000)};
  const auto threads = static_cast<int>(number(4, 2));
  unfold::print_heading();
  unfold::measure_row<float>(shape, threads, 9);
  unfold::measure_row<double>(shape, threads, 9);
}
