#include "data/tasks/series_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "numerics/functions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Base class of the time-series tasks; an example is a function of random numbers drawn for it.
class Series : public Task {
 public:
  Series(const char* name, Index length, Index skip) : name_(name), length_(length), skip_(skip) {
    if (skip >= length)
      throw UsageError(fmt::format("{}: the first {} of {} steps have no target; make length larger or skip smaller",
                                   name, skip, length));
  }
  std::string_view name() const override { return name_; }
  Index length() const override { return length_; }
  void example(TaskSplit part, std::uint64_t seed, Index number, Example& out) const final {
    Random random(seed,
                  stream_of(fmt::format("series/{}/{}", name_, to_string(part))) + static_cast<std::uint64_t>(number));
    out.length = length_;
    out.symbols.clear(), out.target_symbols.clear();
    out.values.assign(at(length_ * shape().inputs), 0);
    out.target_values.assign(at(length_ * shape().outputs), std::numeric_limits<float>::quiet_NaN());
    fill(random, out);
    std::fill_n(out.target_values.begin(), skip_ * shape().outputs, std::numeric_limits<float>::quiet_NaN());
  }

 protected:
  virtual void fill(Random& random, Example& out) const = 0;

 private:
  const char* name_;
  Index length_, skip_;
};

class Narma final : public Series {
 public:
  explicit Narma(const NarmaOptions& o) : Series("narma", o.length, o.skip) {}
  TaskShape shape() const override { return {.inputs = 1, .outputs = 1}; }

 private:
  static constexpr Index kOrder = 10;

  void fill(Random& random, Example& out) const override {
    while (!draw(random, out)) {
    }
  }
  /// Returns whether the sequence stayed in range.
  bool draw(Random& random, Example& out) const {
    std::vector<double> u(at(length())), y(at(length() + 1), 0.0);
    const auto before = [](const std::vector<double>& x, Index t) { return t < 0 ? 0.0 : x[at(t)]; };
    for (Index t = 0; t < length(); ++t) {
      u[at(t)] = random.uniform(0, 0.5);
      double sum = 0;
      for (Index k = 0; k < kOrder; ++k) sum += before(y, t - k);
      y[at(t + 1)] = 0.3 * y[at(t)] + 0.05 * y[at(t)] * sum + 1.5 * before(u, t - kOrder + 1) * u[at(t)] + 0.1;
      if (!(y[at(t + 1)] < 1)) return false;
      out.values[at(t)] = static_cast<float>(u[at(t)]);
      out.target_values[at(t)] = static_cast<float>(y[at(t + 1)]);
    }
    return true;
  }
};

class MackeyGlass final : public Series {
 public:
  explicit MackeyGlass(const MackeyGlassOptions& o) : Series("mackey-glass", o.length, o.skip), tau_(o.tau) {
    mackey_glass_series(1, tau_, 1);  // throws for invalid options
  }
  TaskShape shape() const override { return {.inputs = 1, .outputs = 1}; }

 private:
  void fill(Random& random, Example& out) const override {
    const std::vector<double> x = mackey_glass_series(length() + 1, tau_, random.uniform(1.1, 1.3));
    for (Index t = 0; t < length(); ++t) {
      out.values[at(t)] = static_cast<float>(x[at(t)]);
      out.target_values[at(t)] = static_cast<float>(x[at(t + 1)]);
    }
  }

  double tau_;
};

class DelayLine final : public Series {
 public:
  explicit DelayLine(const DelayLineOptions& o) : Series("delay-line", o.length, o.skip), delays_(o.delays) {}
  TaskShape shape() const override { return {.inputs = 1, .outputs = delays_}; }

 private:
  void fill(Random& random, Example& out) const override {
    for (Index t = 0; t < length(); ++t) {
      out.values[at(t)] = static_cast<float>(random.uniform(-1, 1));
      if (t < delays_) continue;
      for (Index k = 1; k <= delays_; ++k) out.target_values[at(t * delays_ + k - 1)] = out.values[at(t - k)];
    }
  }

  Index delays_;
};

/// Returns the time derivative of the Mackey-Glass system.
double mackey_glass_rate(double x, double delayed) {
  const double d2 = delayed * delayed, d4 = d2 * d2;
  return 0.2 * delayed / (1 + d4 * d4 * d2) - 0.1 * x;
}

}  // namespace

std::vector<double> mackey_glass_series(Index length, double tau, double history) {
  constexpr Index kStepsPerUnit = 10, kSkipped = 1000;
  constexpr double kStep = 0.1;
  const auto delay = static_cast<Index>(std::floor(tau * kStepsPerUnit + 0.5));
  if (delay < 2 || std::fabs(tau * kStepsPerUnit - static_cast<double>(delay)) > 1e-9)
    throw UsageError(fmt::format("mackey-glass: tau {} must be a multiple of 1/10, at least 2/10", tau));
  const Index steps = (kSkipped + length - 1) * kStepsPerUnit;
  std::vector<double> x(at(steps + delay + 2), history);  // x[delay + 1] is the value at time 0
  for (Index s = delay + 1; s < steps + delay + 1; ++s) {
    const double* late = x.data() + s - delay;
    const double now = late[0], next = late[1];
    const double between = delay >= 3 ? (9 * (now + next) - late[-1] - late[2]) / 16 : (now + next) / 2;
    const double k1 = mackey_glass_rate(x[at(s)], now);
    const double k2 = mackey_glass_rate(x[at(s)] + kStep / 2 * k1, between);
    const double k3 = mackey_glass_rate(x[at(s)] + kStep / 2 * k2, between);
    const double k4 = mackey_glass_rate(x[at(s)] + kStep * k3, next);
    x[at(s + 1)] = x[at(s)] + kStep / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
  }
  std::vector<double> result(at(length));
  for (Index t = 0; t < length; ++t) result[at(t)] = x[at(delay + 1 + (kSkipped + t) * kStepsPerUnit)] - 1;
  vector_tanh(result.data(), result.data(), length);
  return result;
}

std::unique_ptr<Task> narma(const NarmaOptions& options) { return std::make_unique<Narma>(options); }
std::unique_ptr<Task> mackey_glass(const MackeyGlassOptions& options) { return std::make_unique<MackeyGlass>(options); }
std::unique_ptr<Task> delay_line(const DelayLineOptions& options) {
  if (options.delays < 1 || options.delays >= options.length)
    throw UsageError(
        fmt::format("delay-line: {} delays with {} steps: the number of delays must be at least 1 and less than the "
                    "number of steps",
                    options.delays, options.length));
  return std::make_unique<DelayLine>(options);
}

}  // namespace unfold
