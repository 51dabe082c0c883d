/// Standard benchmarks of echo state networks, in double: free-running prediction of the Mackey-Glass series over 84
/// steps, and memory capacity. Prints two tables in Markdown, the appendix of bench/tables/reservoirs.toml.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "data/tasks/series_tasks.h"
#include "train/ridge.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/graph/circuit/parameters.h"
#include "unfold/graph/engine/unfolding.h"

namespace unfold {
namespace {

/// An echo state network with scalar input.
class Echo {
 public:
  Echo(Index n, const EsnOptions& options, std::uint64_t seed)
      : x_(circuit_.input("x", 1)), h_(esn(circuit_, x_, n, options)), parameters_(made(seed)), state_(*plan_, 1) {}

  void reset() { state_.reset_all(); }
  /// Feeds more inputs and returns the state after each of them.
  Matrix<const double> feed(std::span<const double> numbers) {
    unfolding_.lay(Structure::chains(1, static_cast<Index>(numbers.size())));
    const Matrix<double> in = unfolding_.input(x_);
    for (std::size_t t = 0; t < numbers.size(); ++t) in(static_cast<Index>(t), 0) = numbers[t];
    unfolding_.forward(&state_);
    return unfolding_.value(h_);
  }
  State<double>& state() { return state_; }

 private:
  Parameters<double> made(std::uint64_t seed) {
    circuit_.output(h_);
    plan_ = std::make_shared<const Plan>(circuit_);
    Parameters<double> parameters(circuit_);
    parameters.initialize(seed);
    return parameters;
  }

  Circuit circuit_;
  Signal x_, h_;
  std::shared_ptr<const Plan> plan_;
  Parameters<double> parameters_;
  Team team_{1};
  State<double> state_;
  Unfolding<double> unfolding_ = over_parameters();

