#pragma once
/// Exponential smoothing of every series and a network over all series, trained together (Smyl 2020; smoothing.h). At
/// an origin, the network reads the last values in segments and predicts the quantiles of all values of the horizon:
///
///     x_t = (log y_t - log l - log s_t) / scale            l: level after the last value before the origin
///     quantile = exp(scale * network(x) + log l + log s)   s: the last season of this phase
///
/// The layers are those of a SegmentNetwork without embeddings. alpha = sigmoid(-1 + 10 a), gamma = sigmoid(-2 + 10 c)
/// and the initial seasons, log s = log s of the decomposition + scale * b, have the parameters a, c and b of each
/// series, which start at 0.

#include <memory>
#include <span>
#include <vector>

#include "model/forecast/es_rnn/es_rnn_series.h"
#include "model/forecast/segments/segment_network.h"
#include "model/forecast/segments/segment_windows.h"
#include "unfold/base/threads/team.h"

namespace unfold::forecasting {

template <class T>
class EsRnnNetwork {
 public:
  /// The series must exist during the lifetime of this object. Parameters are zero until they are initialized. Throws
  /// UsageError like SegmentNetwork, and for embeddings.
  EsRnnNetwork(const SegmentShape& shape, std::span<const EsRnnSeries> series);

  const SegmentShape& shape() const { return shape_; }
  std::span<const EsRnnSeries> series() const { return series_; }
  const Network<T>& network() const { return network_; }  ///< valid during the lifetime of this object
  Parameters<T>& parameters() { return parameters_; }
  const Parameters<T>& parameters() const { return parameters_; }

  SmoothingParameters smoothing(Index series) const;
  /// Sets the derivatives with respect to the parameters of a series, from those with respect to `smoothing(series)`.
  void set_gradient(Index series, const SmoothingParameters& derivatives, std::span<T> gradient) const;

 private:
  SegmentShape shape_;
  std::span<const EsRnnSeries> series_;
  std::vector<Index> first_season_;  // column of the first season of each series
  std::unique_ptr<Circuit> circuit_;
  Network<T> network_;
  Parameters<T> parameters_;
  int alphas_ = 0, gammas_ = 0, seasons_ = 0;  // parameters of the circuit
};

/// The loss of batches of windows and its gradient.
template <class T>
class EsRnnPass {
 public:
  EsRnnPass(const EsRnnNetwork<T>& network, Team& team);

  /// Returns the mean loss of the predicted segments. In `windows`, those of one series are adjacent. The values of a
  /// series from `ends` on are not targets; if `ends` is empty, all values are.
  double loss(std::span<const SegmentWindow> windows, std::span<const Index> ends);
  /// Like `loss`; also sets the gradient of all parameters.
  double gradient(std::span<const SegmentWindow> windows, std::span<const Index> ends, std::span<T> gradient);
  void set_dropout_seed(std::uint64_t seed) { unfolding_.set_dropout_seed(seed); }
  void disable_dropout() { unfolding_.disable_dropout(); }
  /// After `loss`: returns the quantile of window i, level `level` and horizon h (from 0), in the units of the series.
  double quantile(Index i, Index level, Index h) const;

 private:
  /// The windows [begin, end) of one series.
  struct Group {
    Index series, begin, end;
    SmoothingParameters parameters = {};
    SmoothedSeries states = {};
  };
  void forward(std::span<const SegmentWindow> windows, std::span<const Index> ends);
  void fill(Group& group, std::span<const Index> ends);
  void set_smoothing_gradient(const Group& group, std::span<T> gradient);
  Observed<T> observed() const;
  double mean_loss() const;
  /// Returns the position of the season that the forecast of horizon h uses.
  static std::size_t season_at(const EsRnnSeries& series, const SegmentWindow& window, Index h);

  const EsRnnNetwork<T>& network_;
  Team& team_;
  Unfolding<T> unfolding_;
  Structure structure_ = Structure::chains(1, 1);
  std::span<const SegmentWindow> windows_;
  std::vector<Group> groups_;
  std::vector<Index> group_of_;  // of each window
  std::vector<T> targets_, adjoints_, nats_;
  std::vector<char> predicted_;  // rows with a target
};

}  // namespace unfold::forecasting
