#pragma once
/// Rarity of the values in log lines, per position: categories by count, composite texts by count and pattern, numbers
/// by count and distribution.
///
///   LogValueModel values;
///   LogValueScore worst = values.score(event);   // before `add`
///   values.add(event);
///
/// A value has up to three rarities, each - log2 of the probability of a value that is at most as common:
///   - its count among the values of its position (count_table.h)
///   - the count of its pattern: the text without the parts that contain digits
///   - for numbers: twice the smaller of the probabilities of a number at least as large and at least as small. This
///     rarity is at most 5 bits within the usual range, plus two bits for each octave beyond it. At most 0.2 % of the
///     numbers lie beyond each end of this range.
///
/// A rarity of s bits is expected in a share 2^-s of the lines. If values of a position reach this rarity more often,
/// as with a counter that only grows, the rarity is - log2 of the share of the earlier values that reached it. All
/// operations take constant time.

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/logs/count_table.h"
#include "model/logs/log_event.h"

namespace unfold {

/// The distribution of numbers on a logarithmic scale: eight groups per octave.
class NumberCounts {
 public:
  void add(double number);
  double rarity_bits(double number) const;
  void decay(double factor);  ///< multiplies all counts and rounds them; `low` and `high` remain
  double low() const { return low_; }
  double high() const { return high_; }
  nlohmann::json to_json() const;
  static NumberCounts from_json(const nlohmann::json& json);

 private:
  std::pair<int, int> usual_range() const;  ///< its first and last group; 0 if all counts are 0

  std::map<int, Index> groups_;
  Index seen_ = 0;
  double low_ = 0, high_ = 0;
};

/// The value with the highest rarity in a line.
struct LogValueScore {
  double bits = 0;
  const LogEventValue* value = nullptr;  ///< null: the line has no values
};

class LogValueModel {
 public:
  static constexpr std::size_t kMostPlaces = 20000, kMostValues = std::size_t{1} << 22;

  LogValueScore score(const LogEvent& event) const;
  void add(const LogEvent& event);
  /// Multiplies all counts by a factor from 0 to 1 and rounds them.
  void decay(double factor);
  /// Describes the common values at the position of a value, or the range of its numbers: "200 (81 %), 404 (4 %)".
  std::string expected(const LogEventValue& value) const;
  /// Returns whether the position of a value has already occurred.
  bool knows(const LogEventValue& value) const { return place_of(value) != nullptr; }
  /// Returns whether the position has few different values, which recur.
  bool is_category(const LogEventValue& value) const;

  std::size_t places() const { return places_.size(); }
  std::size_t values() const { return values_; }
  /// Returns the number of values that were not counted, because there are too many positions.
  Index dropped() const { return dropped_; }

  /// With `whole`, returns the complete state; otherwise only the most frequent values, for a trained model.
  nlohmann::json to_json(bool whole) const;
  static LogValueModel from_json(const nlohmann::json& json);

 private:
  static constexpr std::size_t kExceedances = 32;
  struct Place {
    CountTable exact{}, patterns{};
    NumberCounts numbers{};
    Index scored = 0;
    std::array<Index, kExceedances> exceeded{};  // number of values whose rarity was at least i bits
    std::vector<std::pair<std::string, std::uint64_t>> examples{};
  };
  static double raw_bits(const Place& place, const LogEventValue& value);
  static double calibrated_bits(const Place& place, double bits);
  const Place* place_of(const LogEventValue& value) const;

  std::unordered_map<std::uint64_t, Place> places_;
  std::size_t values_ = 0;
  Index dropped_ = 0;
};

}  // namespace unfold
