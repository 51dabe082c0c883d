#include "app/bench/measurements.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <limits>

#include "app/bench/peak_performance.h"
#include "app/plots/statistics.h"
#include "base/utf8.h"
#include "graph/engine/memory.h"
#include "unfold/numerics/product.h"
#include "unfold/numerics/random.h"
#include "unfold/optim/direction/direction.h"
#include "unfold/train/trainer.h"

namespace unfold {
namespace {

constexpr int kSamples = 5;

/// Returns the seconds of one call: the median over samples that take about `seconds` in total.
double seconds_per_call(const std::function<void()>& call, double seconds) {
  call();
  std::vector<double> samples;
  for (int sample = 0; sample < kSamples; ++sample) {
    Index calls = 0;
    const double start = seconds_now();
    double now = start;
    for (; calls == 0 || now - start < seconds / kSamples; now = seconds_now()) {
      call();
      ++calls;
    }
    samples.push_back((now - start) / static_cast<double>(calls));
  }
  return quantile(std::move(samples), 0.5);
}

void fill_random(Random& random, std::span<float> values) {
  for (float& value : values) value = static_cast<float>(random.uniform(-1, 1));
}

/// Consecutive characters starting with U+4E00, a range large enough for any alphabet size.
Alphabet numbered_alphabet(Index symbols) {
  std::vector<std::string> texts(static_cast<std::size_t>(symbols));
  for (std::size_t i = 0; i < texts.size(); ++i) append_utf8(texts[i], static_cast<char32_t>(0x4E00 + i));
  return Alphabet(SymbolKind::chars, std::move(texts));
}

Corpus random_corpus(const Alphabet& alphabet, Index length) {
  Random random(1, "bench");
  std::string text;
  for (Index i = 0; i < length; ++i)
    text += alphabet.text(static_cast<Symbol>(random.below(static_cast<std::uint64_t>(alphabet.size()))));
  return Corpus::from_text(std::move(text), alphabet);
}

/// Returns the number of weights multiplied per symbol. The row of an input symbol is looked up and not counted.
double dense_weights(const Circuit& circuit) {
  double weights = 0;
  for (const Node& node : circuit.nodes()) {
    for (const Node::AffineTerm& term : node.terms()) {
      if (circuit.nodes()[static_cast<std::size_t>(term.source)].kind() == Node::Kind::symbols) continue;
      weights += static_cast<double>(circuit.parameters()[static_cast<std::size_t>(term.parameter)].size());
    }
  }
  return weights;
}

/// Returns the operations of a training step per symbol. Each weight takes two operations in the forward pass and four
/// in the backward pass.
double flops_per_symbol(const Circuit& circuit) { return 6 * dense_weights(circuit); }

/// Records the time of every step, and stops training when the time is up.
class StepClock final : public Observer {
 public:
  StepClock(double seconds, std::atomic<bool>& stop) : seconds_(seconds), stop_(stop) {}

  void progress(const ProgressEvent& event) override {
    times_.push_back(seconds_now());
    if (event.step > kWarmup && times_.back() - times_[static_cast<std::size_t>(kWarmup - 1)] >= seconds_) stop_ = true;
  }

  /// Returns the median over samples of consecutive steps.
  double seconds_per_step() const {
    const auto warmup = static_cast<std::size_t>(kWarmup);
    const std::size_t steps = times_.size() - warmup, samples = std::min<std::size_t>(kSamples, steps);
    std::vector<double> values;
    for (std::size_t i = 0; i < samples; ++i) {
      const std::size_t begin = warmup - 1 + i * steps / samples, end = warmup - 1 + (i + 1) * steps / samples;
      values.push_back((times_[end] - times_[begin]) / static_cast<double>(end - begin));
    }
    return quantile(std::move(values), 0.5);
  }

