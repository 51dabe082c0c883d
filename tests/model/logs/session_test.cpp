// Sessions of logs: the scores of a session compared with slow references, the choice of the score, adaptation, and
// when sessions end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "model/logs/open_sessions.h"
#include "model/logs/session_scorer.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using Events = std::vector<SessionEvent>;

/// Requests: begin, one or more reads, sometimes a write, end.
Events request(std::mt19937& random) {
  Events events{10};
  const int reads = 1 + static_cast<int>(random() % 3);
  for (int i = 0; i < reads; ++i) events.push_back(11);
  if (random() % 4 == 0) events.insert(events.end(), {12, 13});
  events.push_back(14);
  return events;
}

std::vector<Events> requests(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Events> sessions;
  for (int i = 0; i < count; ++i) sessions.push_back(request(random));
  return sessions;
}

std::vector<SessionEvents> views(const std::vector<Events>& sessions) { return {sessions.begin(), sessions.end()}; }

double score_of(const SessionParts& parts, SessionSource source) {
  return parts.scores[static_cast<std::size_t>(source)];
}

Index occurrences(const Events& events, SessionEvent event) { return std::ranges::count(events, event); }

/// - log2 of the share of sessions whose value is at most as common, with one more session for every value.
double slow_rarity(const std::vector<Index>& values, Index value) {
  std::map<Index, double> counts;
  for (const Index x : values) ++counts[x];
  const double own = counts.contains(value) ? counts[value] : 0, different = static_cast<double>(counts.size());
  double common = different;
  for (const auto& [x, count] : counts)
    if (count <= own) common += count;
  return -std::log2(common / (static_cast<double>(values.size()) + different));
}

class SessionModelTest : public ::testing::Test {
 protected:
  SessionModelTest() {
    model_.fit(views(normal_));
    std::mt19937 random(3);
    for (int i = 0; i < 40; ++i) {
      Events events = request(random);
      events[random() % events.size()] = 10 + random() % 6;  // 15 does not occur in normal sessions
      altered_.push_back(events);
    }
  }
  std::set<SessionEvent> known() const {
    std::set<SessionEvent> all;
    for (const Events& events : normal_) all.insert(events.begin(), events.end());
    return all;
  }
  static bool all_known(const Events& events) { return std::ranges::find(events, 15u) == events.end(); }

  std::vector<Events> normal_ = requests(200, 1), altered_;
  SessionModel model_;
};

TEST_F(SessionModelTest, counts_are_as_rare_as_in_a_count_over_all_sessions) {
  for (const Events& events : altered_) {
    double worst = 0;
    for (const SessionEvent event : known()) {
      std::vector<Index> values;
      for (const Events& other : normal_) values.push_back(occurrences(other, event));
      worst = std::max(worst, slow_rarity(values, occurrences(events, event)));
    }
    if (!all_known(events)) worst = std::max(worst, std::log2(201.0) + 1);
    EXPECT_NEAR(score_of(model_.score(events), SessionSource::counts), worst, 1e-9);
  }
}

TEST_F(SessionModelTest, relations_of_counts_are_as_rare_as_in_a_count_over_all_sessions) {
  const auto relation = [](const Events& events, SessionEvent a, SessionEvent b) {
    const Index difference = occurrences(events, a) - occurrences(events, b);
    return Index{difference > 0} - Index{difference < 0};
  };
  for (const Events& events : altered_) {
    double worst = 0;
    for (const SessionEvent a : known())
      for (const SessionEvent b : known()) {
        if (a == b) continue;
        std::vector<Index> values;
        for (const Events& other : normal_) values.push_back(relation(other, a, b));
        worst = std::max(worst, slow_rarity(values, relation(events, a, b)));
      }
    if (!all_known(events)) worst = std::max(worst, std::log2(201.0) + 1);
    EXPECT_NEAR(score_of(model_.score(events), SessionSource::pairs), worst, 1e-9);
  }
}

TEST_F(SessionModelTest, distance_is_the_least_over_all_normal_sessions) {
  std::map<SessionEvent, double> deviation;
  const auto log_count = [](const Events& events, SessionEvent event) {
    return std::log2(1.0 + static_cast<double>(occurrences(events, event)));
  };
  for (const SessionEvent event : known()) {
    double sum = 0, squares = 0;
    for (const Events& other : normal_) {
      const double log = log_count(other, event);
      sum += log, squares += log * log;
    }
    deviation[event] = std::sqrt(std::max(0.0, squares / 200 - sum / 200 * sum / 200));
  }
  for (const Events& events : altered_) {
    double least = 1e9;
    for (const Events& other : normal_) {
      double distance = log_count(events, 15) * 4;
      for (const SessionEvent event : known())
        distance += std::fabs(log_count(events, event) - log_count(other, event)) / (deviation[event] + 0.25);
      least = std::min(least, distance);
    }
    EXPECT_NEAR(score_of(model_.score(events), SessionSource::distance), 16 * std::log2(1 + least), 1e-6);
  }
}

