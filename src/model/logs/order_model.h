#pragma once
/// Rarity of the order of events: how unusual an event is after the previous events of the same process, request or
/// thread.
///
///   LogOrderModel order(chains, role);
///   LogOrderScore worst = order.score(event);   // before `add`
///   order.add(event);
///
/// Lines belong to the same group if they have the same value of one field, the *role* (log_event.h); without a role,
/// all lines form one group. Several chains are tracked: the templates of the lines, and the values of fields with few
/// values. Let c(x) be the number of times that x followed the context h, n the number of times that h occurred
/// (including at the end of a group), and d the number of different events after h. The rarity of x is - log2 of
///
///   T(x | h) = (sum of c(z) over all z with c(z) <= c(x), unless c(x) = 0, + d T(x | h')) / (n + d),
///
/// the Witten-Bell estimate of the probability of an event that is at most as common. h consists of the last two events
/// and h' of the last event; T is 1 without a context. The first event of a group also has a context. After an event
/// with a rarity of at least kSuspect bits, the next event may also follow the event before it, whichever is more
/// common, so one misplaced event causes only one anomaly. The tables are bounded.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/logs/log_event.h"

namespace unfold {

/// Counts of the events after one context.
struct LogFollowers {
  Index visits = 0;  ///< number of times that the context occurred, including at the end of a group
  Index lines = 0, different = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> counts = {};  ///< event, count

  void add(std::uint32_t event);
  Index count(std::uint32_t event) const;
  void decay(double factor);         ///< multiplies all counts and rounds them
  Index at_most(Index count) const;  ///< number of lines whose event was seen at most `count` times
};

struct LogOrderScore {
  double bits = 0;
  std::uint64_t chain = 0;                ///< 0: templates; otherwise the label of a field
  std::uint32_t event = 0, previous = 0;  ///< the transition; `previous` is 0 for the first event of a group
  bool grouped = false;                   ///< whether the line has a value of the role
};

/// A context of events: none, the last event of the group, or the group as a whole, regardless of the order.
enum class LogOrderContext { none, last, group };

class LogOrderModel {
 public:
  static constexpr std::size_t kMostChains = 7, kMostContexts = std::size_t{1} << 18,
                               kMostGroups = std::size_t{1} << 17;
  static constexpr std::uint64_t kNoRole = 0;
  static constexpr double kSuspect = 5;

  /// `labels` are the labels of the fields whose values are tracked in addition to the templates.
  LogOrderModel(std::vector<std::uint64_t> labels, std::uint64_t role) : labels_(std::move(labels)), role_(role) {}

  LogOrderScore score(const LogEvent& event) const;
  /// Counts the events of a line. Without `counted`, the line only becomes the last line of its group.
  void add(const LogEvent& event, bool counted = true);
  void decay(double factor);  ///< multiplies all counts and rounds them; contexts without counts are forgotten
  void forget_groups();       ///< forgets the last lines of all groups
  /// Returns - ln of the Witten-Bell probability of the events of a line in a context.
  double nats(const LogEvent& event, LogOrderContext context) const;
  /// Counts the events of a line by group, for LogOrderContext::group.
  void add_to_group(const LogEvent& event);

  std::uint64_t role() const { return role_; }
  const std::vector<std::uint64_t>& labels() const { return labels_; }
  Index evicted() const { return evicted_; }

  nlohmann::json to_json(bool whole) const;
  static LogOrderModel from_json(const nlohmann::json& json);

 private:
  /// The last three events of every chain in a group; 0 if there was no event.
  struct Last {
    std::uint32_t events[kMostChains][3] = {};
    std::uint32_t suspect = 0;  ///< a bit for each chain: whether the last event was rare in its context
  };
  double rarity_bits(std::size_t chain, std::uint32_t event, std::uint32_t last, std::uint32_t before) const;
  double rarity_bits(std::size_t chain, std::uint32_t event, const Last& last) const;
  std::optional<std::uint64_t> group_of(const LogEvent& event) const;
  std::uint32_t event_of(const LogEvent& event, std::size_t chain) const;
  const Last* last_of(std::uint64_t group) const;
  Last& changed_last(std::uint64_t group);
  const LogFollowers* after(std::size_t chain, std::uint32_t last, std::uint32_t before, int order) const;
  LogFollowers& counted_after(std::size_t chain, std::uint32_t last, std::uint32_t before, int order);

  std::vector<std::uint64_t> labels_;
  std::uint64_t role_;
  std::unordered_map<std::uint64_t, LogFollowers> contexts_;
  std::unordered_map<std::uint64_t, Last> recent_, older_;  // recent_ becomes older_ when it is full
  Index evicted_ = 0;
};

}  // namespace unfold
