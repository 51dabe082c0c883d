#include "model/logs/session_model.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/logs/count_table.h"
#include "model/logs/log_json.h"
#include "model/logs/log_math.h"

namespace unfold {
namespace {

constexpr std::size_t kMostOccurring = std::size_t{1} << 16, kStoredContexts = 60000, kStoredKinds = 4096;
constexpr double kUnknownWeight = 4, kLeastDeviation = 0.25;

std::uint64_t session_hash(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15 + b + 0x2545f4914f6cdd1d;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  return x ^ (x >> 29);
}

std::uint64_t kind_of_counts(const std::vector<SessionCount>& counts) {
  std::uint64_t hash = 0;
  for (const auto& [event, count] : counts) hash = session_hash(hash, std::uint64_t{event} << 32 | count);
  return hash;
}

std::uint64_t step_key(SessionEvent last, SessionEvent before, int order) {
  return session_hash(std::uint64_t{last} << 32 | before, static_cast<std::uint64_t>(order));
}

/// log2 (1 + n)
double log_count_of(Index n) {
  static const std::vector<double> kSmall = [] {
    std::vector<double> logs(1024);
    for (std::size_t i = 0; i < logs.size(); ++i) logs[i] = log2_of(static_cast<double>(i + 1));
    return logs;
  }();
  return n < static_cast<Index>(kSmall.size()) ? kSmall[static_cast<std::size_t>(n)]
                                               : log2_of(static_cast<double>(n + 1));
}

/// Maps unbounded scores to the range of the calibration.
double squeezed(double bits) { return 16 * log2_of(1 + bits); }

std::uint32_t group_of_count(Index count) { return static_cast<std::uint32_t>(count_group(count)); }

/// Returns the bits of the Witten-Bell probability of all counts that are at most as common as a count of `own`
/// sessions.
double rarity_of_count(Index own, Index at_most, Index different, Index sessions) {
  const Index common = own == 0 ? 0 : at_most;
  return log2_of(static_cast<double>(sessions + different)) -
         log2_of(static_cast<double>(std::max<Index>(common + different, 1)));
}

}  // namespace

std::vector<SessionCount> counts_of_session(SessionEvents events) {
  std::vector<SessionEvent> sorted(events.begin(), events.end());
  std::ranges::sort(sorted);
  std::vector<SessionCount> counts;
  for (const SessionEvent event : sorted) {
    if (counts.empty() || counts.back().first != event) counts.emplace_back(event, 0);
    ++counts.back().second;
  }
  return counts;
}

SessionModel::Prototype SessionModel::prototype_of(std::uint64_t kind, std::vector<SessionCount> counts,
                                                   Index sessions) {
  Prototype prototype{.kind = kind, .counts = std::move(counts), .sessions = sessions};
  for (const auto& [event, count] : prototype.counts) prototype.logs.push_back(log_count_of(count));
  return prototype;
}

void SessionModel::fit(const std::vector<SessionEvents>& sessions) {
  std::unordered_map<SessionEvent, Index> found;
  for (const SessionEvents& events : sessions)
    for (const auto& [event, count] : counts_of_session(events))
      if (found.size() < kMostOccurring || found.contains(event)) ++found[event];
  std::vector<std::pair<Index, SessionEvent>> sorted;
  sorted.reserve(found.size());
  for (const auto& [event, count] : found) sorted.emplace_back(-count, event);
  std::ranges::sort(sorted);
  if (sorted.size() > kMostEvents) sorted.resize(kMostEvents);
  for (const auto& [count, event] : sorted) {
    index_.emplace(event, events_.size());
    events_.push_back(event);
  }
  counts_.resize(events_.size());
  const std::size_t paired = std::min(events_.size(), kMostPaired);
  relations_.resize(paired * paired);
  for (const SessionEvents& events : sessions) count(events);
  choose_prototypes(sessions);
  refresh();
}

void SessionModel::learn(SessionEvents events) {
  count(events);
  learn_prototype(events);
  refresh();
}

std::array<Index, 3>& SessionModel::relation(std::size_t first, std::size_t second) {
  return relations_[first * std::min(events_.size(), kMostPaired) + second];
}

std::vector<Index> SessionModel::dense(const std::vector<SessionCount>& counts) const {
  std::vector<Index> all(std::min(events_.size(), kMostPaired));
  for (const auto& [event, count] : counts)
    if (const auto found = index_.find(event); found != index_.end() && found->second < all.size())
      all[found->second] = count;
  return all;
}

void SessionModel::count(SessionEvents events) {
  ++sessions_;
  std::vector<SessionCount> counts = counts_of_session(events);
  for (const auto& [event, times] : counts) {
    if (occurs_.size() < kMostOccurring || occurs_.contains(event)) ++occurs_[event];
    const auto found = index_.find(event);
    if (found == index_.end()) continue;
    EventCounts& here = counts_[found->second];
    const double log = log_count_of(times);
    here.counts.add(group_of_count(times));
    here.sum += log;
    here.squares += log * log;
  }
  const std::vector<Index> paired = dense(counts);
  for (std::size_t i = 0; i < paired.size(); ++i)
    for (std::size_t j = i + 1; j < paired.size(); ++j)
      ++relation(i, j)[paired[i] < paired[j] ? 0 : paired[i] == paired[j] ? 1 : 2];
  SessionEvent last = kSessionBegin, before = kSessionBegin;
  const auto step = [&](SessionEvent event) {
    for (int order = 0; order <= 2; ++order)
      if (LogFollowers* followers = counted_after(order > 0 ? last : 0, order > 1 ? before : 0, order))
        followers->add(event);
    before = std::exchange(last, event);
  };
  for (const SessionEvent event : events) step(event);
  step(kSessionEnd);
  const std::uint64_t kind = kind_of_counts(counts);
  if (kinds_.size() < kMostKinds || kinds_.contains(kind)) ++kinds_[kind];
}

void SessionModel::choose_prototypes(const std::vector<SessionEvents>& sessions) {
  std::unordered_map<std::uint64_t, Prototype> found;
  for (const SessionEvents& events : sessions) {
    std::vector<SessionCount> counts = counts_of_session(events);
    const std::uint64_t kind = kind_of_counts(counts);
    if (found.size() >= kMostKinds && !found.contains(kind)) continue;
    Prototype& prototype = found[kind];
    if (prototype.sessions++ == 0) prototype = prototype_of(kind, std::move(counts), 1);
  }
  for (auto& [kind, prototype] : found) prototypes_.push_back(std::move(prototype));
  const auto before = [](const Prototype& a, const Prototype& b) {
    return std::pair(-a.sessions, a.kind) < std::pair(-b.sessions, b.kind);
  };
  std::ranges::sort(prototypes_, before);
  if (prototypes_.size() > kMostPrototypes) prototypes_.resize(kMostPrototypes);
}

/// Counts a session for its prototype. If there are too many, a new prototype replaces the last one.
void SessionModel::learn_prototype(SessionEvents events) {
  std::vector<SessionCount> counts = counts_of_session(events);
  const std::uint64_t kind = kind_of_counts(counts);
  for (Prototype& prototype : prototypes_)
    if (prototype.kind == kind) {
      ++prototype.sessions;
      return;
    }
  if (prototypes_.size() >= kMostPrototypes) prototypes_.pop_back();
  prototypes_.push_back(prototype_of(kind, std::move(counts), 1));
}

/// Derives the values that scores require from the counts.
void SessionModel::refresh() {
  const auto n = static_cast<double>(std::max<Index>(sessions_, 1));
  for (EventCounts& here : counts_) {
    const double mean = here.sum / n;
    here.weight = 1 / (std::sqrt(std::max(0.0, here.squares / n - mean * mean)) + kLeastDeviation);
  }
  unigrams_.clear();
  const LogFollowers* all = after(0, 0, 0);
  if (all == nullptr) return;
  std::vector<std::pair<std::uint32_t, SessionEvent>> by_count;
  for (const auto& [event, count] : all->counts) by_count.emplace_back(count, event);
  std::ranges::sort(by_count);
  const auto lines = static_cast<double>(all->lines), different = static_cast<double>(all->different);
  const double uniform = 1 / (different + 2);
  double below = 0;
  for (std::size_t i = 0; i < by_count.size();) {
    const std::uint32_t count = by_count[i].first;
    std::size_t end = i;
    for (; end < by_count.size() && by_count[end].first == count; ++end) below += count;
    for (; i < end; ++i)
      unigrams_[by_count[i].second] = {(count + different * uniform) / (lines + different),
                                       (below + different) / (lines + different)};
  }
}

LogFollowers* SessionModel::counted_after(SessionEvent last, SessionEvent before, int order) {
  const std::uint64_t key = step_key(last, before, order);
  if (contexts_.size() >= kMostContexts && !contexts_.contains(key)) return nullptr;
  return &contexts_[key];
}

const LogFollowers* SessionModel::after(SessionEvent last, SessionEvent before, int order) const {
  const auto found = contexts_.find(step_key(last, before, order));
  return found == contexts_.end() ? nullptr : &found->second;
}

double SessionModel::weight_of(SessionEvent event) const {
  const auto found = index_.find(event);
  return found == index_.end() ? kUnknownWeight : counts_[found->second].weight;
}

SessionParts SessionModel::score(SessionEvents events) const {
  SessionParts parts;
  const std::vector<SessionCount> counts = counts_of_session(events);
  for (const SessionEvent event : events)
    if (!knows(event)) {
      parts.unseen = event;
      break;
    }
  score_distance(counts, parts);
  const auto kind = kinds_.find(kind_of_counts(counts));
  const double same = kind == kinds_.end() ? 0 : static_cast<double>(kind->second);
  parts.scores[static_cast<std::size_t>(SessionSource::kind)] =
      log2_of(static_cast<double>(sessions_) + 0.5) - log2_of(same + 0.5);
  score_counts(counts, parts);
  score_pairs(counts, parts);
  score_steps(events, parts);
  return parts;
}

void SessionModel::score_distance(const std::vector<SessionCount>& counts, SessionParts& parts) const {
  std::vector<double> logs, weights;
  for (const auto& [event, count] : counts) {
    logs.push_back(log_count_of(count));
    weights.push_back(weight_of(event));
  }
  double least = -1;
  for (const Prototype& prototype : prototypes_) {
    double distance = 0, most = 0;
    SessionEvent event = 0;
    Index here = 0, usual = 0;
    const auto differs = [&](double difference, SessionEvent which, Index own, Index its) {
      distance += difference;
      if (difference <= most) return;
      most = difference, event = which, here = own, usual = its;
    };
    std::size_t i = 0, j = 0;
    const std::vector<SessionCount>& theirs = prototype.counts;
    while ((i < counts.size() || j < theirs.size()) && (least < 0 || distance < least)) {
      if (j == theirs.size() || (i < counts.size() && counts[i].first < theirs[j].first)) {
        differs(logs[i] * weights[i], counts[i].first, counts[i].second, 0);
        ++i;
      } else if (i == counts.size() || theirs[j].first < counts[i].first) {
        differs(prototype.logs[j] * weight_of(theirs[j].first), theirs[j].first, 0, theirs[j].second);
        ++j;
      } else {
        differs(std::fabs(logs[i] - prototype.logs[j]) * weights[i], counts[i].first, counts[i].second,
                theirs[j].second);
        ++i, ++j;
      }
    }
    if (least >= 0 && distance >= least) continue;
    least = distance;
    parts.distance_event = event, parts.distance_count = here, parts.distance_usual = usual;
  }
  parts.scores[static_cast<std::size_t>(SessionSource::distance)] = squeezed(std::max(least, 0.0));
}

void SessionModel::score_counts(const std::vector<SessionCount>& counts, SessionParts& parts) const {
  double& worst = parts.scores[static_cast<std::size_t>(SessionSource::counts)];
  std::size_t next = 0;
  std::vector<Index> own(events_.size());
  for (; next < counts.size(); ++next)
    if (const auto found = index_.find(counts[next].first); found != index_.end())
      own[found->second] = counts[next].second;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const LogFollowers& here = counts_[i].counts;
    const Index without = sessions_ - here.lines;
    const Index same = own[i] == 0 ? without : here.count(group_of_count(own[i]));
    const Index at_most = here.at_most(same) + (without <= same ? without : 0);
    const double bits = rarity_of_count(same, at_most, here.different + (without > 0), sessions_);
    if (bits <= worst) continue;
    worst = bits;
    parts.count_event = events_[i];
    parts.count = own[i];
    std::pair<Index, Index> usual{without, 0};  // sessions, group
    for (const auto& [group, number] : here.counts) usual = std::max(usual, {Index{number}, Index{group}});
    parts.count_usual = usual.second;  // each count below 32 is a separate group
  }
  if (parts.unseen != 0) worst = std::max(worst, log2_of(static_cast<double>(sessions_ + 1)) + 1);
}

