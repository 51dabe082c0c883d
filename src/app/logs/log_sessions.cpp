#include "app/logs/log_sessions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/counts/distinct_count.h"
#include "model/logs/log_json.h"
#include "model/logs/log_math.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::size_t kMostTrainingEvents = std::size_t{1} << 25;

SessionEvent event_of_hash(std::uint64_t hash) {
  return std::clamp<SessionEvent>(static_cast<SessionEvent>(hash >> 32), kFirstEvent, 0xfffffffe);
}

/// Returns the value of the field that identifies the session of a line.
const LogEventValue* session_key(const LogEvent& event, std::uint64_t role) {
  const auto found = std::ranges::find(event.values, role, &LogEventValue::role);
  return found == event.values.end() ? nullptr : &*found;
}

/// Returns the hash of the event of a line: its template, with the values of the fields that are part of it.
std::uint64_t hash_of_event(const LogEvent& event, const std::vector<std::uint64_t>& labels) {
  std::uint64_t hash = event.template_id;
  for (const std::uint64_t label : labels) {
    const auto value = std::ranges::find(event.values, label, &LogEventValue::label);
    if (value == event.values.end()) continue;
    hash = (hash ^ value->hash) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 31;
  }
  return hash;
}

std::string name_of_event(const LogEvent& event, const std::vector<std::uint64_t>& labels) {
  std::string name(event.shape);
  for (const std::uint64_t label : labels) {
    const auto value = std::ranges::find(event.values, label, &LogEventValue::label);
    if (value != event.values.end()) name = fmt::format("{}={} {}", value->key, value->text, name);
  }
  return name;
}

/// Returns the beginning of a text, without an incomplete character at its end.
std::string beginning(std::string_view text, std::size_t most) {
  std::size_t size = std::min(text.size(), most);
  while (size > 0 && size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return std::string(text.substr(0, size));
}

/// The distribution of the pauses between the lines of a session, on a logarithmic scale.
class PauseCounts {
 public:
  void add(double pause) {
    const double size = std::max(pause, 0x1p-10);
    int octave = 0;
    (void)std::frexp(size, &octave);
    ++counts_[octave];
    ++pauses_;
  }
  /// Returns a power of two that only a share of the pauses exceeds.
  double above_all_but(double share) const {
    Index above = 0;
    for (auto at = counts_.rbegin(); at != counts_.rend(); ++at) {
      above += at->second;
      if (static_cast<double>(above) > share * static_cast<double>(pauses_)) return std::ldexp(1.0, at->first);
    }
    return 0;
  }

 private:
  std::map<int, Index> counts_;
  Index pauses_ = 0;
};

/// The time of a line in seconds, or its number if the log has no times.
class SessionClock {
 public:
  SessionClock(bool timed, const LogClock& clock) : timed_(timed), clock_(clock) {}
  void read(std::string_view line, Index number) {
    if (!timed_) {
      time = static_cast<double>(number);
      return;
    }
    const std::optional<LogTime> found = clock_.read(line);
    if (!found) return;  // keeps the time of the previous line
    time = found->seconds;
    text = found->text;
  }
  double time = 0;
  std::string_view text = {};

 private:
  bool timed_;
  LogClock clock_;
};

using EachLogLine = std::function<void(const std::function<void(std::string_view, const LogLine&)>&)>;

/// All sessions of training, one after the other.
class SessionList {
 public:
  void add(const std::vector<SessionEvent>& events) {
    if (events_.size() + events.size() > kMostTrainingEvents) return;
    events_.insert(events_.end(), events.begin(), events.end());
    ends_.push_back(events_.size());
  }
  std::vector<SessionEvents> all() const {
    std::vector<SessionEvents> sessions;
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      sessions.push_back(SessionEvents(events_).subspan(begin, end - begin));
      begin = end;
    }
    return sessions;
  }

 private:
  std::vector<SessionEvent> events_;
  std::vector<std::size_t> ends_;
};

