#pragma once
/// Surprisal of the values that the placeholders of a log represent, such as an address, a user or a number of bytes.
///
/// Let m be the number of values observed for one rule, d the number of distinct ones, and n(c) the number of
/// observations whose value was seen at most c times. The surprisal of a value seen c times is the negative log
/// probability of a value that is at most as common:
///
///   surprise = - log2 [ (d + n(c)) / (m + d) ].
///
/// d / (m + d) is the Witten-Bell estimate of the probability of a new value. If every value is new, as for timestamps,
/// the surprisal is at most 1 bit. A new host among a few recurring ones has a high surprisal. Without observations, it
/// is 0 bits.

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "data/logs/log_lines.h"

namespace unfold {

class LogValues {
 public:
  /// Counts an observed value of a rule.
  void count(const MaskedValue& value);
  /// Returns the surprisal in nats. Call it before counting the value itself.
  double surprise(const MaskedValue& value) const;

  /// Stores, for each rule, m, d and the kMostKept most frequent of the values seen at least twice. After loading, all
  /// other values count as seen once.
  nlohmann::json to_json() const;
  /// Throws ModelError for JSON that `to_json` cannot have produced.
  static LogValues from_json(const nlohmann::json& json);

  static constexpr std::size_t kMostKept = 1000;

 private:
  /// The observed values of one rule.
  struct Places {
    Index seen = 0, different = 0;
    std::map<std::string, Index, std::less<>> counts = {};
    std::map<Index, Index> by_count = {};  ///< number of observations, keyed by the count of their value
    void add(std::string_view value);
    void forget_rare();
  };
  std::map<std::string, Places, std::less<>> places_;
};

}  // namespace unfold