  Unfolding<double> over_parameters() {
    Unfolding<double> u(plan_, team_);
    u.set_parameters(parameters_);
    return u;
  }
};

double read_out(const RidgeFit& fit, const double* state) {
  double y = fit.bias[0];
  for (std::size_t i = 0; i < fit.weights.size(); ++i) y += fit.weights[i] * state[i];
  return y;
}

constexpr Index kChunk = 256;

/// log10 of the RMS error after 84 free-running steps, divided by the standard deviation of the series. The average is
/// over 50 starting points in the test data, which follow the training data.
double mackey_glass_84(std::uint64_t seed) {
  constexpr Index kUnits = 1000, kTraining = 4500, kWashout = 1000, kAhead = 84, kMoments = 50;
  static const std::vector<double> series = mackey_glass_series(kTraining + kAhead * (kMoments + 2), 17, 1.2);
  Echo echo(kUnits, {.radius = 1, .input_scale = 1, .bias_scale = 0.2, .reservoir = static_cast<Index>(seed)}, seed);
  RidgeSums sums(kUnits, 1, 0);
  for (Index t = 0; t < kTraining; t += kChunk) {
    const Index count = std::min(kChunk, kTraining - t), skipped = std::clamp<Index>(kWashout - t, 0, count);
    const Matrix<const double> h = echo.feed(std::span(series).subspan(at(t), at(count)));
    const Matrix<const double> next{series.data() + t + skipped + 1, count - skipped, 1, 1};
    if (skipped < count) sums.add(h.rows_from(skipped, count - skipped), next);
  }
  const RidgeFit fit = sums.solve({.lambda = 3e-13});
  double mean = 0, variance = 0, squares = 0;
  for (const double y : series) mean += y / static_cast<double>(series.size());
  for (const double y : series) variance += (y - mean) * (y - mean) / static_cast<double>(series.size());
  Index t = kTraining;
  for (Index moment = 0; moment < kMoments; ++moment) {
    const Matrix<const double> h = echo.feed(std::span(series).subspan(at(t), at(kAhead)));
    t += kAhead;
    double y = read_out(fit, h.row(kAhead - 1));  // prediction for time t
    const State<double> there = echo.state();
    for (Index ahead = 1; ahead < kAhead; ++ahead) y = read_out(fit, echo.feed(std::span(&y, 1)).row(0));
    echo.state() = there;
    const double off = y - series[at(t + kAhead - 1)];
    squares += off * off / kMoments;
  }
  return 0.5 * std::log10(squares / variance);
}

/// Memory capacity: the sum over k of the squared correlation between u_{t-k} and its linear readout, on held-out
/// steps.
double memory_capacity(Index units, const EsnOptions& options, std::uint64_t seed) {
  constexpr Index kSteps = 20000, kWashout = 500;
  const Index delays = 2 * units;
  Random random(seed, "memory capacity");
  std::vector<double> u(at(kSteps));
  for (double& x : u) x = random.uniform(-0.5, 0.5);
  Echo echo(units, options, seed);
  RidgeSums sums(units, delays, 0);
  std::vector<double> xy(at(delays), 0.0), yy(xy), y1(xy), x1(xy), xx(xy), wanted(at(kChunk * delays));
  RidgeFit fit;
  Index tested = 0;
  for (Index t = 0; t < kSteps; t += kChunk) {
    const Index count = std::min(kChunk, kSteps - t);
    const Matrix<const double> h = echo.feed(std::span(u).subspan(at(t), at(count)));
    for (Index r = 0; r < count; ++r)
      for (Index k = 1; k <= delays; ++k) wanted[at(r * delays + k - 1)] = t + r < k ? 0 : u[at(t + r - k)];
    if (t < kSteps / 2) {
      const Index skipped = std::clamp<Index>(kWashout - t, 0, count);
      if (skipped < count)
        sums.add(h.rows_from(skipped, count - skipped),
                 {wanted.data() + skipped * delays, count - skipped, delays, delays});
      continue;
    }
    if (fit.weights.empty()) fit = sums.solve({.lambda = 1e-13});
    for (Index r = 0; r < count; ++r, ++tested)
      for (Index k = 0; k < delays; ++k) {
        double said = fit.bias[at(k)];
        for (Index i = 0; i < units; ++i) said += fit.weights[at(i * delays + k)] * h(r, i);
        const double x = wanted[at(r * delays + k)];
        x1[at(k)] += x, y1[at(k)] += said, xx[at(k)] += x * x, yy[at(k)] += said * said, xy[at(k)] += x * said;
      }
  }
  double capacity = 0;
  for (std::size_t k = 0; k < xy.size(); ++k) {
    const auto n = static_cast<double>(tested);
    const double both = xy[k] - x1[k] * y1[k] / n, x = xx[k] - x1[k] * x1[k] / n, y = yy[k] - y1[k] * y1[k] / n;
    if (x > 0 && y > 0) capacity += both * both / (x * y);
  }
  return capacity;
}

std::string mackey_glass_table() {
  constexpr std::uint64_t kSeeds = 20;
  std::vector<double> errors;
  errors.reserve(kSeeds);
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) errors.push_back(mackey_glass_84(seed));
  std::sort(errors.begin(), errors.end());
  const double median = (errors[kSeeds / 2 - 1] + errors[kSeeds / 2]) / 2;
  return fmt::format(
      "## Mackey-Glass, 84 steps of free-running "
      "prediction\n\n`esn:1000,radius=1,input-scale=1,bias-scale=0.2,degree=10`, readout by ridge regression (lambda "
      "3e-13) on 3,500\nvalues after a washout of 1,000; from 50 starting points in the rest of the series, the "
      "network then reads its own output. log10 of the\nerror after 84 steps divided by the standard deviation of the "
      "series (delay 17, Runge-Kutta 4, tanh(x - 1)); {} reservoirs.\n\n| median | best | worst | Jaeger & Haas 2004 "
      "|\n| --- | --- | --- | --- |\n| **{:.2f}** | {:.2f} | {:.2f} | -4.2 |\n\n",
      kSeeds, median, errors.front(), errors.back());
}

std::string memory_table() {
  struct Row {
    const char* name;
    Index units;
    EsnOptions options;
  };
  const EsnOptions linear = {.radius = 0.98, .input_scale = 0.1, .bias_scale = 0, .linear = true, .orthogonal = true};
  EsnOptions sparse = linear, squashed = linear;
  sparse.orthogonal = false, sparse.radius = 0.95;
  squashed.linear = false;
  std::string text =
      "## Memory capacity\n\nSum over k of the squared correlation of u(t-k) with its reconstruction by a readout of "
      "state and bias,\nfor uniform u, on 10,000 steps after those used for fitting; three seeds. It cannot exceed the "
      "number of units.\n\n| reservoir | units | capacity | capacity / units |\n| --- | --- | --- | --- |\n";
  for (const Row& row : {Row{"linear, orthogonal", 50, linear}, Row{"linear, orthogonal", 100, linear},
                         Row{"tanh, orthogonal", 100, squashed}, Row{"linear, sparse", 100, sparse}}) {
    double total = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      EsnOptions options = row.options;
      options.reservoir = static_cast<Index>(seed);
      total += memory_capacity(row.units, options, seed) / 3;
    }
    text += fmt::format("| {} | {} | {:.1f} | {:.0f} % |\n", row.name, row.units, total,
                        100 * total / static_cast<double>(row.units));
  }
  return text;
}

}  // namespace
}  // namespace unfold

int main() {
  fmt::print("{}{}", unfold::mackey_glass_table(), unfold::memory_table());
  return 0;
}