/// Derives the pause after which a session has ended: in seconds if most lines have times, otherwise in lines.
void find_pause(const EachLogLine& each_line, LogClock clock, LogSessionCard& card) {
  constexpr double kRarePauses = 0.001, kLeastSeconds = 10, kLeastLines = 100;
  struct Last {
    double time = 0;
    Index line = 0;
  };
  std::unordered_map<std::uint64_t, Last> last;
  PauseCounts seconds, lines;
  LogEventReader reader;
  double time = 0;
  Index number = 0, with_time = 0;
  each_line([&](std::string_view text, const LogLine& line) {
    ++number;
    if (const std::optional<LogTime> found = clock.read(text)) {
      ++with_time;
      time = found->seconds;
    }
    const LogEventValue* key = session_key(reader.read(line), card.role);
    if (key == nullptr) return;
    const auto [at, is_new] = last.try_emplace(key->hash, Last{time, number});
    if (!is_new) {
      seconds.add(time - at->second.time);
      lines.add(static_cast<double>(number - at->second.line));
      at->second = {time, number};
    }
    if (last.size() > OpenSessions::kMostOpen) last.clear();
  });
  card.timed = 2 * with_time > number;
  card.pause =
      std::max(2 * (card.timed ? seconds : lines).above_all_but(kRarePauses), card.timed ? kLeastSeconds : kLeastLines);
}

/// The entropy of events, and how much of it the previous event of the session predicts.
class EventPrediction {
 public:
  void add(std::uint64_t group, std::uint64_t event) {
    if (pairs_.size() > kMostPairs || last_.size() > OpenSessions::kMostOpen) return;
    const auto [at, is_new] = last_.try_emplace(group, event);
    if (is_new) return;
    const std::uint64_t before = std::exchange(at->second, event);
    ++total_;
    changes_ += before != event;
    ++events_[event];
    ++befores_[before];
    ++pairs_[(before * 0x9e3779b97f4a7c15) ^ event];
  }
  double entropy() const { return entropy_of(events_); }
  double predicted() const { return entropy_of(events_) + entropy_of(befores_) - entropy_of(pairs_); }
  double changes() const { return total_ == 0 ? 0 : static_cast<double>(changes_) / static_cast<double>(total_); }

 private:
  static constexpr std::size_t kMostPairs = 20000;
  using Counts = std::unordered_map<std::uint64_t, Index>;
  double entropy_of(const Counts& counts) const {
    std::vector<Index> sorted;  // sorted, so the sum is bit-identical in every run
    for (const auto& [key, count] : counts) sorted.push_back(count);
    std::ranges::sort(sorted);
    double sum = 0;
    for (const Index count : sorted)
      sum += static_cast<double>(count) * log_ratio(total_, count) / kNatsPerBit / static_cast<double>(total_);
    return sum;
  }
  std::unordered_map<std::uint64_t, std::uint64_t> last_;
  Counts events_, befores_, pairs_;
  Index total_ = 0, changes_ = 0;
};

/// Returns the fields that are part of the event: at least half of the entropy that their values add is predicted by
/// the previous event of the session, and the values are not constant within sessions.
std::vector<std::uint64_t> event_labels(const EachLogLine& each_line, std::uint64_t role,
                                        const std::vector<std::uint64_t>& followed) {
  constexpr Index kLinesForChoice = 100000;
  constexpr double kLeastPredicted = 0.5, kLeastGain = 0.1, kLeastChanges = 0.1;
  std::vector<std::uint64_t> chosen;
  while (chosen.size() < followed.size()) {
    std::vector<EventPrediction> joint(followed.size()), alone(followed.size());
    EventPrediction now;
    LogEventReader reader;
    Index number = 0;
    each_line([&](std::string_view, const LogLine& line) {
      if (number++ >= kLinesForChoice) return;
      const LogEvent& event = reader.read(line);
      const LogEventValue* key = session_key(event, role);
      if (key == nullptr) return;
      now.add(key->hash, hash_of_event(event, chosen));
      for (std::size_t i = 0; i < followed.size(); ++i) {
        std::vector<std::uint64_t> with = chosen;
        with.push_back(followed[i]);
        joint[i].add(key->hash, hash_of_event(event, with));
        const auto value = std::ranges::find(event.values, followed[i], &LogEventValue::label);
        if (value != event.values.end()) alone[i].add(key->hash, value->hash);
      }
    });
    std::size_t best = followed.size();
    double most = kLeastGain;
    for (std::size_t i = 0; i < followed.size(); ++i) {
      const double gain = joint[i].predicted() - now.predicted(), added = joint[i].entropy() - now.entropy();
      if (alone[i].changes() < kLeastChanges || gain < kLeastPredicted * added || gain <= most) continue;
      most = gain;
      best = i;
    }
    if (best == followed.size()) break;
    chosen.push_back(followed[best]);
  }
  return chosen;
}