void SessionModel::score_pairs(const std::vector<SessionCount>& counts, SessionParts& parts) const {
  double& worst = parts.scores[static_cast<std::size_t>(SessionSource::pairs)];
  const std::vector<Index> own = dense(counts);
  double factor = 1;  // 2^worst
  for (std::size_t i = 0; i < own.size(); ++i)
    for (std::size_t j = i + 1; j < own.size(); ++j) {
      const std::array<Index, 3>& seen = relations_[i * own.size() + j];
      const Index same = seen[own[i] < own[j] ? 0 : own[i] == own[j] ? 1 : 2];
      Index at_most = 0, different = 0;
      for (const Index number : seen) {
        different += number > 0;
        if (number <= same) at_most += number;
      }
      const Index common = (same == 0 ? 0 : at_most) + different;
      if (static_cast<double>(common) * factor >= static_cast<double>(sessions_ + different)) continue;  // less rare
      worst = rarity_of_count(same, at_most, different, sessions_);
      factor = exp2_of(worst);
      parts.pair = {events_[i], events_[j]};
    }
  if (parts.unseen != 0) worst = std::max(worst, log2_of(static_cast<double>(sessions_ + 1)) + 1);
}

void SessionModel::score_steps(SessionEvents events, SessionParts& parts) const {
  const LogFollowers* all = after(0, 0, 0);
  const double lines = all == nullptr ? 0 : static_cast<double>(all->lines);
  const double different = all == nullptr ? 0 : static_cast<double>(all->different);
  const Unigram unknown{different / (different + 2) / std::max(lines + different, 1.0),
                        std::max(different, 1.0) / std::max(lines + different, 1.0)};
  double sum = 0, rarest = 1;
  SessionEvent last = kSessionBegin, before = kSessionBegin;
  std::size_t position = 0;
  const auto step = [&](SessionEvent event) {
    const auto unigram = unigrams_.find(event);
    Unigram p = unigram == unigrams_.end() ? unknown : unigram->second;
    for (int order = 1; order <= 2; ++order) {
      const LogFollowers* followers = after(last, order > 1 ? before : 0, order);
      if (followers == nullptr) break;
      const Index own = followers->count(event);
      const auto n = static_cast<double>(followers->lines), d = static_cast<double>(followers->different);
      p.probability = (static_cast<double>(own) + d * p.probability) / (n + d);
      p.tail = ((own == 0 ? 0 : static_cast<double>(followers->at_most(own))) + d * p.tail) / (n + d);
    }
    sum -= log2_of(p.probability);
    if (p.tail < rarest) {
      rarest = p.tail;
      parts.step = event, parts.step_before = last, parts.step_position = position;
    }
    ++position;
    before = std::exchange(last, event);
  };
  for (const SessionEvent event : events) step(event);
  step(kSessionEnd);
  parts.scores[static_cast<std::size_t>(SessionSource::step)] = -log2_of(rarest);
  parts.scores[static_cast<std::size_t>(SessionSource::mean)] = sum / static_cast<double>(position);
  parts.scores[static_cast<std::size_t>(SessionSource::sum)] = squeezed(sum);
}

