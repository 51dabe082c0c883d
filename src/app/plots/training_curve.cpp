#include "app/plots/training_curve.h"
#include "base/formats/trusted_json.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace unfold {

std::vector<std::pair<double, double>> read_log_curve(const std::string& path, const std::string& event,
                                                      const std::string& x, const std::string& y) {
  std::vector<std::pair<double, double>> points;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const nlohmann::ordered_json entry = try_parse_trusted_json(line);
    if (!entry.is_object() || text_under(entry, "event") != event) continue;
    const auto at = entry.find(x), value = entry.find(y);
    if (at == entry.end() || value == entry.end() || !at->is_number() || !value->is_number()) continue;
    points.emplace_back(at->get<double>(), value->get<double>());
  }
  return points;
}

namespace {

using Points = std::vector<std::pair<double, double>>;

/// Linear interpolation between points, constant after the last one. REQUIRES that `place` is not before the first
/// point.
double value_at(const Points& run, double place) {
  const auto after = std::ranges::find_if(run, [&](const auto& p) { return p.first > place; });
  const auto [x0, y0] = *(after - 1);
  if (after == run.end() || !(after->first > x0)) return y0;
  return y0 + (after->second - y0) * (place - x0) / (after->first - x0);
}

}  // namespace

std::vector<CurvePoint> join_curves(const std::vector<Points>& runs) {
  std::set<double> places;
  std::vector<double> begins;
  for (const Points& run : runs) {
    if (!run.empty()) begins.push_back(run.front().first);
    for (const auto& [x, y] : run) places.insert(x);
  }
  if (begins.empty()) return {};
  // The median jumps where a run begins, so the joined curve begins after all runs except late ones have begun.
  std::ranges::sort(begins);
  const double late = 2 * begins[begins.size() / 2];
  const auto waits = [&](double x) { return x <= late || x == begins.front(); };
  const double begin = *std::find_if(begins.rbegin(), begins.rend(), waits);
  std::vector<CurvePoint> result;
  for (auto place = places.lower_bound(begin); place != places.end(); ++place) {
    std::vector<double> there;
    for (const Points& run : runs)
      if (!run.empty() && run.front().first <= *place) there.push_back(value_at(run, *place));
    result.push_back({*place, quartiles(there)});
  }
  return result;
}

}  // namespace unfold