void read_grouped(const EachLogLine& each_line, const LogClock& times, LogSessionCard& card, SessionList& list) {
  find_pause(each_line, times, card);
  OpenSessions open(card.pause);
  const auto take = [&] {
    for (const LogSession& session : open.take_ended()) list.add(session.events);
  };
  LogEventReader reader;
  SessionClock clock(card.timed, times);
  Index number = 0;
  each_line([&](std::string_view text, const LogLine& line) {
    clock.read(text, ++number);
    const LogEvent& event = reader.read(line);
    const LogEventValue* key = session_key(event, card.role);
    if (key == nullptr) return;
    const SessionEvent which = event_of_hash(hash_of_event(event, card.labels));
    card.names.add(which, [&] { return name_of_event(event, card.labels); });
    open.add({.key = key->text, .event = which, .line = number, .time = clock.time});
    take();
  });
  open.end_all();
  take();
}

void read_lines(const EachLogLine& each_line, const SessionLines& lines, LogSessionCard& card, SessionList& list) {
  SessionLineParts parts;
  std::vector<SessionEvent> events;
  each_line([&](std::string_view text, const LogLine&) {
    lines.split(text, parts);
    events.clear();
    for (const std::string_view word : parts.events) {
      events.push_back(event_of_hash(hash_of_cell(word)));
      card.names.add(events.back(), [&] { return std::string(word); });
    }
    if (!events.empty()) list.add(events);
  });
}

}  // namespace

void SessionEventNames::add(SessionEvent event, const std::function<std::string()>& name) {
  if (names_.size() < kMostNames && !names_.contains(event)) names_.emplace(event, beginning(name(), kLongestName));
}

std::string SessionEventNames::name(SessionEvent event) const {
  const auto found = names_.find(event);
  return found == names_.end() ? std::string() : found->second;
}

nlohmann::json SessionEventNames::to_json() const {
  std::vector<std::pair<SessionEvent, std::string_view>> sorted(names_.begin(), names_.end());
  std::ranges::sort(sorted);
  nlohmann::json events = nlohmann::json::array(), names = events;
  for (const auto& [event, name] : sorted) {
    events.push_back(event);
    names.push_back(name);
  }
  return {{"events", events}, {"names", names}};
}

void SessionEventNames::restore(const nlohmann::json& json) {
  const std::vector<Index> events = log_counts(json, "events");
  const nlohmann::json& names = log_list(json, "names");
  if (events.size() != names.size() || events.size() > kMostNames) refuse_log_model("the event names are inconsistent");
  names_.clear();
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!names[i].is_string()) refuse_log_model("the event names are inconsistent");
    names_.emplace(static_cast<SessionEvent>(events[i]), names[i].get<std::string>());
  }
}

nlohmann::json to_json(const LogSessionCard& card) {
  return {{"role", card.role},
          {"field", card.field},
          {"labels", card.labels},
          {"timed", card.timed},
          {"pause", card.pause},
          {"shortest", card.shortest},
          {"longest", card.longest},
          {"scorer", card.scorer.to_json(false)},
          {"names", card.names.to_json()}};
}

std::optional<LogSessionCard> log_session_card(const SymbolModel& model) {
  const auto log = model.configuration().find("log");
  if (log == model.configuration().end() || !log->is_object() || !log->contains("sessions")) return std::nullopt;
  const nlohmann::json& json = (*log)["sessions"];
  const nlohmann::json& role = log_part(json, "role");
  if (!role.is_number_unsigned()) refuse_log_model("the sessions are inconsistent");
  LogSessionCard card{.role = role.get<std::uint64_t>(),
                      .field = log_text(json, "field"),
                      .labels = log_hashes(json, "labels"),
                      .timed = log_flag(json, "timed"),
                      .pause = log_number(json, "pause"),
                      .shortest = log_count(json, "shortest"),
                      .longest = log_count(json, "longest"),
                      .scorer = SessionScorer::from_json(log_part(json, "scorer"))};
  card.names.restore(log_part(json, "names"));
  return card;
}

