#pragma once
/// How rare the values are that the placeholders of a log stand for: an address, a user, a number of bytes.
///
/// With m values seen in the places of one rule, d of them different, and n(c) the places whose value was seen at most
/// c times, a value seen c times is as surprising as it is rare that one comes which is no more usual,
///
///   surprise = - log2 [ (d + n(c)) / (m + d) ].
///
/// d of m + d is the Witten-Bell estimate that a value comes which was never seen. So where every value is new, such as
/// times, none surprises (1 bit at most); a new host among few that are always the same does; without any seen, 0 bits.

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "unfold/readers/log_lines.h"

namespace unfold {

class LogValues {
 public:
  /// A value was seen in a place of its rule.
  void count(const MaskedValue& value);
  /// In nats, before the value itself is counted.
  double surprise(const MaskedValue& value) const;

  /// Of each rule: m, d, and of the values seen twice or more the kMostKept most frequent; the others count as seen
  /// once.
  nlohmann::json to_json() const;
  /// Throws ModelError for what `to_json` cannot have written.
  static LogValues from_json(const nlohmann::json& json);

  static constexpr std::size_t kMostKept = 1000;

 private:
  /// What stood in the places of one rule.
  struct Places {
    Index seen = 0, different = 0;
    std::map<std::string, Index, std::less<>> counts = {};
    std::map<Index, Index> by_count = {};  ///< places, by how often their value was seen
    void add(std::string_view value);
    void forget_rare();
  };
  std::map<std::string, Places, std::less<>> places_;
};

}  // namespace unfold
