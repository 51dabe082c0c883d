#include "model/forecast/es_rnn/es_rnn_training.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "unfold/base/error.h"
#include "unfold/numerics/random.h"
#include "unfold/optim/optimizer.h"

namespace unfold::forecasting {
namespace {

constexpr Index kWindowsAtOnce = 256, kValidationCount = 20;

/// The windows of a step: the same number of random windows of each of the next series in a random order.
class SeriesBatches {
 public:
  SeriesBatches(std::span<const SegmentWindow> windows, Index batch, std::uint64_t seed)
      : windows_(windows), seed_(seed), random_(seed, "es-rnn/windows") {
    for (std::size_t i = 0; i < windows.size(); ++i)
      if (i == 0 || windows[i].series != windows[i - 1].series) begins_.push_back(i);
    series_ = std::min(kSeriesPerStep, static_cast<Index>(begins_.size()));
    each_ = std::max<Index>(1, batch / series_);
    order_.resize(begins_.size());
    begins_.push_back(windows.size());
  }

  std::span<const SegmentWindow> next() {
    batch_.clear();
    for (Index k = 0; k < series_; ++k) {
      if (place_ % order_.size() == 0) shuffle();
      const std::size_t s = order_[place_++ % order_.size()], first = begins_[s], count = begins_[s + 1] - first;
      for (Index i = 0; i < each_; ++i) batch_.push_back(windows_[first + random_.below(count)]);
    }
    return batch_;
  }

 private:
  void shuffle() {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    Random random(seed_, "es-rnn/order/" + std::to_string(place_ / order_.size()));
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.below(i)]);
  }

  std::span<const SegmentWindow> windows_;
  std::vector<std::size_t> begins_, order_;  // first window of each series, and the end; order of the series
  std::vector<SegmentWindow> batch_;
  Index series_ = 1, each_ = 1;
  std::size_t place_ = 0;
  std::uint64_t seed_;
  Random random_;
};

class EsRnnObjective final : public Objective<float> {
 public:
  EsRnnObjective(EsRnnNetwork<float>& network, const SegmentSplit& split, const SegmentTraining& options, Team& team)
      : network_(network),
        split_(split),
        team_(team),
        batches_(split.training, options.batch, options.seed),
        seed_(options.seed),
        pass_(network, team) {}

  Parameters<float>& parameters() override { return network_.parameters(); }
  Team& team() override { return team_; }
  double gradient(std::span<float> gradient) override {
    pass_.set_dropout_seed(stream_of("es-rnn/dropout/" + std::to_string(seed_) + "/" + std::to_string(step_++)));
    return pass_.gradient(batches_.next(), split_.ends, gradient);
  }
  double loss() override { throw UsageError("es-rnn: this optimizer is not supported; use adam"); }

  /// Returns the mean loss of the validation windows.
  double validation_loss() {
    pass_.disable_dropout();
    double sum = 0;
    const std::span<const SegmentWindow> all = split_.validation;
    for (std::size_t first = 0; first < all.size(); first += at(kWindowsAtOnce)) {
      const auto part = all.subspan(first, std::min(at(kWindowsAtOnce), all.size() - first));
      sum += static_cast<double>(part.size()) * pass_.loss(part, split_.validation_ends);
    }
    return sum / static_cast<double>(all.size());
  }

 private:
  EsRnnNetwork<float>& network_;
  const SegmentSplit& split_;
  Team& team_;
  SeriesBatches batches_;
  std::uint64_t seed_;
  Index step_ = 0;
  EsRnnPass<float> pass_;
};

}  // namespace

Index train(EsRnnNetwork<float>& network, const SegmentSplit& split, const SegmentTraining& options, Team& team) {
  if (split.training.empty()) throw DataError("es-rnn: no window has both values to read and values to predict");
  network.parameters().initialize(options.seed);
  EsRnnObjective objective(network, split, options, team);
  const auto optimizer = make_optimizer<float>(options.optimizer, network.parameters().size());
  optimizer->attach(objective);
  const Index every = std::max<Index>(1, options.steps / kValidationCount);
  double best_loss = std::numeric_limits<double>::infinity();
  Index best_step = 0;
  std::vector<float> best;
  for (Index step = 1; step <= options.steps; ++step) {
    const double fraction = static_cast<double>(step - 1) / static_cast<double>(options.steps);
    if (!optimizer->step(objective, {.step = step - 1, .fraction = fraction}, 1).finite)
      throw DivergedError("es-rnn: the loss is not finite after " + std::to_string(step) + " steps");
    if (split.validation.empty() || (step % every != 0 && step != options.steps)) continue;
    const double loss = objective.validation_loss();
    if (!(loss < best_loss)) continue;
    best_loss = loss, best_step = step;
    best.assign(network.parameters().flat().begin(), network.parameters().flat().end());
  }
  if (best.empty()) return options.steps;
  std::ranges::copy(best, network.parameters().flat().begin());
  return best_step;
}

void forecast(const EsRnnNetwork<float>& network, std::span<const SegmentWindow> windows, Team& team,
              const std::function<void(std::size_t, std::span<const double>)>& use) {
  const SegmentShape& shape = network.shape();
  const Index levels = static_cast<Index>(shape.levels.size());
  EsRnnPass<float> pass(network, team);
  std::vector<double> quantiles(at(levels * shape.horizon)), column(at(levels));
  for (std::size_t first = 0; first < windows.size(); first += at(kWindowsAtOnce)) {
    const auto part = windows.subspan(first, std::min(at(kWindowsAtOnce), windows.size() - first));
    pass.loss(part, {});
    for (Index i = 0; i < static_cast<Index>(part.size()); ++i) {
      for (Index h = 0; h < shape.horizon; ++h) {
        for (Index l = 0; l < levels; ++l) column[at(l)] = pass.quantile(i, l, h);
        std::ranges::sort(column);
        for (Index l = 0; l < levels; ++l) quantiles[at(l * shape.horizon + h)] = column[at(l)];
      }
      use(first + at(i), quantiles);
    }
  }
}

}  // namespace unfold::forecasting