std::optional<LogSessionCard> learn_sessions(const EachLogLine& each_line, const LogGrouping& grouping,
                                             const std::vector<std::uint64_t>& followed,
                                             const std::optional<SessionLines>& lines, const LogClock& clock,
                                             bool required) {
  constexpr Index kMostMeanLength = 1000;
  LogSessionCard card{.role = grouping.role, .field = lines ? std::string() : grouping.name};
  SessionList list;
  if (lines) {
    read_lines(each_line, *lines, card, list);
  } else {
    card.labels = event_labels(each_line, card.role, followed);
    read_grouped(each_line, clock, card, list);
  }
  const std::vector<SessionEvents> sessions = list.all();
  Index events = 0;
  card.shortest = sessions.empty() ? 0 : std::ssize(sessions.front());
  for (const SessionEvents& session : sessions) {
    card.shortest = std::min(card.shortest, std::ssize(session));
    card.longest = std::max(card.longest, std::ssize(session));
    events += std::ssize(session);
  }
  const auto count = static_cast<Index>(sessions.size());
  if (sessions.size() < SessionScorer::kLeastSessions) {
    if (required)
      throw UsageError(
          fmt::format("--group {}: there are only {} sessions, but at least {} are needed; use a longer log",
                      grouping.name, count, SessionScorer::kLeastSessions));
    return std::nullopt;
  }
  if (!required && !lines && (2 * events < 3 * count || events > kMostMeanLength * count)) return std::nullopt;
  card.scorer.fit(sessions);
  return card;
}

std::string describe(const LogSessionCard& card) {
  const SessionScorer& scorer = card.scorer;
  std::vector<std::string_view> sources;
  for (const SessionSource source : scorer.chosen())
    sources.push_back(kSessionSources[static_cast<std::size_t>(source)]);
  const std::string what =
      card.field.empty()
          ? fmt::format("each line is a session of {} to {} events: {} sessions", card.shortest, card.longest,
                        scorer.model().sessions())
          : fmt::format(
                "lines with the same {} form a session of {} to {} lines, which ends after a pause of {:g} {}: {} "
                "sessions (unfold score --by session)",
                card.field, card.shortest, card.longest, card.pause, card.timed ? "s" : "lines",
                scorer.model().sessions());
  return fmt::format(
      "{}; their score consists of {}: area under the ROC curve {:.3f} for altered sessions (number of "
      "events {:.3f}, unseen events {:.3f})",
      what, fmt::join(sources, ", "), scorer.area(), scorer.length_area(), scorer.unseen_area());
}

std::string reason_of(const SessionScore& score, const SessionEventNames& names) {
  const SessionParts& parts = score.parts;
  const auto count_text = [&](SessionEvent event, Index count, Index usual) {
    if (count == 0) return fmt::format("no {}", names.name(event));
    if (usual == 0) return fmt::format("{}: {} times, usually never", names.name(event), count);
    return fmt::format("{}: {} times, usually {}", names.name(event), count, usual);
  };
  const auto step_text = [&] {
    if (parts.step == kSessionEnd) return fmt::format("end after {}", names.name(parts.step_before));
    if (parts.step_before == kSessionBegin) return fmt::format("{} at the beginning", names.name(parts.step));
    return fmt::format("{} after {}", names.name(parts.step), names.name(parts.step_before));
  };
  if (parts.unseen != 0) return fmt::format("new event {}", names.name(parts.unseen));
  switch (score.source) {
    case SessionSource::counts: return count_text(parts.count_event, parts.count, parts.count_usual);
    case SessionSource::pairs:
      return fmt::format("numbers of {} and {}", names.name(parts.pair[0]), names.name(parts.pair[1]));
    case SessionSource::distance:
    case SessionSource::kind:
      if (parts.distance_event != 0)
        return count_text(parts.distance_event, parts.distance_count, parts.distance_usual);
      return step_text();
    default: return step_text();
  }
}

