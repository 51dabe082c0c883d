#include "unfold/report/log_curve.h"

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
    const nlohmann::json entry = nlohmann::json::parse(line, nullptr, false);
    if (!entry.is_object() || entry.value("event", "") != event) continue;
    const auto at = entry.find(x), value = entry.find(y);
    if (at == entry.end() || value == entry.end() || !at->is_number() || !value->is_number()) continue;
    points.emplace_back(at->get<double>(), value->get<double>());
  }
  return points;
}

std::vector<CurvePoint> join_curves(const std::vector<std::vector<std::pair<double, double>>>& runs) {
  std::set<double> places;
  for (const auto& run : runs)
    for (const auto& [x, y] : run) places.insert(x);
  std::vector<CurvePoint> result;
  for (const double place : places) {
    std::vector<double> reached;
    for (const auto& run : runs) {
      const auto after = std::find_if(run.begin(), run.end(), [&](const auto& p) { return p.first > place; });
      if (after != run.begin()) reached.push_back((after - 1)->second);
    }
    if (!reached.empty()) result.push_back({place, quartiles(reached)});
  }
  return result;
}

}  // namespace unfold
