#include "model/logs/open_sessions.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/logs/log_lines.h"
#include "model/logs/log_json.h"

namespace unfold {

void OpenSessions::end_oldest(LogSessionEnd end) {
  by_key_.erase(sessions_.front().key);
  held_ -= sessions_.front().events.size();
  ended_.push_back(std::move(sessions_.front()));
  ended_.back().end = end;
  sessions_.pop_front();
}

void OpenSessions::pass(double time) {
  while (!sessions_.empty() && std::fabs(time - sessions_.front().last_time) > pause_) end_oldest(LogSessionEnd::pause);
}

void OpenSessions::add(const LogSessionLine& line) {
  pass(line.time);
  const std::string_view key = line.key.substr(0, kLongestKey);
  auto found = by_key_.find(key);
  if (found == by_key_.end()) {
    sessions_.push_back({.key = std::string(key), .first_line = line.line});
    sessions_.back().first_time_text = std::string(line.time_text);
    found = by_key_.emplace(sessions_.back().key, std::prev(sessions_.end())).first;
  }
  LogSession& session = *found->second;
  sessions_.splice(sessions_.end(), sessions_, found->second);
  session.events.push_back(line.event);
  ++held_;
  session.last_line = line.line;
  session.last_time = line.time;
  session.last_time_text = std::string(line.time_text);
  if (session.label.empty() || session.label == kNormalLabel) session.label = std::string(line.label);
  if (session.events.size() >= kMostEvents) {
    sessions_.splice(sessions_.begin(), sessions_, found->second);
    end_oldest(LogSessionEnd::length);
  }
  while (sessions_.size() > kMostOpen || held_ > kMostHeld) end_oldest(LogSessionEnd::memory);
}

void OpenSessions::end_all() {
  while (!sessions_.empty()) end_oldest(LogSessionEnd::input);
}

std::vector<LogSession> OpenSessions::take_ended() { return std::exchange(ended_, {}); }

nlohmann::json OpenSessions::to_json() const {
  nlohmann::json sessions = nlohmann::json::array();
  for (const LogSession& session : sessions_)
    sessions.push_back({{"key", session.key},
                        {"events", session.events},
                        {"first-line", session.first_line},
                        {"last-line", session.last_line},
                        {"last-time", session.last_time},
                        {"first-time-text", session.first_time_text},
                        {"last-time-text", session.last_time_text},
                        {"label", session.label}});
  return sessions;
}

void OpenSessions::restore(const nlohmann::json& json) {
  if (!json.is_array() || json.size() > kMostOpen) refuse_log_model("the open sessions are inconsistent");
  for (const nlohmann::json& entry : json) {
    LogSession session{.key = log_text(entry, "key"),
                       .first_line = log_count(entry, "first-line"),
                       .last_line = log_count(entry, "last-line"),
                       .last_time = log_number(entry, "last-time"),
                       .first_time_text = log_text(entry, "first-time-text"),
                       .last_time_text = log_text(entry, "last-time-text"),
                       .label = log_text(entry, "label")};
    for (const Index event : log_counts(entry, "events")) session.events.push_back(static_cast<SessionEvent>(event));
    held_ += session.events.size();
    sessions_.push_back(std::move(session));
    if (!by_key_.emplace(sessions_.back().key, std::prev(sessions_.end())).second)
      refuse_log_model("the open sessions are inconsistent");
  }
}

}  // namespace unfold
