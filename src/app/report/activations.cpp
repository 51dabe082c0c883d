#include "app/report/activations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "app/plots/plot.h"

namespace unfold {
namespace {

constexpr std::size_t kNeurons = 48;  // maximum number of units over all layers

}  // namespace

void add_lags(PageSection& section, const std::string& unit, const std::vector<ChartSeries>& norms,
              const std::string& over, bool estimated) {
  section.blocks.push_back(chart_block("Gradient by lag", {unit, true}, {"norm", true}, norms));
  section.blocks.push_back(note_block(
      fmt::format("Mean over {}{}.", over, estimated ? "; norms are estimates with an error of about 10 %" : "")));
}

double rounded(double x, double unit) { return std::round(x / unit) * unit; }

template <class T>
Activity<T>::Activity(const Watched<T>& watched, const Gradients<T>& gradients, const ShownPlaces& places)
    : watched_(watched), gradients_(gradients), places_(places) {
  std::ranges::copy_if(places.rows, std::back_inserter(rows_), [](Index row) { return row >= 0; });
}

template <class T>
PageSection Activity<T>::neurons() const {
  PageSection section{
      .id = "neurons",
      .title = "Neurons",
      .note =
          "Select a unit: the text is colored by its activation after each symbol, blue for negative and orange for "
          "positive values. Below are the positions with the highest and lowest activations."};
  section.missing = "The network has no layer with units.";
  if (watched_.hidden().empty() || rows_.empty()) return section;
  std::map<std::string, Index> known;
  PageJson texts = PageJson::array(), symbols = PageJson::array(), units = PageJson::array();
  for (const std::string& text : places_.texts) {
    const auto [place, added] = known.emplace(text, static_cast<Index>(known.size()));
    if (added) texts.push_back(text);
    symbols.push_back(place->second);
  }
  for (const Unit& unit : liveliest()) units.push_back(unit_json(unit));
  section.blocks.push_back({{"kind", "neurons"},
                            {"words", places_.words},
                            {"texts", std::move(texts)},
                            {"symbols", std::move(symbols)},
                            {"units", std::move(units)}});
  if (const Index all = unit_count(); all > static_cast<Index>(kNeurons))
    section.blocks.push_back(
        note_block(fmt::format("The {} of {} units whose activation varies most.", kNeurons, all)));
  return section;
}

template <class T>
PageSection Activity<T>::gates() const {
  PageSection section{
      .id = "gates",
      .title = "Gates",
      .note =
          "Each dot is a unit: the fraction of positions at which its gate is open (above 0.9) and closed (below 0.1). "
          "Gates in the lower left corner are rarely saturated; gates on the diagonal are always open or closed."};
  section.missing = "The cell has no gates.";
  if (watched_.gates().empty() || rows_.empty()) return section;
  std::vector<ChartSeries> series;
  for (const Gate& gate : watched_.gates()) {
    if (series.size() == kMostCurves) break;
    series.push_back({.curve = saturation(gate), .style = "points"});
  }
  section.blocks.push_back(chart_block("Saturation", {"fraction closed"}, {"fraction open"}, series));
  return section;
}

template <class T>
Index Activity<T>::unit_count() const {
  Index all = 0;
  for (const Signal h : watched_.hidden()) all += h.size();
  return all;
}

/// Units sorted by decreasing variance.
template <class T>
std::vector<typename Activity<T>::Unit> Activity<T>::liveliest() const {
  const auto count = static_cast<double>(rows_.size());
  std::vector<Unit> units;
  for (std::size_t l = 0; l < watched_.hidden().size(); ++l) {
    const Matrix<const T> h = gradients_.value(watched_.hidden()[l]);
    for (Index i = 0; i < h.cols; ++i) {
      double sum = 0, squares = 0;
      for (const Index row : rows_) {
        const auto x = static_cast<double>(h.row(row)[i]);
        sum += x;
        squares += x * x;
      }
      const double mean = sum / count;
      units.push_back({l, i, squares / count - mean * mean});
    }
  }
  std::ranges::stable_sort(units, std::greater<>(), &Unit::variance);
  if (units.size() > kNeurons) units.resize(kNeurons);
  return units;
}

/// Activations quantized in steps of 1/127 of the largest magnitude.
template <class T>
PageJson Activity<T>::unit_json(const Unit& unit) const {
  const Matrix<const T> h = gradients_.value(watched_.hidden()[unit.layer]);
  const auto value = [&](Index row) { return static_cast<double>(h.row(row)[unit.unit]); };
  double most = 1e-9;
  for (const Index row : rows_) most = std::max(most, std::abs(value(row)));
  std::string bytes;
  constexpr double kSteps = 127;
  for (const Index row : places_.rows)
    bytes += static_cast<char>(row < 0 ? 0 : std::lround(kSteps * value(row) / most));
  return {{"name", fmt::format("layer {}, unit {}", unit.layer + 1, unit.unit + 1)},
          {"most", rounded(most, 1e-4)},
          {"values", base64(bytes)}};
}

template <class T>
Curve Activity<T>::saturation(const Gate& gate) const {
  constexpr double kClosed = 0.1, kOpen = 0.9;
  const Matrix<const T> g = gradients_.value(gate.signal);
  const auto count = static_cast<double>(rows_.size());
  Curve curve{.label = gate.name, .points = {}};
  for (Index i = 0; i < g.cols; ++i) {
    double open = 0, closed = 0;
    for (const Index row : rows_) {
      const auto x = static_cast<double>(g.row(row)[i]);
      open += x > kOpen ? 1 : 0;
      closed += x < kClosed ? 1 : 0;
    }
    const double y = open / count;
    curve.points.push_back({closed / count, {y, y, y}});
  }
  std::ranges::stable_sort(curve.points, {}, &CurvePoint::x);
  return curve;
}

template class Activity<float>;
template class Activity<double>;

}  // namespace unfold