namespace {

nlohmann::json followers_json(const LogFollowers& followers) {
  nlohmann::json events = nlohmann::json::array(), counts = events;
  for (const auto& [event, count] : followers.counts) {
    events.push_back(event);
    counts.push_back(count);
  }
  return {followers.lines, followers.different, std::move(events), std::move(counts)};
}

LogFollowers followers_of(const nlohmann::json& json) {
  if (!json.is_array() || json.size() != 4) refuse_log_model("the sessions are inconsistent");
  const nlohmann::json whole = {{"lines", json[0]}, {"different", json[1]}, {"events", json[2]}, {"counts", json[3]}};
  LogFollowers followers;
  followers.lines = log_count(whole, "lines");
  followers.different = log_count(whole, "different");
  const std::vector<Index> events = log_counts(whole, "events"), counts = log_counts(whole, "counts");
  if (events.size() != counts.size()) refuse_log_model("the sessions are inconsistent");
  for (std::size_t i = 0; i < events.size(); ++i)
    followers.counts.emplace_back(static_cast<std::uint32_t>(events[i]), static_cast<std::uint32_t>(counts[i]));
  return followers;
}

/// Returns at most `most` entries of a table, those with the highest counts first.
template <class Table, class Count>
std::vector<typename Table::const_iterator> frequent(const Table& table, std::size_t most, Count count) {
  std::vector<typename Table::const_iterator> entries;
  for (auto at = table.begin(); at != table.end(); ++at) entries.push_back(at);
  std::ranges::sort(entries, [&](const auto& a, const auto& b) {
    return std::pair(-count(a->second), a->first) < std::pair(-count(b->second), b->first);
  });
  if (entries.size() > most) entries.resize(most);
  return entries;
}

}  // namespace

