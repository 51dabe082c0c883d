#pragma once
/// How unusual a session is: the events of one request, process or user, in their order.
///
///   SessionModel model;
///   model.fit(sessions);                      // normal sessions
///   SessionParts parts = model.score(events); // one score for each SessionSource
///   model.learn(events);                      // later, another normal session
///
/// Let a session consist of events e_1 ... e_n, with n(e) occurrences of event e, among N normal sessions. The scores
/// are, in bits or monotone functions of bits:
///   - `distance`: the distance to the nearest of the most frequent kinds of sessions. The distance of two sessions
///     with counts n and m is the sum over events of |log2 (1 + n(e)) - log2 (1 + m(e))| / (s(e) + 1/4), where s(e) is
///     the standard deviation of log2 (1 + n(e)) in normal sessions; the term is 4 for an event that did not occur
///   - `kind`: - log2 of the share of sessions with the same counts
///   - `counts`: the rarest n(e) of all events, - log2 of the probability of a count that is at most as common,
///     including the count 0 of a missing event
///   - `pairs`: the rarest relation of two counts, n(e) < n(f), n(e) = n(f) or n(e) > n(f)
///   - `step`: the rarest event after the two events before it, - log2 of the probability of an event that is at most
///     as common (interpolated by the method of Witten and Bell), including the end of the session
///   - `mean`, `sum`: mean and sum of the surprisal of the events in the same 3-gram model.
///
/// All tables are bounded. Time is linear in the number of events, plus a constant for each session.

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/logs/order_model.h"

namespace unfold {

enum class SessionSource { distance, kind, counts, pairs, step, mean, sum };
inline constexpr std::size_t kSessionSourceCount = 7;
inline constexpr std::array<const char*, kSessionSourceCount> kSessionSources = {"distance", "kind", "counts", "pairs",
                                                                                 "step",     "mean", "sum"};

/// Events have numbers of at least kFirstEvent.
using SessionEvent = std::uint32_t;
using SessionEvents = std::span<const SessionEvent>;
inline constexpr SessionEvent kSessionBegin = 0, kSessionEnd = 1, kFirstEvent = 2;

/// An event with its number of occurrences.
using SessionCount = std::pair<SessionEvent, std::uint32_t>;

/// The scores of a session, with the events that are the most unusual.
struct SessionParts {
  std::array<double, kSessionSourceCount> scores{};
  SessionEvent distance_event = 0;  ///< event with the largest difference to the nearest kind
  Index distance_count = 0, distance_usual = 0;
  SessionEvent count_event = 0;  ///< event with the rarest count
  Index count = 0, count_usual = 0;
  std::array<SessionEvent, 2> pair{};
  SessionEvent step = 0, step_before = 0;
  std::size_t step_position = 0;  ///< position of the rarest event, from 0
  SessionEvent unseen = 0;        ///< the first event that occurred in no normal session; 0 if there is none
};

class SessionModel {
 public:
  static constexpr std::size_t kMostEvents = 256, kMostPaired = 48, kMostPrototypes = 256,
                               kMostKinds = std::size_t{1} << 16, kMostContexts = std::size_t{1} << 18;

  /// Learns normal sessions.
  void fit(const std::vector<SessionEvents>& sessions);
  void learn(SessionEvents events);
  SessionParts score(SessionEvents events) const;

  Index sessions() const { return sessions_; }
  std::size_t kinds() const { return kinds_.size(); }
  /// Returns whether the event occurred in a normal session.
  bool knows(SessionEvent event) const { return occurs_.contains(event); }
  /// Returns the events of normal sessions, the most frequent first; at most kMostEvents.
  const std::vector<SessionEvent>& events() const { return events_; }

  /// With `whole`, returns the complete state; otherwise only the most frequent contexts and kinds, for a trained
  /// model.
  nlohmann::json to_json(bool whole) const;
  static SessionModel from_json(const nlohmann::json& json);

 private:
  struct Prototype {
    std::uint64_t kind = 0;  // the hash of the counts
    std::vector<SessionCount> counts = {};
    std::vector<double> logs = {};  // log2 (1 + count)
    Index sessions = 0;
  };
  struct EventCounts {
    LogFollowers counts = {};  // number of sessions for each group of counts, excluding 0
    double sum = 0, squares = 0;
    double weight = 4;
  };
  struct Unigram {
    double probability = 0, tail = 0;
  };
  static Prototype prototype_of(std::uint64_t kind, std::vector<SessionCount> counts, Index sessions);
  void count(SessionEvents events);
  void choose_prototypes(const std::vector<SessionEvents>& sessions);
  void learn_prototype(SessionEvents events);
  void refresh();
  LogFollowers* counted_after(SessionEvent last, SessionEvent before, int order);
  const LogFollowers* after(SessionEvent last, SessionEvent before, int order) const;
  void score_distance(const std::vector<SessionCount>& counts, SessionParts& parts) const;
  void score_counts(const std::vector<SessionCount>& counts, SessionParts& parts) const;
  void score_pairs(const std::vector<SessionCount>& counts, SessionParts& parts) const;
  void score_steps(SessionEvents events, SessionParts& parts) const;
  std::vector<Index> dense(const std::vector<SessionCount>& counts) const;
  std::array<Index, 3>& relation(std::size_t first, std::size_t second);
  double weight_of(SessionEvent event) const;

  Index sessions_ = 0;
  std::vector<SessionEvent> events_;                     // the most frequent events
  std::unordered_map<SessionEvent, std::size_t> index_;  // index of an event in events_
  std::unordered_map<SessionEvent, Index> occurs_;       // number of sessions in which an event occurred
  std::vector<EventCounts> counts_;                      // counts for each entry of events_
  std::vector<std::array<Index, 3>> relations_;          // for pairs of the first kMostPaired events: numbers of
                                                         // sessions with <, =, >
  std::unordered_map<std::uint64_t, Index> kinds_;       // number of sessions by the hash of their counts
  std::vector<Prototype> prototypes_;                    // the most frequent kinds
  std::unordered_map<std::uint64_t, LogFollowers> contexts_;
  std::unordered_map<SessionEvent, Unigram> unigrams_;
};

/// Returns the events of a session with their counts, in the order of their numbers.
std::vector<SessionCount> counts_of_session(SessionEvents events);

}  // namespace unfold