TEST_F(SessionModelTest, an_impossible_step_and_a_missing_end_are_found_at_their_positions) {
  const SessionParts swapped = model_.score(Events{10, 11, 13, 12, 14});
  EXPECT_EQ(swapped.step_position, 2u);
  EXPECT_EQ(swapped.step, 13u);
  EXPECT_EQ(swapped.step_before, 11u);
  const SessionParts cut = model_.score(Events{10, 11, 11});
  EXPECT_EQ(cut.step, kSessionEnd);
  EXPECT_GT(score_of(cut, SessionSource::step),
            score_of(model_.score(Events{10, 11, 11, 14}), SessionSource::step) + 2);
  EXPECT_EQ(model_.score(Events{10, 15, 14}).unseen, 15u);
}

TEST_F(SessionModelTest, json_restores_the_same_scores) {
  const SessionModel same = SessionModel::from_json(nlohmann::json::parse(model_.to_json(true).dump()));
  EXPECT_EQ(same.to_json(true), model_.to_json(true));
  for (const Events& events : altered_) EXPECT_EQ(same.score(events).scores, model_.score(events).scores);
  for (const char* key : {"sessions", "events", "counts", "relations", "kinds", "prototypes", "contexts", "occurs"}) {
    nlohmann::json broken = model_.to_json(true);
    broken[key] = "x";
    EXPECT_THROW(SessionModel::from_json(broken), ModelError) << key;
  }
}

TEST(SessionAlterations, differ_from_the_session_and_are_the_same_in_every_run) {
  const std::vector<Events> others = requests(20, 4);
  const std::vector<SessionEvents> other_views = views(others);
  const Events events{10, 11, 12, 13, 14};
  for (int alteration = 0; alteration < kSessionAlterations; ++alteration) {
    Random random(1, 2), again(1, 2);
    for (int i = 0; i < 50; ++i) {
      const Events altered = altered_session(events, alteration, other_views, {10, 11, 12, 13, 14}, random);
      EXPECT_NE(altered, events);
      EXPECT_EQ(altered, altered_session(events, alteration, other_views, {10, 11, 12, 13, 14}, again));
    }
  }
}

class SessionScorerTest : public ::testing::Test {
 protected:
  SessionScorerTest() { scorer_.fit(views(normal_)); }
  std::vector<Events> normal_ = requests(2000, 1);
  SessionScorer scorer_;
};

TEST_F(SessionScorerTest, altered_sessions_rank_above_other_normal_sessions) {
  EXPECT_GT(scorer_.area(), 0.95);
  EXPECT_GT(scorer_.area(), scorer_.length_area());
  EXPECT_GT(scorer_.area(), scorer_.unseen_area());
  double highest = 0;
  for (const Events& events : requests(500, 7)) highest = std::max(highest, scorer_.score(events).surprise);
  for (const Events& events : {Events{10, 11, 12, 14}, Events{10, 14, 11}, Events{11, 14}, Events{10, 11, 15, 14},
                               Events{10, 12, 13, 14}, Events{10, 11, 11, 11, 11, 11, 11, 11, 11, 11, 14}})
    EXPECT_GT(scorer_.score(events).surprise, highest);
}

TEST_F(SessionScorerTest, p_values_of_normal_sessions_are_uniform) {
  const std::vector<Events> others = requests(4000, 9);
  for (const double share : {0.1, 0.01}) {
    Index below = 0;
    for (const Events& events : others) below += scorer_.score(events).p_value() <= share;
    EXPECT_LE(static_cast<double>(below) / 4000, 1.5 * share + 0.002);
  }
}

TEST_F(SessionScorerTest, a_rare_new_kind_is_learned_and_an_incident_is_not) {
  const Events kind{10, 16, 16, 14};
  SessionScorer quiet = scorer_, incident = scorer_;
  const double before = quiet.score(kind).p_bits;
  const std::vector<Events> normal = requests(3000, 11);
  for (std::size_t i = 0; i < normal.size(); ++i) {
    quiet.adapt(normal[i], quiet.score(normal[i]));
    if (i % 300 == 299) quiet.adapt(kind, quiet.score(kind));
  }
  for (std::size_t i = 0; i < 3000; ++i) incident.adapt(kind, incident.score(kind));
  EXPECT_LT(quiet.score(kind).p_bits, before - 2);
  EXPECT_NEAR(incident.score(kind).p_bits, before, 1e-9);
}