 private:
  static constexpr Index kWarmup = 12;  // there are four ways to divide a loop, each of which is tried three times
                                        // (graph/engine/autotuner.h)
  double seconds_;
  std::atomic<bool>& stop_;
  std::vector<double> times_;
};

}  // namespace

double measure_product(const ProductShape& shape, Team& team, double seconds) {
  Random random(1, "product");
  Buffer<float> a(shape.m * shape.k), w(shape.k * shape.n), c(shape.m * shape.n);
  fill_random(random, a.span());
  fill_random(random, w.span());
  PackedMatrix<float> packed;
  packed.pack(Matrix<const float>{w.data(), shape.k, shape.n, shape.n});
  const Matrix<const float> x{a.data(), shape.m, shape.k, shape.k};
  const Matrix<float> y{c.data(), shape.m, shape.n, shape.n};
  // Several products in one parallel region, separated by the barrier that a recurrent loop needs.
  const Index repeats = std::max<Index>(1, 4'000'000 / (shape.m * shape.k * shape.n));
  const auto call = [&] {
    team.run([&](Member& me) {
      const Range mine = me.share(packed.panels());
      for (Index i = 0; i < repeats; ++i) {
        multiply(x, packed, y, mine, Start::zero);
        me.sync();
      }
    });
  };
  const double flops = 2.0 * static_cast<double>(shape.m * shape.k * shape.n * repeats);
  return flops / seconds_per_call(call, seconds);
}

LanguageModel<float> random_model(const TrainingShape& shape) {
  LanguageModel<float> model(shape.model, numbered_alphabet(shape.symbols));
  model.initialize(1);
  return model;
}

TrainingSpeed measure_training(const TrainingShape& shape, Team& team, double seconds, const Sharding& sharding) {
  constexpr Index kWindows = 200;  // windows per epoch; enough that an incomplete last batch does not matter
  LanguageModel<float> model = random_model(shape);
  const Corpus corpus = random_corpus(model.alphabet(), shape.batch * shape.window * kWindows);
  const Split part = whole_corpus(corpus, "training");
  std::atomic<bool> stop = false;
  StepClock clock(seconds, stop);
  TrainerOptions options;
  options.optimizer = "adam";
  options.batches = {.window = shape.window, .batch = shape.batch};
  options.steps = std::numeric_limits<Index>::max();
  options.stop = &stop;
  options.shards = sharding.shards;
  options.processes = sharding.processes;
  options.timeline = sharding.timeline;
  const Network<float> network = model.network();
  Trainer<float> trainer(network, model.parameters(), {.corpus = corpus, .training = part}, options, team);
  trainer.set_observer(&clock);
  try {
    trainer.run();
  } catch (const InterruptedError&) {  // stopped by StepClock, as intended
  }
  TrainingSpeed speed;
  speed.parameters = model.parameters().size();
  speed.seconds_per_step = clock.seconds_per_step();
  speed.symbols_per_second = static_cast<double>(shape.batch * shape.window) / speed.seconds_per_step;
  speed.flops_per_symbol = flops_per_symbol(model.circuit());
  return speed;
}

namespace {

/// Calls `call` at least once and until `seconds` have elapsed; returns the duration of each call.
template <class Call>
std::vector<double> times_one_by_one(const Call& call, double seconds) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> result;
  for (const Clock::time_point start = Clock::now();;) {
    const Clock::time_point before = Clock::now();
    call();
    const Clock::time_point after = Clock::now();
    result.push_back(std::chrono::duration<double>(after - before).count());
    if (std::chrono::duration<double>(after - start).count() >= seconds) return result;
  }
}

}  // namespace

StepperSpeed measure_stepper(const std::string& spec, Index symbols, Team& team, double seconds) {
  LanguageModel<float> model(spec, numbered_alphabet(symbols));
  model.initialize(1);
  Stepper<float> stepper(model.plan(), model.parameters(), team);
  Symbol next = 0;
  const auto step = [&] {
    stepper.symbols(model.symbols())[0] = next;
    stepper.step();
    next = static_cast<Symbol>((next + 1) % symbols);
  };
  const auto call = [&] {
    for (int i = 0; i < 16; ++i) step();
  };
  const double weights = dense_weights(model.circuit());
  const double each = seconds_per_call(call, seconds) / 16;
  const std::vector<double> single = times_one_by_one(step, seconds);
  return {.seconds_per_step = each,
          .rare = quantile(single, 0.999),
          .worst = std::ranges::max(single),
          .weight_bytes = weights * sizeof(float),
          .floor_seconds = seconds_to_read(static_cast<Index>(weights))};
}

namespace {

/// Resident memory of the process in bytes, excluding file-backed pages such as the program itself.
std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0, resident = 0, of_files = 0;
  statm >> all >> resident >> of_files;
  return (resident - of_files) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

MemoryUse measure_memory(const TrainingShape& shape, Team& team) {
  constexpr std::size_t kOfParameters = 4;  // parameters, gradient, two moments of Adam
  const std::size_t before = resident_bytes();
  LanguageModel<float> model = random_model(shape);
  const Network<float> network = model.network();
  Unfolding<float> unfolding(network.plan, team);
  unfolding.lay(Structure::chains(shape.batch, shape.window));
  Buffer<float> gradient(model.parameters().size());
  const auto adam = adam_direction<float>(model.parameters().size(), {}, 0, false);
  unfolding.set_parameters(model.parameters());
  std::ranges::fill(unfolding.symbols(model.symbols()), Symbol{0});
  unfolding.forward(nullptr);
  unfolding.clear_adjoints();
  unfolding.backward(gradient.span());
  adam->move(team, model.parameters().flat(), gradient.span(), 1, 1e-4);
  const std::size_t resident = resident_bytes(), flat = model.parameters().flat().size_bytes();
  return {.planned = planned_bytes(*network.plan, shape.batch, shape.window, sizeof(float)) + kOfParameters * flat,
          .allocated = unfolding.memory_bytes() + kOfParameters * flat,
          .resident = resident > before ? resident - before : 0};
}

}  // namespace unfold
