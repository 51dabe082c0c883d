#include "app/logs/log_value_surprisal.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/json.h"

namespace unfold {
namespace {

/// Maximum number of values stored per rule; beyond it, values seen only once are evicted.
constexpr std::size_t kMostValues = std::size_t{1} << 20;

double log_of_share(Index part, Index whole) {
  const double x[] = {static_cast<double>(part), static_cast<double>(whole)};
  double y[2];
  vector_log(x, y, 2);
  return y[0] - y[1];
}

[[noreturn]] void refuse(const std::string& rule, const char* what) {
  throw ModelError(fmt::format("the model card: log.values.{} {}", rule, what));
}

Index whole(const nlohmann::json& json, const char* key, const std::string& rule) {
  if (!json.is_object() || !json.contains(key)) refuse(rule, "is not a table of values");
  const auto number = whole_number<Index>(json[key]);
  if (!number || *number < 1 || *number > Index{1} << 52) refuse(rule, "has inconsistent counts");
  return *number;
}

}  // namespace

void LogValues::Places::add(std::string_view value) {
  ++seen;
  auto found = counts.find(value);
  if (found == counts.end()) {
    if (counts.size() >= kMostValues) forget_rare();
    found = counts.emplace(value, 0).first;
    ++different;
  }
  const Index before = found->second++;
  if (before > 0) by_count[before] -= before;
  by_count[before + 1] += before + 1;
}

void LogValues::Places::forget_rare() {
  std::erase_if(counts, [](const auto& entry) { return entry.second <= 1; });
  if (counts.size() >= kMostValues / 2) counts.clear();
}

void LogValues::count(const MaskedValue& value) {
  auto places = places_.find(value.name);
  if (places == places_.end()) places = places_.emplace(value.name, Places{}).first;
  places->second.add(value.text);
}

double LogValues::surprise(const MaskedValue& value) const {
  const auto found = places_.find(value.name);
  if (found == places_.end()) return 0;
  const Places& places = found->second;
  const auto count = places.counts.find(value.text);
  Index as_rare = places.different;
  if (count != places.counts.end())
    for (const auto& [times, here] : places.by_count) {
      if (times > count->second) break;
      as_rare += here;
    }
  return -log_of_share(as_rare, places.seen + places.different);
}

nlohmann::json LogValues::to_json() const {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [rule, places] : places_) {
    std::vector<std::pair<Index, std::string_view>> often;
    for (const auto& [text, count] : places.counts)
      if (count > 1) often.emplace_back(-count, text);
    std::ranges::sort(often);
    if (often.size() > kMostKept) often.resize(kMostKept);
    nlohmann::json& entry =
        json[rule] = {{"seen", places.seen}, {"different", places.different}, {"often", nlohmann::json::object()}};
    for (const auto& [count, text] : often) entry["often"][std::string(text)] = -count;
  }
  return json;
}

LogValues LogValues::from_json(const nlohmann::json& json) {
  LogValues values;
  if (!json.is_object()) throw ModelError("the model card: log.values is not an object");
  for (const auto& [rule, entry] : json.items()) {
    Places places{.seen = whole(entry, "seen", rule), .different = whole(entry, "different", rule)};
    if (!entry.contains("often") || !entry["often"].is_object()) refuse(rule, "has no values");
    Index rest = places.seen;
    for (const auto& item : entry["often"].items()) {
      const Index count = whole(entry["often"], item.key().c_str(), rule);
      places.counts.emplace(item.key(), count);
      places.by_count[count] += count;
      rest -= count;
    }
    if (rest < 0 || places.different > places.seen) refuse(rule, "has inconsistent counts");
    places.by_count[1] += rest;
    values.places_.emplace(rule, std::move(places));
  }
  return values;
}

}  // namespace unfold
