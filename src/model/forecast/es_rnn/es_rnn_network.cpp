#include "model/forecast/es_rnn/es_rnn_network.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/forecast/lanes.h"
#include "unfold/base/error.h"

namespace unfold::forecasting {
namespace {

constexpr double kInitialAlpha = -1, kInitialGamma = -2, kLogitScale = 10;

double logistic_of(double x) {
  vector_sigmoid<double>(&x, &x, 1);
  return x;
}

}  // namespace

template <class T>
EsRnnNetwork<T>::EsRnnNetwork(const SegmentShape& shape, std::span<const EsRnnSeries> series)
    : shape_(shape), series_(series), circuit_(std::make_unique<Circuit>()) {
  if (shape.series > 0) throw UsageError("es-rnn: embeddings of the series are not supported");
  network_ = add_segment_network<T>(*circuit_, shape_);
  Index seasons = 0;
  first_season_.reserve(series_.size());
  for (const EsRnnSeries& one : series_) {
    first_season_.push_back(seasons);
    seasons += static_cast<Index>(one.log_seasons.size());
  }
  const Index count = static_cast<Index>(series_.size());
  alphas_ = circuit_->parameter("smoothing/alpha", 1, count, Init::zero());
  gammas_ = circuit_->parameter("smoothing/gamma", 1, count, Init::zero());
  seasons_ = circuit_->parameter("smoothing/season", 1, std::max<Index>(1, seasons), Init::zero());
  network_.plan = std::make_shared<const Plan>(*circuit_, PlanOptions{.input_derivatives = true});
  parameters_ = Parameters<T>(*circuit_);
}

template <class T>
SmoothingParameters EsRnnNetwork<T>::smoothing(Index s) const {
  const EsRnnSeries& series = series_[at(s)];
  const auto value = [&](int parameter, Index column) {
    return static_cast<double>(parameters_[parameter](0, column));
  };
  SmoothingParameters p{.alpha = logistic_of(kInitialAlpha + kLogitScale * value(alphas_, s)),
                        .gamma = logistic_of(kInitialGamma + kLogitScale * value(gammas_, s)),
                        .log_seasons = series.log_seasons};
  for (std::size_t j = 0; j < p.log_seasons.size(); ++j)
    p.log_seasons[j] += series.scale * value(seasons_, first_season_[at(s)] + static_cast<Index>(j));
  return p;
}

template <class T>
void EsRnnNetwork<T>::set_gradient(Index s, const SmoothingParameters& derivatives, std::span<T> gradient) const {
  const auto logit_slope = [](double p) { return kLogitScale * p * (1 - p); };
  const SmoothingParameters now = smoothing(s);
  const auto block = [&](int parameter) { return parameters_.view(gradient.data(), parameter); };
  block(alphas_)(0, s) = static_cast<T>(derivatives.alpha * logit_slope(now.alpha));
  block(gammas_)(0, s) = static_cast<T>(derivatives.gamma * logit_slope(now.gamma));
  for (std::size_t j = 0; j < derivatives.log_seasons.size(); ++j)
    block(seasons_)(0, first_season_[at(s)] + static_cast<Index>(j)) =
        static_cast<T>(series_[at(s)].scale * derivatives.log_seasons[j]);
}

template <class T>
EsRnnPass<T>::EsRnnPass(const EsRnnNetwork<T>& network, Team& team)
    : network_(network), team_(team), unfolding_(network.network().plan, team) {}

template <class T>
std::size_t EsRnnPass<T>::season_at(const EsRnnSeries& series, const SegmentWindow& window, Index h) {
  return at(window.origin + h % series.period());
}

/// Smooths the series of the windows and runs the network.
template <class T>
void EsRnnPass<T>::forward(std::span<const SegmentWindow> windows, std::span<const Index> ends) {
  const SegmentShape& shape = network_.shape();
  windows_ = windows;
  groups_.clear(), group_of_.clear();
  for (Index i = 0; i < static_cast<Index>(windows.size()); ++i) {
    if (groups_.empty() || groups_.back().series != windows[at(i)].series)
      groups_.push_back({.series = windows[at(i)].series, .begin = i, .end = i});
    groups_.back().end = i + 1;
    group_of_.push_back(static_cast<Index>(groups_.size()) - 1);
  }
  if (structure_.sequences() != static_cast<Index>(windows.size()) ||
      structure_.positions() != structure_.sequences() * shape.nodes())
    structure_ = Structure::trees(std::vector<Tree>(windows.size(), shape.tree()));
  unfolding_.lay(structure_);
  unfolding_.set_parameters(network_.parameters());
  const std::size_t rows = at(structure_.positions());
  targets_.assign(rows * at(shape.segment), std::numeric_limits<T>::quiet_NaN());
  nats_.resize(rows);
  predicted_.assign(rows, 0);
  std::ranges::fill(unfolding_.symbols(network_.network().inputs[1].signal), kNoSymbol);
  const Matrix<T> inputs = unfolding_.input(network_.network().inputs[0].signal);
  std::fill_n(inputs.data, inputs.rows * inputs.cols, T{0});
  team_.run([&](unfold::Member& me) {
    const Range mine = me.share(static_cast<Index>(groups_.size()));
    for (Index g = mine.begin; g < mine.end; ++g) fill(groups_[at(g)], ends);
  });
  unfolding_.forward();
}

/// Sets the inputs and the targets of the windows of a series.
template <class T>
void EsRnnPass<T>::fill(Group& group, std::span<const Index> ends) {
  const SegmentShape& shape = network_.shape();
  const EsRnnSeries& series = network_.series()[at(group.series)];
  group.parameters = network_.smoothing(group.series);
  group.states = smooth(series.values, group.parameters);
  const Matrix<T> inputs = unfolding_.input(network_.network().inputs[0].signal);
  const std::span<Symbol> places = unfolding_.symbols(network_.network().inputs[1].signal);
  const Index end = ends.empty() ? series.size() : ends[at(group.series)], w = shape.segment;
  for (Index i = group.begin; i < group.end; ++i) {
    const SegmentWindow& window = windows_[at(i)];
    const double level = group.states.log_level[at(window.origin - 1)];
    for (Index j = 0; j < shape.window; ++j) {
      const std::size_t t = at(window.origin - shape.window + j);
      inputs(structure_.row(i, j / w), j % w) =
          static_cast<T>((series.filled[t] - level - group.states.log_season[t]) / series.scale);
    }
    for (Index k = 0; k < shape.predicted(); ++k)
      places[at(structure_.row(i, shape.read() + k))] = static_cast<Symbol>(k);
    for (Index h = 0; h < shape.horizon && window.origin + h < end; ++h) {
      const double y = series.logs[at(window.origin + h)];
      if (std::isnan(y)) continue;
      const std::size_t row = at(structure_.row(i, shape.read() + h / w));
      predicted_[row] = 1;
      targets_[row * at(w) + at(h % w)] =
          static_cast<T>((y - level - group.states.log_season[season_at(series, window, h)]) / series.scale);
    }
  }
}

template <class T>
Observed<T> EsRnnPass<T>::observed() const {
  const Index rows = structure_.positions(), w = network_.shape().segment;
  return {.structure = structure_,
          .signal = unfolding_.value(network_.network().heads[0].signal),
          .targets = {.values = {targets_.data(), rows, w, w}, .predicted = predicted_.data()},
          .parameters = network_.parameters().flat()};
}

template <class T>
double EsRnnPass<T>::mean_loss() const {
  double sum = 0, count = 0;
  for (const T x : nats_) sum += static_cast<double>(x);
  for (const char x : predicted_) count += x;
  return sum / std::max(1.0, count);
}

template <class T>
double EsRnnPass<T>::loss(std::span<const SegmentWindow> windows, std::span<const Index> ends) {
  forward(windows, ends);
  network_.network().heads[0].loss->negative_log_likelihood(observed(), team_, nats_.data());
  return mean_loss();
}

template <class T>
double EsRnnPass<T>::gradient(std::span<const SegmentWindow> windows, std::span<const Index> ends,
                              std::span<T> gradient) {
  forward(windows, ends);
  const Head<T>& head = network_.network().heads[0];
  const double count = static_cast<double>(std::ranges::count(predicted_, 1));
  const Matrix<T> seed = unfolding_.adjoint(head.signal);
  head.loss->gradient(observed(), static_cast<T>(1 / std::max(1.0, count)), team_, nats_.data(), seed, {});
  adjoints_.resize(at(seed.rows * seed.cols));
  for (Index r = 0; r < seed.rows; ++r) std::copy_n(seed.row(r), seed.cols, adjoints_.data() + r * seed.cols);
  std::ranges::fill(gradient, T{0});  // the backward pass does not set the parameters of smoothing
  unfolding_.backward(gradient);
  team_.run([&](unfold::Member& me) {
    const Range mine = me.share(static_cast<Index>(groups_.size()));
    for (Index g = mine.begin; g < mine.end; ++g) set_smoothing_gradient(groups_[at(g)], gradient);
  });
  return mean_loss();
}

/// Sets the gradient of the parameters of a series. The loss depends on differences of targets and outputs, so the
/// derivative with respect to a target is minus the sum of those with respect to its quantiles.
template <class T>
void EsRnnPass<T>::set_smoothing_gradient(const Group& group, std::span<T> gradient) {
  const SegmentShape& shape = network_.shape();
  const EsRnnSeries& series = network_.series()[at(group.series)];
  const Matrix<const T> inputs = unfolding_.input_adjoint(network_.network().inputs[0].signal);
  const Index w = shape.segment, levels = static_cast<Index>(shape.levels.size());
  std::vector<double> level(group.states.level.size()), season(group.states.season.size());
  const auto add = [&](const SegmentWindow& window, std::size_t season_place, double adjoint) {
    level[at(window.origin - 1)] -= adjoint / series.scale;
    season[season_place] -= adjoint / series.scale;
  };
  for (Index i = group.begin; i < group.end; ++i) {
    const SegmentWindow& window = windows_[at(i)];
    for (Index j = 0; j < shape.window; ++j)
      add(window, at(window.origin - shape.window + j), static_cast<double>(inputs(structure_.row(i, j / w), j % w)));
    for (Index h = 0; h < shape.horizon; ++h) {
      const T* row = adjoints_.data() + structure_.row(i, shape.read() + h / w) * w * levels + h % w;
      double sum = 0;
      for (Index k = 0; k < levels; ++k) sum += static_cast<double>(row[k * w]);
      add(window, season_at(series, window, h), -sum);
    }
  }
  network_.set_gradient(group.series, smoothing_gradient(series.values, group.parameters, group.states, level, season),
                        gradient);
}

template <class T>
double EsRnnPass<T>::quantile(Index i, Index level, Index h) const {
  const SegmentShape& shape = network_.shape();
  const Group& group = groups_[at(group_of_[at(i)])];
  const EsRnnSeries& series = network_.series()[at(group.series)];
  const SegmentWindow& window = windows_[at(i)];
  const Matrix<const T> outputs = unfolding_.value(network_.network().heads[0].signal);
  const auto output = static_cast<double>(
      outputs(structure_.row(i, shape.read() + h / shape.segment), level * shape.segment + h % shape.segment));
  return exp_of(series.scale * output + group.states.log_level[at(window.origin - 1)] +
                group.states.log_season[season_at(series, window, h)]);
}

template class EsRnnNetwork<float>;
template class EsRnnNetwork<double>;
template class EsRnnPass<float>;
template class EsRnnPass<double>;

}  // namespace unfold::forecasting
