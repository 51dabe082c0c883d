#include "app/plots/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace unfold {
namespace {

constexpr std::size_t kMostMeans = 512;
constexpr std::array<const char*, 8> kHeights = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

}  // namespace

void Sparkline::add(double value) {
  if (!std::isfinite(value)) return;
  open_sum_ += value;
  if (++open_count_ < each_) return;
  means_.push_back(open_sum_ / static_cast<double>(open_count_));
  open_sum_ = 0;
  open_count_ = 0;
  if (means_.size() < kMostMeans) return;
  for (std::size_t i = 0; i < kMostMeans / 2; ++i) means_[i] = (means_[2 * i] + means_[2 * i + 1]) / 2;
  means_.resize(kMostMeans / 2);
  each_ *= 2;
}

std::string Sparkline::text(std::size_t cells) const {
  cells = std::min(cells, means_.size());
  std::vector<double> heights;
  for (std::size_t i = 0; i < cells; ++i) {
    const std::size_t begin = means_.size() * i / cells, end = means_.size() * (i + 1) / cells;
    double sum = 0;
    for (std::size_t k = begin; k < end; ++k) sum += means_[k];
    heights.push_back(sum / static_cast<double>(end - begin));
  }
  if (heights.empty()) return {};
  const auto [low, high] = std::ranges::minmax_element(heights);
  const double range = *high - *low;
  std::string text;
  for (const double height : heights) {
    const double share = range > 0 ? (height - *low) / range : 0;
    text += kHeights[std::min(kHeights.size() - 1, static_cast<std::size_t>(share * kHeights.size()))];
  }
  return text;
}

}  // namespace unfold
