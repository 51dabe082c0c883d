#include "model/logs/count_table.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "model/logs/log_json.h"
#include "model/logs/log_math.h"

namespace unfold {
namespace {

constexpr Index kExactCounts = 32;
constexpr std::size_t kGroups = kExactCounts + 8 * 48;

}  // namespace

std::size_t count_group(Index count) {
  if (count < kExactCounts) return static_cast<std::size_t>(std::max<Index>(count, 0));
  const auto wide = static_cast<std::uint64_t>(count);
  const int octave = 63 - std::countl_zero(wide);
  const std::size_t eighth = (wide >> (octave - 3)) & 7;
  return std::min(static_cast<std::size_t>(kExactCounts) + 8 * static_cast<std::size_t>(octave - 5) + eighth,
                  kGroups - 1);
}

void CountTable::move_mass(Index before) {
  const std::size_t from = count_group(before), to = count_group(before + 1);
  if (to >= mass_.size()) mass_.resize(to + 1);
  if (before > 0) mass_[from] -= before;
  mass_[to] += before + 1;
}

Index CountTable::add(std::uint64_t value, bool store) {
  ++seen_;
  auto found = counts_.find(value);
  if (found == counts_.end() && !store) {
    ++different_;
    ++evicted_;
    move_mass(0);
    return 0;
  }
  if (found == counts_.end()) {
    if (counts_.size() >= most_) make_room();
    found = counts_.emplace(value, 0).first;
    ++different_;
  }
  const Index before = found->second++;
  move_mass(before);
  return before;
}

/// The mass of evicted values remains with the rare values.
void CountTable::make_room() {
  const std::size_t size = counts_.size();
  std::erase_if(counts_, [](const auto& entry) { return entry.second <= 1; });
  if (counts_.size() > most_ / 2) counts_.clear();
  evicted_ += static_cast<Index>(size - counts_.size());
}

void CountTable::decay(double factor) {
  // Values that are counted but no longer stored were seen once or a few times.
  Index stored = 0;
  for (const auto& [value, count] : counts_) stored += count;
  const Index others = decayed_count(different_ - static_cast<Index>(counts_.size()), factor);
  const Index others_seen = std::max(others, decayed_count(seen_ - stored, factor));
  seen_ = others > 0 ? others_seen : 0;
  different_ = others;
  mass_.assign(2, 0);
  mass_[1] = seen_;
  for (auto entry = counts_.begin(); entry != counts_.end();) {
    entry->second = decayed_count(entry->second, factor);
    if (entry->second == 0) {
      entry = counts_.erase(entry);
      continue;
    }
    const std::size_t group = count_group(entry->second);
    if (group >= mass_.size()) mass_.resize(group + 1);
    mass_[group] += entry->second;
    seen_ += entry->second;
    ++different_;
    ++entry;
  }
}

Index CountTable::count(std::uint64_t value) const {
  const auto found = counts_.find(value);
  return found == counts_.end() ? 0 : found->second;
}

double CountTable::rarity_nats(std::uint64_t value) const {
  if (seen_ == 0) return 0;
  Index as_rare = different_;
  if (const Index times = count(value); times > 0) {
    const std::size_t last = std::min(count_group(times) + 1, mass_.size());
    for (std::size_t i = 0; i < last; ++i) as_rare += mass_[i];
  }
  return log_ratio(seen_ + different_, as_rare);
}

nlohmann::json CountTable::to_json() const { return to_json(most_, 1); }

nlohmann::json CountTable::to_json(std::size_t most_kept, Index least_count) const {
  std::vector<std::pair<Index, std::uint64_t>> kept;
  for (const auto& [value, count] : counts_)
    if (count >= least_count) kept.emplace_back(-count, value);
  std::ranges::sort(kept);
  if (kept.size() > most_kept) kept.resize(most_kept);
  std::vector<std::uint64_t> values;
  std::vector<Index> counts;
  for (const auto& [count, value] : kept) {
    values.push_back(value);
    counts.push_back(-count);
  }
  nlohmann::json json = {{"seen", seen_}, {"different", different_}, {"values", values}, {"counts", counts}};
  if (least_count <= 1) {
    json["mass"] = mass_;
    json["evicted"] = evicted_;
  }
  return json;
}

CountTable CountTable::from_json(const nlohmann::json& json, std::size_t most) {
  CountTable table(most);
  table.seen_ = log_count(json, "seen");
  table.different_ = log_count(json, "different");
  const std::vector<Index> counts = log_counts(json, "counts");
  const std::vector<std::uint64_t> values = log_hashes(json, "values");
  if (counts.size() != values.size() || counts.size() > most || table.different_ > table.seen_)
    refuse_log_model("the counts are inconsistent");
  Index rest = table.seen_;
  table.mass_.resize(2);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < 1 || counts[i] > rest || !table.counts_.emplace(values[i], counts[i]).second)
      refuse_log_model("the counts are inconsistent");
    rest -= counts[i];
    const std::size_t group = count_group(counts[i]);
    if (group >= table.mass_.size()) table.mass_.resize(group + 1);
    table.mass_[group] += counts[i];
  }
  table.mass_[1] += rest;
  if (json.contains("mass")) {
    table.mass_ = log_counts(json, "mass");
    table.evicted_ = log_count(json, "evicted");
    if (table.mass_.size() > kGroups) refuse_log_model("the counts are inconsistent");
  }
  return table;
}

}  // namespace unfold
