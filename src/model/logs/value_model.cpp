#include "model/logs/value_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "model/logs/log_json.h"
#include "model/logs/log_math.h"

namespace unfold {
namespace {

constexpr int kGroupsPerOctave = 8;
/// The rarity in bits of a number at the end of the range, and of a number far outside it.
constexpr double kMostWithin = 5, kMostBeyond = 12, kBitsOfOctave = 2;
/// One in this many numbers may lie beyond each end of the usual range, so that outliers do not hide later ones.
constexpr Index kNumbersPerOutlier = 500;
constexpr std::size_t kMostGroups = 4096, kMostExamples = 12, kLongestExample = 60, kKeptValues = 400,
                      kKeptPlaces = 4000;
constexpr std::size_t kMostKeptValues = 200000;

/// Groups of |x| < 2^-20 are 0.
int number_group(double x) {
  const double size = std::fabs(x);
  if (size < 0x1p-20) return 0;
  int exponent = 0;
  const double fraction = std::frexp(size, &exponent);  // in [0.5, 1)
  const int group = (exponent + 20) * kGroupsPerOctave + static_cast<int>((fraction - 0.5) * 2 * kGroupsPerOctave) + 1;
  return x < 0 ? -group : group;
}

/// Returns the beginning of a text, without an incomplete character at its end.
std::string example_of(std::string_view text) {
  std::size_t size = std::min(text.size(), kLongestExample);
  while (size > 0 && size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return std::string(text.substr(0, size));
}

}  // namespace

void NumberCounts::add(double number) {
  low_ = seen_ == 0 ? number : std::min(low_, number);
  high_ = seen_ == 0 ? number : std::max(high_, number);
  ++seen_;
  const int group = number_group(number);
  if (groups_.size() < kMostGroups || groups_.contains(group)) ++groups_[group];
}

double NumberCounts::rarity_bits(double number) const {
  if (seen_ == 0) return 0;
  const int group = number_group(number);
  Index below = 0, here = 0;
  for (const auto& [at, count] : groups_) {
    if (at > group) break;
    (at == group ? here : below) += count;
  }
  const Index least = std::min(below + here, seen_ - below);
  const double bits = log2_of(static_cast<double>(seen_ + 2) / static_cast<double>(2 * (least + 1)));
  const auto [low, high] = usual_range();
  const double distance = static_cast<double>(std::max({0, group - high, low - group})) / kGroupsPerOctave;
  return std::clamp(bits, 0.0, kMostWithin) + std::min(kMostBeyond, kBitsOfOctave * distance);
}

std::pair<int, int> NumberCounts::usual_range() const {
  const Index left_out = seen_ / kNumbersPerOutlier;
  if (left_out == 0) return {number_group(low_), number_group(high_)};
  const auto first_group = [&](auto at, auto end) {
    for (Index count = 0; at != end; ++at)
      if ((count += at->second) > left_out) return at->first;
    return 0;
  };
  return {first_group(groups_.begin(), groups_.end()), first_group(groups_.rbegin(), groups_.rend())};
}

void NumberCounts::decay(double factor) {
  seen_ = 0;
  for (auto& [group, count] : groups_) seen_ += count = decayed_count(count, factor);
  std::erase_if(groups_, [](const auto& entry) { return entry.second == 0; });
}

nlohmann::json NumberCounts::to_json() const {
  nlohmann::json groups = nlohmann::json::array(), counts = nlohmann::json::array();
  for (const auto& [group, count] : groups_) {
    groups.push_back(group);
    counts.push_back(count);
  }
  return {{"groups", groups}, {"counts", counts}, {"seen", seen_}, {"low", low_}, {"high", high_}};
}

NumberCounts NumberCounts::from_json(const nlohmann::json& json) {
  NumberCounts numbers;
  numbers.seen_ = log_count(json, "seen");
  numbers.low_ = log_number(json, "low");
  numbers.high_ = log_number(json, "high");
  const std::vector<Index> counts = log_counts(json, "counts");
  const std::vector<double> groups = log_numbers(json, "groups");
  if (groups.size() != counts.size() || groups.size() > kMostGroups) refuse_log_model("the numbers are inconsistent");
  for (std::size_t i = 0; i < counts.size(); ++i)
    numbers.groups_[static_cast<int>(std::clamp(groups[i], -1e6, 1e6))] = counts[i];
  return numbers;
}

const LogValueModel::Place* LogValueModel::place_of(const LogEventValue& value) const {
  const auto found = places_.find(value.label);
  return found == places_.end() ? nullptr : &found->second;
}

double LogValueModel::raw_bits(const Place& place, const LogEventValue& value) {
  double nats = place.exact.rarity_nats(value.hash);
  if (value.pattern) nats = std::max(nats, place.patterns.rarity_nats(*value.pattern));
  const double bits = nats / kNatsPerBit;
  return value.number ? std::max(bits, place.numbers.rarity_bits(*value.number)) : bits;
}

double LogValueModel::calibrated_bits(const Place& place, double bits) {
  const auto level = static_cast<std::size_t>(std::clamp(bits, 0.0, static_cast<double>(kExceedances - 1)));
  const Index reached = place.exceeded[level];
  const double share = log2_of(static_cast<double>(place.scored + 1) / static_cast<double>(reached + 1));
  // If the rarity exceeds all earlier rarities, a single count is no evidence against it.
  return reached <= 1 ? bits : std::min(bits, share);
}

LogValueScore LogValueModel::score(const LogEvent& event) const {
  LogValueScore worst;
  for (const LogEventValue& value : event.values) {
    const Place* place = place_of(value);
    if (place == nullptr) continue;
    const double bits = calibrated_bits(*place, raw_bits(*place, value));
    if (worst.value == nullptr || bits > worst.bits) worst = {bits, &value};
  }
  return worst;
}

void LogValueModel::add(const LogEvent& event) {
  for (const LogEventValue& value : event.values) {
    auto found = places_.find(value.label);
    if (found == places_.end()) {
      if (places_.size() >= kMostPlaces) {
        ++dropped_;
        continue;
      }
      found = places_.emplace(value.label, Place{}).first;
    }
    Place& place = found->second;
    const double bits = std::clamp(raw_bits(place, value), 0.0, static_cast<double>(kExceedances - 1));
    for (std::size_t i = 0; i <= static_cast<std::size_t>(bits); ++i) ++place.exceeded[i];
    ++place.scored;
    const std::size_t before = place.exact.size() + place.patterns.size();
    const bool store = values_ < kMostValues;
    if (place.exact.add(value.hash, store) == 0 && place.examples.size() < kMostExamples)
      place.examples.emplace_back(example_of(value.text), value.hash);
    if (value.pattern) place.patterns.add(*value.pattern, store);
    if (value.number) place.numbers.add(*value.number);
    values_ = values_ - before + place.exact.size() + place.patterns.size();
  }
}

void LogValueModel::decay(double factor) {
  values_ = 0;
  for (auto& entry : places_) {
    Place& place = entry.second;
    place.exact.decay(factor);
    place.patterns.decay(factor);
    place.numbers.decay(factor);
    place.scored = decayed_count(place.scored, factor);
    for (Index& count : place.exceeded) count = decayed_count(count, factor);
    std::erase_if(place.examples, [&](const auto& example) { return place.exact.count(example.second) == 0; });
    values_ += place.exact.size() + place.patterns.size();
  }
}

bool LogValueModel::is_category(const LogEventValue& value) const {
  const Place* place = place_of(value);
  return place != nullptr && place->exact.different() <= 64 && place->exact.novelty() < 0.05;
}

std::string LogValueModel::expected(const LogEventValue& value) const {
  const Place* place = place_of(value);
  if (place == nullptr) return {};
  if (value.number && !is_category(value))
    return fmt::format("{:g} to {:g}", place->numbers.low(), place->numbers.high());
  std::vector<std::pair<Index, std::string_view>> common;
  for (const auto& [text, hash] : place->examples)
    if (const Index count = place->exact.count(hash); count > 1) common.emplace_back(-count, text);
  std::ranges::sort(common);
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(common.size(), 3); ++i)
    text += fmt::format("{}{} ({:.0f} %)", i > 0 ? ", " : "", escape_value(std::string(common[i].second)),
                        100.0 * static_cast<double>(-common[i].first) / static_cast<double>(place->exact.seen()));
  return text;
}

nlohmann::json LogValueModel::to_json(bool whole) const {
  std::vector<std::pair<std::uint64_t, const Place*>> sorted;
  for (const auto& [label, place] : places_) sorted.emplace_back(label, &place);
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    return std::pair(-a.second->scored, a.first) < std::pair(-b.second->scored, b.first);
  });
  if (!whole && sorted.size() > kKeptPlaces) sorted.resize(kKeptPlaces);
  const std::size_t kept = std::min(kKeptValues, kMostKeptValues / std::max<std::size_t>(1, sorted.size()));
  nlohmann::json places = nlohmann::json::array();
  for (const auto& [label, place] : sorted) {
    const auto table = [&](const CountTable& counts) { return whole ? counts.to_json() : counts.to_json(kept, 2); };
    nlohmann::json texts = nlohmann::json::array(), hashes = nlohmann::json::array();
    for (const auto& [text, hash] : place->examples) {
      if (!whole && place->exact.count(hash) <= 1) continue;
      texts.push_back(text);
      hashes.push_back(hash);
    }
    std::size_t levels = kExceedances;
    while (levels > 0 && place->exceeded[levels - 1] == 0) --levels;
    const std::vector<Index> exceeded(place->exceeded.begin(),
                                      place->exceeded.begin() + static_cast<std::ptrdiff_t>(levels));
    places.push_back({{"label", label},
                      {"exact", table(place->exact)},
                      {"patterns", table(place->patterns)},
                      {"numbers", place->numbers.to_json()},
                      {"scored", place->scored},
                      {"exceeded", exceeded},
                      {"texts", texts},
                      {"hashes", hashes}});
  }
  return {{"places", places}, {"dropped", dropped_}};
}

