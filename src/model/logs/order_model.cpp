#include "model/logs/order_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/logs/count_table.h"
#include "model/logs/log_json.h"
#include "model/logs/log_math.h"

namespace unfold {
namespace {

constexpr std::size_t kMostFollowers = 1024;
constexpr std::size_t kKeptContexts = 30000;

std::uint32_t short_event(std::uint64_t hash) {
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(hash >> 32));
}

std::uint64_t context_key(std::size_t chain, std::uint32_t last, std::uint32_t before, int order) {
  std::uint64_t x = (static_cast<std::uint64_t>(last) << 32 | before) +
                    0x9e3779b97f4a7c15 * (8 * chain + static_cast<std::size_t>(order));
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Returns the mass of events at most as common as `event`, interpolated with `lower`.
double tail(const LogFollowers* followers, std::uint32_t event, double lower) {
  if (followers == nullptr || followers->visits + followers->lines == 0) return lower;
  const Index own = followers->count(event);
  const double rare = own == 0 ? 0 : static_cast<double>(followers->at_most(own));
  const auto n = static_cast<double>(std::max(followers->visits, followers->lines));
  const auto d = static_cast<double>(std::max<Index>(1, followers->different));
  return (rare + d * lower) / (n + d);
}

double probability(const LogFollowers* followers, std::uint32_t event, double lower) {
  if (followers == nullptr || followers->lines == 0) return lower;
  const auto n = static_cast<double>(followers->lines), d = static_cast<double>(followers->different);
  return (static_cast<double>(followers->count(event)) + d * lower) / (n + d);
}

}  // namespace

void LogFollowers::add(std::uint32_t event) {
  ++lines;
  for (auto& [known, count] : counts)
    if (known == event) {
      ++count;
      return;
    }
  ++different;
  if (counts.size() >= kMostFollowers) std::erase_if(counts, [](const auto& entry) { return entry.second <= 1; });
  if (counts.size() < kMostFollowers) counts.emplace_back(event, 1);
}

Index LogFollowers::count(std::uint32_t event) const {
  for (const auto& [known, count] : counts)
    if (known == event) return count;
  return 0;
}

Index LogFollowers::at_most(Index most) const {
  Index sum = 0;
  for (const auto& [known, count] : counts)
    if (count <= most) sum += count;
  return sum;
}

void LogFollowers::decay(double factor) {
  Index forgotten = 0;
  for (auto& [event, count] : counts) {
    count = static_cast<std::uint32_t>(decayed_count(count, factor));
    forgotten += count == 0;
  }
  std::erase_if(counts, [](const auto& entry) { return entry.second == 0; });
  different -= forgotten;
  visits = decayed_count(visits, factor);
  lines = std::max(different, decayed_count(lines, factor));
}

void LogOrderModel::decay(double factor) {
  for (auto& [key, followers] : contexts_) followers.decay(factor);
  std::erase_if(contexts_, [](const auto& entry) { return entry.second.visits + entry.second.lines == 0; });
}

std::optional<std::uint64_t> LogOrderModel::group_of(const LogEvent& event) const {
  if (role_ == kNoRole) return 0;
  for (const LogEventValue& value : event.values)
    if (value.role == role_) return value.hash;
  return std::nullopt;
}

/// Returns the event of a line in a chain; 0 if it has none.
std::uint32_t LogOrderModel::event_of(const LogEvent& event, std::size_t chain) const {
  if (chain == 0) return short_event(event.template_id);
  for (const LogEventValue& value : event.values)
    if (value.label == labels_[chain - 1]) return short_event(value.hash);
  return 0;
}

const LogOrderModel::Last* LogOrderModel::last_of(std::uint64_t group) const {
  const auto recent = recent_.find(group);
  if (recent != recent_.end()) return &recent->second;
  const auto older = older_.find(group);
  return older != older_.end() ? &older->second : nullptr;
}

LogOrderModel::Last& LogOrderModel::changed_last(std::uint64_t group) {
  const auto recent = recent_.find(group);
  if (recent != recent_.end()) return recent->second;
  Last last;
  if (const auto older = older_.find(group); older != older_.end()) {
    last = older->second;
    older_.erase(older);
  }
  if (recent_.size() >= kMostGroups) {
    evicted_ += static_cast<Index>(older_.size());
    older_ = std::move(recent_);
    recent_.clear();
  }
  return recent_.emplace(group, last).first->second;
}

const LogFollowers* LogOrderModel::after(std::size_t chain, std::uint32_t last, std::uint32_t before, int order) const {
  const auto found = contexts_.find(context_key(chain, last, before, order));
  return found == contexts_.end() ? nullptr : &found->second;
}

LogFollowers& LogOrderModel::counted_after(std::size_t chain, std::uint32_t last, std::uint32_t before, int order) {
  const std::uint64_t key = context_key(chain, last, before, order);
  const auto found = contexts_.find(key);
  if (found != contexts_.end()) return found->second;
  if (contexts_.size() >= kMostContexts) {
    const std::size_t size = contexts_.size();
    std::erase_if(contexts_, [](const auto& entry) { return std::max(entry.second.visits, entry.second.lines) <= 1; });
    if (contexts_.size() > kMostContexts / 2) contexts_.clear();
    evicted_ += static_cast<Index>(size - contexts_.size());
  }
  return contexts_[key];
}

double LogOrderModel::rarity_bits(std::size_t chain, std::uint32_t event, std::uint32_t last,
                                  std::uint32_t before) const {
  double rarity = tail(after(chain, last, 0, 1), event, 1);
  if (last != 0) rarity = tail(after(chain, last, before, 2), event, rarity);
  return std::max(0.0, -log2_of(std::min(rarity, 1.0)));
}

double LogOrderModel::rarity_bits(std::size_t chain, std::uint32_t event, const Last& last) const {
  const auto& [previous, before, earlier] = last.events[chain];
  const double bits = rarity_bits(chain, event, previous, before);
  const bool suspect = (last.suspect >> chain & 1) != 0;
  return suspect ? std::min(bits, rarity_bits(chain, event, before, earlier)) : bits;
}

LogOrderScore LogOrderModel::score(const LogEvent& event) const {
  LogOrderScore worst;
  const auto group = group_of(event);
  if (!group) return worst;
  worst.grouped = true;
  const Last none, *last = last_of(*group);
  if (last == nullptr) last = &none;
  for (std::size_t chain = 0; chain <= labels_.size(); ++chain) {
    const std::uint32_t now = event_of(event, chain);
    if (now == 0) continue;
    const double bits = rarity_bits(chain, now, *last);
    if (bits > worst.bits || worst.event == 0)
      worst = {bits, chain == 0 ? 0 : labels_[chain - 1], now, last->events[chain][0], true};
  }
  return worst;
}

double LogOrderModel::nats(const LogEvent& event, LogOrderContext context) const {
  const auto group = group_of(event);
  const Last none, *last = group && context == LogOrderContext::last ? last_of(*group) : nullptr;
  if (last == nullptr) last = &none;
  double nats = 0;
  for (std::size_t chain = 0; chain <= labels_.size(); ++chain) {
    const std::uint32_t now = event_of(event, chain);
    if (now == 0) continue;
    const LogFollowers* all = after(chain, 0, 0, 0);
    const double uniform = 1 / static_cast<double>(2 + (all == nullptr ? 0 : all->different));
    double p = probability(all, now, uniform);
    if (group && context == LogOrderContext::last) p = probability(after(chain, last->events[chain][0], 0, 1), now, p);
    if (group && context == LogOrderContext::group) p = probability(after(chain, short_event(*group), 0, 3), now, p);
    nats -= log_of(p);
  }
  return nats;
}

void LogOrderModel::add_to_group(const LogEvent& event) {
  const auto group = group_of(event);
  for (std::size_t chain = 0; group && chain <= labels_.size(); ++chain)
    if (const std::uint32_t now = event_of(event, chain)) counted_after(chain, short_event(*group), 0, 3).add(now);
}

void LogOrderModel::forget_groups() {
  recent_.clear();
  older_.clear();
}

void LogOrderModel::add(const LogEvent& event, bool counted) {
  const auto group = group_of(event);
  Last* last = group ? &changed_last(*group) : nullptr;
  for (std::size_t chain = 0; chain <= labels_.size(); ++chain) {
    const std::uint32_t now = event_of(event, chain);
    if (now == 0) continue;
    if (counted) counted_after(chain, 0, 0, 0).add(now);
    if (last == nullptr) continue;
    const bool suspect = rarity_bits(chain, now, *last) >= kSuspect;
    last->suspect = (last->suspect & ~(std::uint32_t{1} << chain)) | static_cast<std::uint32_t>(suspect) << chain;
    auto& [previous, before, earlier] = last->events[chain];
    if (counted) counted_after(chain, previous, 0, 1).add(now);
    if (counted && previous != 0) counted_after(chain, previous, before, 2).add(now);
    earlier = std::exchange(before, std::exchange(previous, now));
    if (!counted) continue;
    ++counted_after(chain, previous, 0, 1).visits;
    ++counted_after(chain, previous, before, 2).visits;
  }
}

nlohmann::json LogOrderModel::to_json(bool whole) const {
  std::vector<std::pair<std::uint64_t, const LogFollowers*>> sorted;
  for (const auto& [key, followers] : contexts_) sorted.emplace_back(key, &followers);
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    return std::pair(-a.second->visits, a.first) < std::pair(-b.second->visits, b.first);
  });
  if (!whole && sorted.size() > kKeptContexts) sorted.resize(kKeptContexts);
  nlohmann::json keys = nlohmann::json::array(), visits = keys, lines = keys, different = keys, sizes = keys,
                 events = keys, counts = keys;
  for (const auto& [key, followers] : sorted) {
    keys.push_back(key);
    visits.push_back(followers->visits);
    lines.push_back(followers->lines);
    different.push_back(followers->different);
    sizes.push_back(followers->counts.size());
    for (const auto& [event, count] : followers->counts) {
      events.push_back(event);
      counts.push_back(count);
    }
  }
  nlohmann::json json = {{"labels", labels_}, {"role", role_},          {"contexts", keys}, {"visits", visits},
                         {"lines", lines},    {"different", different}, {"sizes", sizes},   {"events", events},
                         {"counts", counts},  {"evicted", evicted_}};
  if (!whole) return json;
  for (const auto& [name, groups] : {std::pair("recent", &recent_), std::pair("older", &older_)}) {
    std::vector<std::uint64_t> all;
    for (const auto& [group, last] : *groups) all.push_back(group);
    std::ranges::sort(all);
    nlohmann::json last_events = nlohmann::json::array();
    for (const std::uint64_t group : all) {
      last_events.push_back(groups->at(group).suspect);
      for (std::size_t chain = 0; chain <= labels_.size(); ++chain)
        for (const std::uint32_t event : groups->at(group).events[chain]) last_events.push_back(event);
    }
    json[name] = {{"groups", all}, {"events", last_events}};
  }
  return json;
}