nlohmann::json SessionModel::to_json(bool whole) const {
  nlohmann::json counts = nlohmann::json::array(), relations = counts, kinds = counts, prototypes = counts,
                 contexts = counts, occurs = counts;
  for (const EventCounts& here : counts_)
    counts.push_back({{"groups", followers_json(here.counts)}, {"sum", here.sum}, {"squares", here.squares}});
  for (const auto& relation : relations_) relations.push_back(relation);
  for (const auto& at : frequent(kinds_, whole ? kMostKinds : kStoredKinds, std::identity()))
    kinds.push_back({at->first, at->second});
  for (const Prototype& prototype : prototypes_) {
    nlohmann::json entry = {
        {"sessions", prototype.sessions}, {"events", nlohmann::json::array()}, {"counts", nlohmann::json::array()}};
    for (const auto& [event, count] : prototype.counts) {
      entry["events"].push_back(event);
      entry["counts"].push_back(count);
    }
    prototypes.push_back(std::move(entry));
  }
  for (const auto& at :
       frequent(contexts_, whole ? kMostContexts : kStoredContexts, [](const LogFollowers& f) { return f.lines; }))
    contexts.push_back({at->first, followers_json(at->second)});
  for (const auto& at : frequent(occurs_, kMostOccurring, std::identity())) occurs.push_back({at->first, at->second});
  return {{"sessions", sessions_}, {"events", events_},        {"counts", counts},     {"relations", relations},
          {"kinds", kinds},        {"prototypes", prototypes}, {"contexts", contexts}, {"occurs", occurs}};
}

