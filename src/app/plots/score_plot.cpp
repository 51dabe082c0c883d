#include "app/plots/score_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/plots/plot.h"
#include "app/plots/roc.h"

namespace unfold {
namespace {

/// Number of plotted points, one per column of the picture.
constexpr std::size_t kStretches = 400;

CurvePoint point_of(double x, double y) { return {.x = x, .y = {y, y, y}}; }

/// For each segment of lines with at least one finite score: the number of its middle line, and a summary of these
/// scores.
template <class Counts, class Summary>
Curve summed_up(std::string label, std::span<const double> scores, const Counts& counts, const Summary& summary) {
  Curve curve{.label = std::move(label), .points = {}};
  const std::size_t stretches = std::min(kStretches, scores.size());
  for (std::size_t i = 0; i < stretches; ++i) {
    const std::size_t begin = scores.size() * i / stretches, end = scores.size() * (i + 1) / stretches;
    std::vector<double> some;
    for (std::size_t k = begin; k < end; ++k)
      if (counts(k) && std::isfinite(scores[k])) some.push_back(scores[k]);
    if (!some.empty()) curve.points.push_back({.x = static_cast<double>(begin + 1 + end) / 2, .y = summary(some)});
  }
  return curve;
}

std::string course_of(const std::string& title, const std::string& score, std::span<const double> scores,
                      const std::vector<bool>& anomalous) {
  const auto all = [](std::size_t) { return true; };
  const auto largest = [](const std::vector<double>& some) {
    const double top = *std::ranges::max_element(some);
    return Quartiles{top, top, top};
  };
  std::vector<Curve> curves;
  if (scores.size() > kStretches) curves.push_back(summed_up("median, quartiles", scores, all, quartiles));
  const char* what = scores.size() > kStretches ? "largest" : "line";
  if (anomalous.empty()) {
    curves.push_back(summed_up(what, scores, all, largest));
  } else {
    curves.push_back(summed_up(
        fmt::format("{}, normal", what), scores, [&](std::size_t i) { return !anomalous[i]; }, largest));
    curves.push_back(summed_up(
        fmt::format("{}, anomalous", what), scores, [&](std::size_t i) { return anomalous[i]; }, largest));
  }
  const bool states_unit = score.find("bits") != std::string::npos;
  return line_plot(title, {.label = "line number"}, {.label = states_unit ? score : score + ", bits"}, curves);
}

std::string roc_of(const std::string& score, std::span<const double> scores, const std::vector<bool>& anomalous) {
  const Roc found = roc(scores, anomalous);
  Curve curve{.label = fmt::format("area {:.4f}", found.area), .points = {}};
  const std::size_t every = std::max<std::size_t>(1, found.curve.size() / (4 * kStretches));
  for (std::size_t i = 0; i < found.curve.size(); i += every)
    curve.points.push_back(point_of(found.curve[i].false_positive_rate, found.curve[i].true_positive_rate));
  curve.points.push_back(point_of(1, 1));
  const Curve chance{.label = "chance", .points = {point_of(0, 0), point_of(1, 1)}};
  return line_plot(fmt::format("ROC by {}", score), {.label = "false positive rate"}, {.label = "true positive rate"},
                   {curve, chance});
}

}  // namespace

std::string score_plot(const std::string& title, const std::string& score, std::span<const double> scores,
                       const std::vector<bool>& anomalous) {
  std::string course = course_of(title, score, scores, anomalous);
  const auto found = std::ranges::count(anomalous, true);
  if (found == 0 || found == static_cast<std::ptrdiff_t>(anomalous.size())) return course;
  return stacked_plots({course, roc_of(score, scores, anomalous)});
}

}  // namespace unfold