LogOrderModel LogOrderModel::from_json(const nlohmann::json& json) {
  const nlohmann::json& role = log_part(json, "role");
  std::vector<std::uint64_t> labels = log_hashes(json, "labels");
  if (!role.is_number_unsigned() || labels.size() >= kMostChains) refuse_log_model("the order is inconsistent");
  LogOrderModel model(std::move(labels), role.get<std::uint64_t>());
  const auto short_count = [](Index x) {
    if (x > Index{0xffffffff}) refuse_log_model("the order is inconsistent");
    return static_cast<std::uint32_t>(x);
  };
  const std::vector<std::uint64_t> keys = log_hashes(json, "contexts");
  const std::vector<Index> visits = log_counts(json, "visits"), lines = log_counts(json, "lines"),
                           different = log_counts(json, "different"), sizes = log_counts(json, "sizes"),
                           events = log_counts(json, "events"), counts = log_counts(json, "counts");
  model.evicted_ = log_count(json, "evicted");
  if (visits.size() != keys.size() || lines.size() != keys.size() || different.size() != keys.size() ||
      sizes.size() != keys.size() || events.size() != counts.size() || keys.size() > kMostContexts)
    refuse_log_model("the order is inconsistent");
  std::size_t next = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    LogFollowers followers{.visits = visits[i], .lines = lines[i], .different = different[i]};
    if (sizes[i] > static_cast<Index>(std::min(kMostFollowers, events.size() - next)))
      refuse_log_model("the order is inconsistent");
    for (Index j = 0; j < sizes[i]; ++j, ++next)
      followers.counts.emplace_back(short_count(events[next]), short_count(counts[next]));
    model.contexts_.emplace(keys[i], std::move(followers));
  }
  for (const auto& [name, groups] : {std::pair("recent", &model.recent_), std::pair("older", &model.older_)}) {
    if (!json.contains(name)) continue;
    const std::vector<std::uint64_t> all = log_hashes(json[name], "groups");
    const std::vector<Index> last_events = log_counts(json[name], "events");
    const std::size_t each = 3 * (model.labels_.size() + 1);
    if (last_events.size() != (each + 1) * all.size()) refuse_log_model("the order is inconsistent");
    for (std::size_t i = 0; i < all.size(); ++i) {
      Last& last = (*groups)[all[i]];
      last.suspect = short_count(last_events[i * (each + 1)]);
      for (std::size_t j = 0; j < each; ++j)
        last.events[j / 3][j % 3] = short_count(last_events[i * (each + 1) + 1 + j]);
    }
  }
  return model;
}

}  // namespace unfold
