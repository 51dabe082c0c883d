#pragma once
/// Windows of many series as batches for a SegmentNetwork.
///
///     SegmentPool pool(shape, series);
///     auto training = pool.batches(windows, 256, seed);
///
/// Each value of a window is x = (y - last value of the window) / scale of the series, and the targets are transformed
/// in the same way. Adding a constant to a series therefore adds this constant to its forecast.

#include <memory>
#include <span>
#include <vector>

#include "model/forecast/segments/segment_network.h"
#include "unfold/data/text/batch.h"

namespace unfold::forecasting {

/// A window of a series: the network reads the values before `origin` and predicts the values from `origin` on.
struct SegmentWindow {
  Index series = 0, origin = 0;
};

class SegmentPool {
 public:
  /// `series`: values, NaN if missing; `ends`: number of known values of each series, whose standard deviation is the
  /// scale. Throws DataError if a series with at least one observed value contains an infinite value.
  SegmentPool(const SegmentShape& shape, std::span<const std::vector<double>> series, std::span<const Index> ends);

  /// Sets the index of the embedding of each series; -1: none. By default, it is the index of the series.
  void set_embeddings(std::vector<Index> embeddings);

  const SegmentShape& shape() const { return shape_; }
  Index series() const { return static_cast<Index>(values_.size()); }
  Index length(Index series) const { return static_cast<Index>(values_[at(series)].size()); }
  /// Returns the value that an output of the network represents in a window.
  double value_of(const SegmentWindow& window, double output) const;
  double scale(Index series) const { return scales_[at(series)]; }

  /// Appends all windows of a series whose origin is in [first, end) and that have enough values to read.
  void add_windows(Index series, Index first, Index end, std::vector<SegmentWindow>& windows) const;

  /// Fills a batch with these windows. Targets at or after `ends[series]` are missing; if `ends` is empty, all values
  /// are targets.
  void fill(std::span<const SegmentWindow> windows, std::span<const Index> ends, Index first_place, Batch& batch) const;

  /// Returns an endless source that visits the windows in a different random order in each epoch.
  std::unique_ptr<BatchSource> batches(std::vector<SegmentWindow> windows, std::vector<Index> ends, Index batch,
                                       std::uint64_t seed) const;
  /// Returns a reader of all windows in the given order.
  std::unique_ptr<BatchReader> reader(std::span<const SegmentWindow> windows, std::span<const Index> ends,
                                      Index batch) const;

 private:
  SegmentShape shape_;
  std::vector<std::vector<float>> values_;  // divided by the scale; NaN: missing
  std::vector<std::vector<float>> filled_;  // `values_`, interpolated
  std::vector<double> scales_, means_;
  std::vector<Index> embeddings_;
};

}  // namespace unfold::forecasting