SessionModel SessionModel::from_json(const nlohmann::json& json) {
  SessionModel model;
  model.sessions_ = log_count(json, "sessions");
  for (const Index event : log_counts(json, "events")) {
    model.index_.emplace(static_cast<SessionEvent>(event), model.events_.size());
    model.events_.push_back(static_cast<SessionEvent>(event));
  }
  const nlohmann::json& counts = log_list(json, "counts");
  if (model.events_.size() > kMostEvents || counts.size() != model.events_.size())
    refuse_log_model("the sessions are inconsistent");
  for (const nlohmann::json& entry : counts) {
    model.counts_.push_back({.counts = followers_of(log_part(entry, "groups")),
                             .sum = log_number(entry, "sum"),
                             .squares = log_number(entry, "squares")});
    if (model.counts_.back().counts.lines > model.sessions_) refuse_log_model("the sessions are inconsistent");
  }
  const std::size_t paired = std::min(model.events_.size(), kMostPaired);
  for (const nlohmann::json& entry : log_list(json, "relations")) {
    const std::vector<Index> relation = log_counts({{"relation", entry}}, "relation");
    if (relation.size() != 3) refuse_log_model("the sessions are inconsistent");
    model.relations_.push_back({relation[0], relation[1], relation[2]});
  }
  if (model.relations_.size() != paired * paired) refuse_log_model("the sessions are inconsistent");
  const auto key_of = [](const nlohmann::json& entry) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_number_unsigned())
      refuse_log_model("the sessions are inconsistent");
    return entry[0].get<std::uint64_t>();
  };
  for (const nlohmann::json& entry : log_list(json, "kinds"))
    model.kinds_[key_of(entry)] = log_count({{"count", entry[1]}}, "count");
  for (const nlohmann::json& entry : log_list(json, "occurs"))
    model.occurs_[static_cast<SessionEvent>(key_of(entry))] = log_count({{"count", entry[1]}}, "count");
  for (const nlohmann::json& entry : log_list(json, "contexts"))
    model.contexts_[key_of(entry)] = followers_of(entry[1]);
  for (const nlohmann::json& entry : log_list(json, "prototypes")) {
    const std::vector<Index> events = log_counts(entry, "events"), numbers = log_counts(entry, "counts");
    if (events.size() != numbers.size()) refuse_log_model("the sessions are inconsistent");
    std::vector<SessionCount> sizes;
    for (std::size_t i = 0; i < events.size(); ++i)
      sizes.emplace_back(static_cast<SessionEvent>(events[i]), static_cast<std::uint32_t>(numbers[i]));
    if (!std::ranges::is_sorted(sizes)) refuse_log_model("the sessions are inconsistent");
    const std::uint64_t kind = kind_of_counts(sizes);
    model.prototypes_.push_back(prototype_of(kind, std::move(sizes), log_count(entry, "sessions")));
  }
  if (model.prototypes_.size() > kMostPrototypes) refuse_log_model("the sessions are inconsistent");
  model.refresh();
  return model;
}

}  // namespace unfold
