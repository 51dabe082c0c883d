/// Time of the path metric relative to a mini-batch step: forward and backward over 32 sequences of 50 symbols with 512
/// ReLU units, and the direction with the metric updated at every step, at every fourth step, and without the metric.
/// Results are medians on two threads.
///
///   bench_path_metric [units [length [batch [threads]]]]

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "unfold/graph/cells/cells.h"
#include "unfold/graph/engine/unfolding.h"
#include "unfold/loss/loss.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

constexpr Index kSymbols = 50;

class Step final : public Objective<float> {
 public:
  Step(Index units, Index length, Index batch, int threads) : team_(threads, Attendance::all) {
    const Signal x = circuit_.symbols("x", kSymbols);
    const Signal h = rnn(circuit_, x, units, {.activation = Map::relu});
    logits_ = circuit_.affine("output", kSymbols, {{"V", h}});
    circuit_.output(logits_);
    parameters_ = Parameters<float>(circuit_);
    parameters_.initialize(1);
    unfolding_ = std::make_unique<Unfolding<float>>(std::make_shared<const Plan>(circuit_), team_);
    unfolding_->lay(Structure::chains(batch, length));
    Random random(1, "symbols");
    for (Symbol& s : unfolding_->symbols(x)) s = static_cast<Symbol>(random.below(kSymbols));
    for (Index i = 0; i < batch * length; ++i) targets_.push_back(static_cast<Symbol>(random.below(kSymbols)));
    nats_.resize(targets_.size());
    reading_ = {.circuit = &circuit_, .output = logits_.id, .length = length};
  }
  Parameters<float>& parameters() override { return parameters_; }
  Team& team() override { return team_; }
  double gradient(std::span<float> gradient) override {
    Unfolding<float>& u = *unfolding_;
    u.set_parameters(parameters_);
    u.forward();
    const Observed<float> observed{.structure = u.structure(),
                                   .signal = u.value(logits_),
                                   .targets = {.symbols = targets_.data(), .values = {}, .predicted = nullptr},
                                   .parameters = parameters_.flat()};
    loss_->gradient(observed, 1 / static_cast<float>(targets_.size()), team_, nats_.data(), u.adjoint(logits_),
                    gradient);
    u.backward(gradient);
    return 1;
  }
  double loss() override { return 1; }
  PathReading path_reading() override { return reading_; }

 private:
  Circuit circuit_;
  Signal logits_;
  Parameters<float> parameters_;
  Team team_;
  std::unique_ptr<Unfolding<float>> unfolding_;
  std::unique_ptr<Loss<float>> loss_ = softmax_loss<float>();
  std::vector<Symbol> targets_;
  std::vector<float> nats_;
  PathReading reading_;
};

void run(Index units, Index length, Index batch, int threads) {
  Step step(units, length, batch, threads);
  const char* const specs[] = {"sgd:rate=1e-9,momentum=0,clip=0", "path:rate=1e-9,refresh=4",
                               "path:rate=1e-9,refresh=1"};
  std::vector<std::unique_ptr<Optimizer<float>>> optimizers;
  for (const char* spec : specs) {
    optimizers.push_back(make_optimizer<float>(spec, step.parameters().size()));
    optimizers.back()->attach(step);
  }
  constexpr int kRounds = 15, kSteps = 4;
  std::vector<double> times[3];
  for (int round = 0; round < kRounds; ++round)  // alternately, so that other load affects all equally
    for (std::size_t k = 0; k < optimizers.size(); ++k) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < kSteps; ++i) optimizers[k]->step(step, {}, 1);
      times[k].push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / kSteps);
    }
  fmt::print("{} units, {} steps, batch {}, {} threads\n", units, length, batch, threads);
  double plain = 0;
  for (std::size_t k = 0; k < optimizers.size(); ++k) {
    std::nth_element(times[k].begin(), times[k].begin() + kRounds / 2, times[k].end());
    const double median = times[k][kRounds / 2];
    if (k == 0) plain = median;
    fmt::print("{:34} {:8.3f} ms/step {:+6.1f} %\n", specs[k], 1e3 * median, 100 * (median / plain - 1));
  }
}

}  // namespace
}  // namespace unfold

int main(int count, char** arguments) {
  const auto number = [&](int i, unfold::Index otherwise) {
    return count > i ? static_cast<unfold::Index>(std::stol(arguments[i])) : otherwise;
  };
  unfold::run(number(1, 512), number(2, 50), number(3, 32), static_cast<int>(number(4, 2)));
}
