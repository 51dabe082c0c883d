#pragma once
/// Windows of many series as batches for a SegmentNetwork.
///
///     SegmentPool pool(shape, series);
///     auto training = pool.batches(windows, 256, seed);
///
/// Each value of a window is x = (y - last value of the window) / scale of the series, and so are its targets, so that
/// the forecast of a series plus a constant is the forecast plus that constant.

#include <memory>
#include <span>
#include <vector>

#include "model/forecast/segments/segment_network.h"
#include "unfold/data/text/batch.h"

namespace unfold::forecasting {

/// A window of a series: the network reads the values before `origin` and predicts those from `origin` on.
struct SegmentWindow {
  Index series = 0, origin = 0;
};

class SegmentPool {
 public:
  /// `series`: values, NaN if missing; `ends`: number of values of each that are known, whose deviation is the scale.
  /// Throws DataError if a series with at least one observed value contains an infinite one.
  SegmentPool(const SegmentShape& shape, std::span<const std::vector<double>> series, std::span<const Index> ends);

  /// Sets the index of the embedding of each series; -1: none. By default a series has its own index.
  void set_embeddings(std::vector<Index> embeddings);

  const SegmentShape& shape() const { return shape_; }
  Index series() const { return static_cast<Index>(values_.size()); }
  Index length(Index series) const { return static_cast<Index>(values_[at(series)].size()); }
  /// The value of horizon h of a window from the output of the network.
  double value_of(const SegmentWindow& window, double output) const;
  double scale(Index series) const { return scales_[at(series)]; }

  /// All windows of a series whose origin is in [first, end) and that have enough values to read.
  void add_windows(Index series, Index first, Index end, std::vector<SegmentWindow>& windows) const;

  /// Fills a batch with these windows. Targets at or after `ends[series]` are missing; empty: all values are targets.
  void fill(std::span<const SegmentWindow> windows, std::span<const Index> ends, Index first_place, Batch& batch) const;

  /// An endless source that visits the windows in a different random order in each epoch.
  std::unique_ptr<BatchSource> batches(std::vector<SegmentWindow> windows, std::vector<Index> ends, Index batch,
                                       std::uint64_t seed) const;
  /// A reader of all windows in their order.
  std::unique_ptr<BatchReader> reader(std::span<const SegmentWindow> windows, std::span<const Index> ends,
                                      Index batch) const;

 private:
  SegmentShape shape_;
  std::vector<std::vector<float>> values_;  // divided by the scale; NaN: missing
  std::vector<std::vector<float>> filled_;  // the same, interpolated
  std::vector<double> scales_, means_;
  std::vector<Index> embeddings_;
};

}  // namespace unfold::forecasting
