#include "model/forecast/segments/segment_windows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/forecast/series.h"
#include "unfold/base/checks.h"
#include "unfold/numerics/random.h"

namespace unfold::forecasting {
namespace {

/// Batches in a random order that depends on the seed and the epoch.
class ShuffledWindows final : public BatchSource {
 public:
  ShuffledWindows(const SegmentPool& pool, std::vector<SegmentWindow> windows, std::vector<Index> ends, Index batch,
                  std::uint64_t seed)
      : pool_(pool), windows_(std::move(windows)), ends_(std::move(ends)), size_(batch), seed_(seed) {
    seek(0, 0);
  }
  const Batch& batch() const override { return batch_; }
  void advance() override {
    if (position_ + 1 < batches())
      seek(epoch_, position_ + 1);
    else
      seek(epoch_ + 1, 0);
  }
  void seek(Index epoch, Index batch) override {
    if (epoch != shuffled_) shuffle(epoch);
    epoch_ = epoch, position_ = batch;
    const Index count = static_cast<Index>(windows_.size());
    const Index begin = batch * size_, end = std::min(count, begin + size_);
    chosen_.clear();
    for (Index i = begin; i < end; ++i) chosen_.push_back(windows_[at(order_[at(i)])]);
    pool_.fill(chosen_, ends_, 0, batch_);
  }
  Index epoch() const override { return epoch_; }
  Index position() const override { return position_; }
  double epochs_done() const override {
    return static_cast<double>(epoch_) + static_cast<double>(position_) / static_cast<double>(batches());
  }
  Index streams() const override { return std::min(size_, static_cast<Index>(windows_.size())); }
  bool shortened() const override { return false; }

 private:
  Index batches() const { return (static_cast<Index>(windows_.size()) + size_ - 1) / size_; }
  void shuffle(Index epoch) {
    order_.resize(windows_.size());
    std::iota(order_.begin(), order_.end(), Index{0});
    Random random(seed_, "segments/order/" + std::to_string(epoch));
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.below(i)]);
    shuffled_ = epoch;
  }

  const SegmentPool& pool_;
  std::vector<SegmentWindow> windows_, chosen_;
  std::vector<Index> ends_, order_;
  Index size_, epoch_ = 0, position_ = 0, shuffled_ = -1;
  std::uint64_t seed_;
  Batch batch_;
};

class AllWindows final : public BatchReader {
 public:
  AllWindows(const SegmentPool& pool, std::span<const SegmentWindow> windows, std::span<const Index> ends, Index batch)
      : pool_(pool), windows_(windows), ends_(ends), size_(batch) {}
  bool next(Batch& batch) override {
    if (begin_ >= static_cast<Index>(windows_.size())) return false;
    const Index count = std::min(size_, static_cast<Index>(windows_.size()) - begin_);
    pool_.fill(windows_.subspan(at(begin_), at(count)), ends_, begin_, batch);
    begin_ += count;
    return true;
  }

 private:
  const SegmentPool& pool_;
  std::span<const SegmentWindow> windows_;
  std::span<const Index> ends_;
  Index size_, begin_ = 0;
};

double deviation_of(std::span<const double> values) {
  double sum = 0, squares = 0, count = 0;
  for (const double x : values)
    if (!std::isnan(x)) sum += x, ++count;
  const double mean = count > 0 ? sum / count : 0;
  for (const double x : values)
    if (!std::isnan(x)) squares += (x - mean) * (x - mean);
  const double deviation = count > 0 ? std::sqrt(squares / count) : 0;
  return deviation > 0 && std::isfinite(deviation) ? deviation : 1;
}

}  // namespace

SegmentPool::SegmentPool(const SegmentShape& shape, std::span<const std::vector<double>> series,
                         std::span<const Index> ends)
    : shape_(shape) {
  for (std::size_t s = 0; s < series.size(); ++s) {
    const std::vector<double>& y = series[s];
    const std::span<const double> known = std::span(y).first(std::min(y.size(), at(ends[s])));
    const double scale = deviation_of(known);
    double mean = 0;  // subtracted because float has too few digits otherwise
    for (const double x : known)
      if (!std::isnan(x)) {
        mean = x;
        break;
      }
    scales_.push_back(scale), means_.push_back(mean);
    embeddings_.push_back(static_cast<Index>(s) < shape_.series ? static_cast<Index>(s) : -1);
    const bool observed = std::ranges::any_of(y, [](double x) { return !std::isnan(x); });
    const std::vector<double> filled = observed ? interpolate_missing(y) : std::vector<double>(y.size(), 0);
    std::vector<float>& values = values_.emplace_back();
    std::vector<float>& complete = filled_.emplace_back();
    for (std::size_t t = 0; t < y.size(); ++t) {
      values.push_back(static_cast<float>((y[t] - mean) / scale));
      complete.push_back(static_cast<float>((filled[t] - mean) / scale));
    }
  }
}

