#pragma once
/// Counts of hashed values, and the probability that a value is at most as common as a given value.
///
///   CountTable table;
///   table.add(hash_of_cell("web-1"));
///   table.rarity_nats(hash_of_cell("web-9"));
///
/// Of m observations with d different values, let n(c) be the number of observations whose value was seen at most c
/// times. A value that was seen c times has the rarity
///
///   rarity = - ln [ (d + n(c)) / (m + d) ].
///
/// d / (m + d) is the Witten-Bell estimate of the probability of a new value. If every value is new, the rarity of a
/// new value is at most ln 2. Counts above 32 are grouped into eighths of an octave, so an operation takes constant
/// time.
///
/// A table holds at most `most` values. Above this number, values that were seen once are evicted; if this frees too
/// few entries, all values are evicted.

#include <cmath>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <unordered_map>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

class CountTable {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 17;
  CountTable() = default;
  explicit CountTable(std::size_t most) : most_(most) {}

  /// Counts an observation. Returns how often the value was seen before. Without `store`, a new value is treated like
  /// an evicted value.
  Index add(std::uint64_t value, bool store = true);
  /// Returns the rarity; 0 without observations.
  double rarity_nats(std::uint64_t value) const;
  Index count(std::uint64_t value) const;
  /// Multiplies all counts by a factor from 0 to 1 and rounds them (decayed_count); values with a count of 0 are
  /// forgotten.
  void decay(double factor);
  Index seen() const { return seen_; }
  Index different() const { return different_; }
  Index evicted() const { return evicted_; }
  std::size_t size() const { return counts_.size(); }
  /// Returns the fraction of the observations that were new values.
  double novelty() const { return seen_ == 0 ? 1 : static_cast<double>(different_) / static_cast<double>(seen_); }

  /// Returns the whole table or, with `most_kept`, only the most frequent values among those that were seen at least
  /// twice; all other values then count as seen once.
  nlohmann::json to_json() const;
  nlohmann::json to_json(std::size_t most_kept, Index least_count) const;
  /// Throws ModelError for JSON that `to_json` cannot have produced.
  static CountTable from_json(const nlohmann::json& json, std::size_t most = kMost);

 private:
  void make_room();
  void move_mass(Index count_before);

  std::size_t most_ = kMost;
  Index seen_ = 0, different_ = 0, evicted_ = 0;
  std::unordered_map<std::uint64_t, Index> counts_;
  std::vector<Index> mass_;  // number of observations, by the group of the count of their value
};

/// Returns the nearest integer to factor * count.
inline Index decayed_count(Index count, double factor) { return std::llround(factor * static_cast<double>(count)); }

/// Returns the group of a count: exact below 32, then eighths of an octave.
std::size_t count_group(Index count);

}  // namespace unfold