LogValueModel LogValueModel::from_json(const nlohmann::json& json) {
  LogValueModel model;
  model.dropped_ = log_count(json, "dropped");
  const nlohmann::json& places = log_list(json, "places");
  if (places.size() > kMostPlaces) refuse_log_model("there are too many positions with values");
  for (const nlohmann::json& entry : places) {
    const nlohmann::json& label = log_part(entry, "label");
    if (!label.is_number_unsigned()) refuse_log_model("a position has no label");
    Place place{.exact = CountTable::from_json(log_part(entry, "exact")),
                .patterns = CountTable::from_json(log_part(entry, "patterns")),
                .numbers = NumberCounts::from_json(log_part(entry, "numbers")),
                .scored = log_count(entry, "scored")};
    const std::vector<Index> exceeded = log_counts(entry, "exceeded");
    if (exceeded.size() > kExceedances) refuse_log_model("the values are inconsistent");
    std::ranges::copy(exceeded, place.exceeded.begin());
    const nlohmann::json& texts = log_list(entry, "texts");
    const std::vector<std::uint64_t> hashes = log_hashes(entry, "hashes");
    if (texts.size() != hashes.size() || hashes.size() > kMostExamples)
      refuse_log_model("the examples are inconsistent");
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      if (!texts[i].is_string()) refuse_log_model("the examples are inconsistent");
      place.examples.emplace_back(texts[i].get<std::string>(), hashes[i]);
    }
    model.values_ += place.exact.size() + place.patterns.size();
    model.places_.emplace(label.get<std::uint64_t>(), std::move(place));
  }
  return model;
}

}  // namespace unfold