void SegmentPool::set_embeddings(std::vector<Index> embeddings) {
  require_length("segments: the embeddings of the series", static_cast<Index>(embeddings.size()), series());
  for (const Index one : embeddings) require_index("segments: an embedding", one + 1, shape_.series + 1);
  embeddings_ = std::move(embeddings);
}

double SegmentPool::value_of(const SegmentWindow& window, double output) const {
  const std::size_t s = at(window.series);
  return (output + static_cast<double>(filled_[s][at(window.origin - 1)])) * scales_[s] + means_[s];
}

void SegmentPool::add_windows(Index series, Index first, Index end, std::vector<SegmentWindow>& windows) const {
  for (Index origin = std::max(first, shape_.window); origin < std::min(end, length(series) + 1); ++origin)
    windows.push_back({series, origin});
}

void SegmentPool::fill(std::span<const SegmentWindow> windows, std::span<const Index> ends, Index first_place,
                       Batch& batch) const {
  const Index count = static_cast<Index>(windows.size()), nodes = shape_.nodes(), w = shape_.segment;
  if (batch.structure.kind() != Structure::Kind::trees || batch.structure.sequences() != count ||
      batch.structure.positions() != count * nodes) {
    batch.structure = Structure::trees(std::vector<Tree>(at(count), shape_.tree()));
    batch.reset_all_chains();
  }
  const Index rows = batch.structure.positions();
  ValueRows& values = batch.value_field(kSegmentValues);
  ValueRows& targets = batch.value_field(kSegmentTarget);
  SymbolRows& places = batch.symbol_field(kSegmentPlace);
  SymbolRows& series = batch.symbol_field(kSegmentSeries);
  values.clear(rows, w), targets.clear(rows, w), places.clear(rows), series.clear(rows);
  batch.passages.resize(at(count)), batch.places.resize(at(count));
  batch.predicted = 0, batch.symbols = count * shape_.predicted();
  for (Index i = 0; i < count; ++i) {
    const SegmentWindow& window = windows[at(i)];
    batch.passages[at(i)] = first_place + i, batch.places[at(i)] = (first_place + i) * nodes;
    const std::vector<float>& filled = filled_[at(window.series)];
    const std::vector<float>& observed = values_[at(window.series)];
    const float last = filled[at(window.origin - 1)];
    for (Index node = 0; node < shape_.read(); ++node) {
      const Index row = batch.structure.row(i, node), begin = window.origin - shape_.window + node * w;
      for (Index j = 0; j < w; ++j) values.set(row, j, filled[at(begin + j)] - last);
    }
    const Index end = ends.empty() ? static_cast<Index>(observed.size()) : ends[at(window.series)];
    for (Index k = 0; k < shape_.predicted(); ++k) {
      const Index row = batch.structure.row(i, shape_.read() + k);
      places.symbols[at(row)] = static_cast<Symbol>(k);
      if (const Index own = embeddings_[at(window.series)]; own >= 0)
        series.symbols[at(row)] = static_cast<Symbol>(own);
      const auto is_target = [&](Index j) {
        const Index h = k * w + j, t = window.origin + h;
        return h < shape_.horizon && t < end && !std::isnan(observed[at(t)]);
      };
      bool any = false;
      for (Index j = 0; j < w && !any; ++j) any = is_target(j);
      if (!any) continue;
      ++batch.predicted;
      for (Index j = 0; j < w; ++j)
        targets.set(row, j, is_target(j) ? observed[at(window.origin + k * w + j)] - last : std::nanf(""));
    }
  }
}

std::unique_ptr<BatchSource> SegmentPool::batches(std::vector<SegmentWindow> windows, std::vector<Index> ends,
                                                  Index batch, std::uint64_t seed) const {
  return std::make_unique<ShuffledWindows>(*this, std::move(windows), std::move(ends), batch, seed);
}

std::unique_ptr<BatchReader> SegmentPool::reader(std::span<const SegmentWindow> windows, std::span<const Index> ends,
                                                 Index batch) const {
  return std::make_unique<AllWindows>(*this, windows, ends, batch);
}

}  // namespace unfold::forecasting
