#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/report/report_parts.h"

namespace unfold {

void Calibration::see(double probability, bool came_true) {
  const auto bin = std::min(kBins - 1, static_cast<std::size_t>(probability * static_cast<double>(kBins)));
  sums_[bin] += probability;
  hits_[bin] += came_true ? 1 : 0;
  ++counts_[bin];
}

PageSection Calibration::section() const {
  PageSection section{.id = "calibration",
                      .title = "Calibration",
                      .note =
                          "Accuracy of the most probable label versus its predicted probability, in ten bins. On the "
                          "diagonal the model is perfectly calibrated."};
  section.missing = "The inspected data contains no predictions.";
  const Index all = std::accumulate(counts_.begin(), counts_.end(), Index{0});
  if (all == 0) return section;
  Curve found{.label = "the model", .points = {}}, ideal{.label = "ideal", .points = {}};
  double error = 0;
  for (std::size_t b = 0; b < kBins; ++b) {
    if (counts_[b] == 0) continue;
    const auto n = static_cast<double>(counts_[b]);
    const double right = hits_[b] / n;
    found.points.push_back({sums_[b] / n, {right, right, right}});
    error += n / static_cast<double>(all) * std::abs(right - sums_[b] / n);
  }
  for (const double end : {0.0, 1.0}) ideal.points.push_back({end, {end, end, end}});
  section.blocks.push_back(chart_block("Accuracy by confidence", {"probability of the top prediction"}, {"accuracy"},
                                       {{.curve = found, .style = "marked"}, {.curve = ideal, .style = "dash"}}));
  section.blocks.push_back(note_block(fmt::format(
      "{} predictions; the mean distance from the diagonal is {:.2f} percentage points.", all, 100 * error)));
  return section;
}

void Confusion::see(Symbol wanted, Symbol best) { ++counts_[{at(wanted), at(best)}]; }

PageSection Confusion::section() const {
  PageSection section{.id = "confusion",
                      .title = "Confusion",
                      .note = "Rows: observed label; columns: predicted label; shade: fraction of the row."};
  section.missing = "The inspected data contains no predictions.";
  const std::size_t n = names_.size();
  std::vector<Index> seen(n), wanted(n);
  for (const auto& [pair, count] : counts_) {
    wanted[pair.first] += count;
    seen[pair.first] += count;
    if (pair.first != pair.second) seen[pair.second] += count;
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return seen[i]; });
  constexpr std::size_t kMostShown = 30;
  order.resize(std::min(n, kMostShown));
  std::erase_if(order, [&](std::size_t i) { return seen[i] == 0; });
  if (order.empty()) return section;
  Shades shades{.title = "", .row_label = "there", .column_label = "guessed"};
  for (const std::size_t i : order) {
    shades.rows.push_back(names_[i]);
    shades.columns.push_back(names_[i]);
    const auto row = static_cast<double>(wanted[i]);
    std::vector<double> values;
    values.reserve(order.size());
    for (const std::size_t j : order) {
      const auto found = counts_.find({i, j});
      values.push_back(found != counts_.end() ? static_cast<double>(found->second) / row : 0);
    }
    shades.values.push_back(std::move(values));
  }
  section.blocks.push_back(heat_map_block(shades));
  if (n > order.size())
    section.blocks.push_back(note_block(fmt::format("The {} most frequent of {}.", order.size(), n)));
  return section;
}

}  // namespace unfold