LogSessionScorer::LogSessionScorer(const SymbolModel& model, bool adapt, std::string name)
    : card_([&] {
        std::optional<LogCard> card = log_card(model);
        if (!card) throw UsageError("this model was not trained with --format log; train it on a log with this option");
        return *std::move(card);
      }()),
      sessions_([&] {
        std::optional<LogSessionCard> card = log_session_card(model);
        if (!card)
          throw UsageError(
              "this model has no sessions: no field of the log identifies them; name one with unfold train --group "
              "FIELD");
        return *std::move(card);
      }()),
      reader_(card_, std::move(name)),
      open_(sessions_.pause),
      adapt_(adapt) {
  new_names_ = sessions_.names;
}

void LogSessionScorer::see(LogSession session) {
  ended_.push_back({.session = std::move(session)});
  ScoredSession& scored = ended_.back();
  scored.score = sessions_.scorer.score(scored.session.events);
  if (adapt_ && !learns_all_) sessions_.scorer.adapt(scored.session.events, scored.score);
  if (!learns_all_) return;
  sessions_.scorer.learn(scored.session.events, scored.score);
  sessions_.shortest = std::min(sessions_.shortest, std::ssize(scored.session.events));
  sessions_.longest = std::max(sessions_.longest, std::ssize(scored.session.events));
}

LogSessionCard LogSessionScorer::learned_card() const {
  LogSessionCard card = sessions_;
  card.names = new_names_;
  return card;
}

void LogSessionScorer::read_session() {
  const std::string& repaired = reader_.parts().repaired;
  card_.session_lines->split(repaired.empty() ? reader_.text() : std::string_view(repaired), parts_);
  LogSession session{
      .key = parts_.id.empty() ? std::to_string(reader_.number()) : beginning(parts_.id, OpenSessions::kLongestKey),
      .first_line = reader_.number(),
      .last_line = reader_.number(),
      .label = reader_.label().value_or(""),
      .end = LogSessionEnd::line};
  for (const std::string_view word : parts_.events) {
    session.events.push_back(event_of_hash(hash_of_cell(word)));
    new_names_.add(session.events.back(), [&] { return std::string(word); });
  }
  see(std::move(session));
}

const std::vector<ScoredSession>& LogSessionScorer::read(std::string_view line, Index lines) {
  ended_.clear();
  reader_.read(line, lines);
  if (one_per_line()) {
    read_session();
    return ended_;
  }
  std::string_view time_text;
  if (!sessions_.timed) {
    time_ = static_cast<double>(reader_.number());
  } else if (const std::optional<LogTime> time = reader_.time()) {
    time_ = time->seconds;
    time_text = time->text;
  }
  const LogEvent& event = events_.read(reader_.parts());
  const LogEventValue* key = session_key(event, sessions_.role);
  if (key == nullptr) {
    open_.pass(time_);
  } else {
    const SessionEvent which = event_of_hash(hash_of_event(event, sessions_.labels));
    new_names_.add(which, [&] { return name_of_event(event, sessions_.labels); });
    open_.add({.key = key->text,
               .event = which,
               .line = reader_.number(),
               .time = time_,
               .time_text = time_text,
               .label = reader_.label() ? std::string_view(*reader_.label()) : std::string_view()});
  }
  score_ended();
  return ended_;
}

void LogSessionScorer::score_ended() {
  for (LogSession& session : open_.take_ended()) see(std::move(session));
}

const std::vector<ScoredSession>& LogSessionScorer::finish() {
  ended_.clear();
  open_.end_all();
  score_ended();
  return ended_;
}

nlohmann::json LogSessionScorer::state() const {
  return {{"lines", reader_.lines()},
          {"records", reader_.records()},
          {"labelled", reader_.labeled() ? nlohmann::json(*reader_.labeled()) : nlohmann::json()},
          {"scorer", sessions_.scorer.to_json(true)},
          {"names", new_names_.to_json()},
          {"open", open_.to_json()},
          {"time", time_}};
}

void LogSessionScorer::restore(const nlohmann::json& json) {
  const nlohmann::json& labeled = log_part(json, "labelled");
  reader_.continue_after(log_count(json, "lines"), log_count(json, "records"),
                         labeled.is_boolean() ? std::optional(labeled.get<bool>()) : std::nullopt);
  sessions_.scorer = SessionScorer::from_json(log_part(json, "scorer"));
  new_names_.restore(log_part(json, "names"));
  open_.restore(log_part(json, "open"));
  time_ = log_number(json, "time");
}

}  // namespace unfold