TEST_F(SessionScorerTest, json_restores_the_same_scores) {
  const SessionScorer same = SessionScorer::from_json(nlohmann::json::parse(scorer_.to_json(true).dump()));
  EXPECT_EQ(same.to_json(true), scorer_.to_json(true));
  for (const Events& events : requests(50, 13)) EXPECT_EQ(same.score(events).surprise, scorer_.score(events).surprise);
  nlohmann::json broken = scorer_.to_json(true);
  broken["chosen"] = {99};
  EXPECT_THROW(SessionScorer::from_json(broken), ModelError);
}

std::vector<std::string> keys_of(const std::vector<LogSession>& sessions) {
  std::vector<std::string> keys;
  for (const LogSession& session : sessions) keys.push_back(session.key);
  return keys;
}

using Keys = std::vector<std::string>;

TEST(OpenSessions, end_after_a_pause_or_at_the_end) {
  OpenSessions open(10);
  open.add({.key = "a", .event = 5, .line = 1, .time = 100});
  open.add({.key = "b", .event = 6, .line = 2, .time = 104});
  open.add({.key = "a", .event = 7, .line = 3, .time = 108});
  EXPECT_TRUE(open.take_ended().empty());
  open.add({.key = "c", .event = 8, .line = 4, .time = 115});
  const std::vector<LogSession> ended = open.take_ended();
  ASSERT_EQ(keys_of(ended), Keys{"b"});
  EXPECT_EQ(ended[0].end, LogSessionEnd::pause);
  open.end_all();
  const std::vector<LogSession> rest = open.take_ended();
  ASSERT_EQ(keys_of(rest), (Keys{"a", "c"}));
  EXPECT_EQ(rest[0].events, (Events{5, 7}));
  EXPECT_EQ(rest[0].first_line, 1);
  EXPECT_EQ(rest[0].last_line, 3);
  EXPECT_EQ(rest[0].end, LogSessionEnd::input);
}

TEST(OpenSessions, a_key_that_returns_after_a_pause_begins_a_session) {
  OpenSessions open(10);
  open.add({.key = "a", .event = 5, .time = 0});
  open.add({.key = "a", .event = 6, .time = 20});
  EXPECT_EQ(open.take_ended().size(), 1u);
  EXPECT_EQ(open.open(), 1u);
}

TEST(OpenSessions, end_when_the_clock_goes_back) {
  OpenSessions open(10);
  open.add({.key = "a", .event = 5, .time = 1000});
  open.add({.key = "b", .event = 5, .time = 5});
  EXPECT_EQ(keys_of(open.take_ended()), Keys{"a"});
}

TEST(OpenSessions, memory_is_bounded) {
  OpenSessions open(1e9);
  for (std::size_t i = 0; i < OpenSessions::kMostEvents + 5; ++i) open.add({.key = "long", .event = 5});
  EXPECT_EQ(open.take_ended().front().end, LogSessionEnd::length);
  for (std::size_t i = 0; i < OpenSessions::kMostOpen + 5; ++i) open.add({.key = std::to_string(i), .event = 5});
  EXPECT_EQ(open.open(), OpenSessions::kMostOpen);
  EXPECT_EQ(open.take_ended().front().end, LogSessionEnd::memory);
}

TEST(OpenSessions, continue_from_their_state) {
  OpenSessions open(10);
  open.add({.key = "a", .event = 5, .line = 1, .time = 1, .label = "-"});
  open.add({.key = "b", .event = 6, .line = 2, .time = 2, .label = "FAIL"});
  OpenSessions same(10);
  same.restore(nlohmann::json::parse(open.to_json().dump()));
  EXPECT_EQ(same.to_json(), open.to_json());
  same.add({.key = "a", .event = 7, .line = 3, .time = 10.5, .label = "FAIL"});
  EXPECT_TRUE(same.take_ended().empty());
  same.pass(13);
  EXPECT_EQ(keys_of(same.take_ended()), Keys{"b"});
  EXPECT_EQ(same.open(), 1u);
  EXPECT_THROW(OpenSessions(1).restore({{"x", 1}}), ModelError);
}

}  // namespace
}  // namespace unfold
