#include "model/logs/session_scorer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/logs/count_table.h"
#include "model/logs/log_json.h"
#include "model/logs/log_math.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

constexpr std::size_t kHeldOutFolds = 5, kBlocksOfFold = 10, kEnoughHeldOut = 2000, kMostAltered = 400, kMostChosen = 4;
constexpr SessionEvent kNewEvent = 0xffffffffu;
constexpr std::size_t kTrivialScores = 2;

using SessionSourceBits = std::array<double, kSessionSourceCount>;

/// Returns the area under the ROC curve of scores against sorted scores of normal sessions.
double area_against(const std::vector<double>& sorted, const std::vector<double>& scores) {
  double sum = 0;
  for (const double score : scores) {
    const auto below = std::ranges::lower_bound(sorted, score) - sorted.begin();
    const auto through = std::ranges::upper_bound(sorted, score) - sorted.begin();
    sum += static_cast<double>(below + through) / 2;
  }
  return sum / (static_cast<double>(sorted.size()) * static_cast<double>(scores.size()));
}

double combined_bits(const SessionSourceBits& bits, const std::vector<SessionSource>& sources) {
  double most = 0, sum = 0;
  for (const SessionSource source : sources) most = std::max(most, bits[static_cast<std::size_t>(source)]);
  for (const SessionSource source : sources) sum += exp2_of(bits[static_cast<std::size_t>(source)] - most);
  return std::max(0.0, most + log2_of(sum / static_cast<double>(sources.size())));
}

}  // namespace

double SessionScore::p_value() const { return exp2_of(-p_bits); }

std::vector<SessionEvent> altered_session(SessionEvents events, int alteration,
                                          const std::vector<SessionEvents>& others,
                                          const std::vector<SessionEvent>& known, Random& random) {
  std::vector<SessionEvent> x(events.begin(), events.end());
  const auto any = [&](std::size_t n) { return static_cast<std::size_t>(random.below(std::max<std::size_t>(n, 1))); };
  const auto at = [&](std::size_t i) { return x.begin() + static_cast<std::ptrdiff_t>(i); };
  const std::size_t n = x.size(), i = any(n), j = any(n + 1);
  if (n == 0 || known.empty()) return {};
  switch (alteration) {
    case 0:  // an event is missing
      x.erase(at(i));
      break;
    case 1:  // an event occurs again
      x.insert(at(j), events[i]);
      break;
    case 2:  // an additional event
      x.insert(at(j), known[any(known.size())]);
      break;
    case 3:  // an event is replaced
      x[i] = known[any(known.size())];
      break;
    case 4:  // the end is missing
      x.resize(i);
      break;
    case 5:  // the beginning is missing
      x.erase(x.begin(), at(i));
      break;
    case 6:  // two events in the wrong order
      if (i + 1 < n) std::swap(x[i], x[i + 1]);
      break;
    case 7: {  // an event at the wrong position
      x.erase(at(i));
      x.insert(at(any(n)), events[i]);
      break;
    }
    case 8:  // all occurrences are missing
      std::erase(x, events[i]);
      break;
    case 9: {  // a part occurs again
      const std::size_t size = std::min(n - i, 1 + any(n / 4));
      const std::vector<SessionEvent> part(at(i), at(i + size));
      x.insert(at(i), part.begin(), part.end());
      break;
    }
    case 10: {  // the end of another session
      if (others.empty()) return {};
      const SessionEvents other = others[any(others.size())];
      x.resize(i);
      const std::size_t from = any(other.size());
      x.insert(x.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
      break;
    }
    case 11:  // a new event
      x.insert(at(j), kNewEvent);
      break;
    case 12:  // an event is repeated many times
      x.insert(at(i), 10, events[i]);
      break;
    default:  // the events are shuffled
      for (std::size_t k = n; k > 1; --k) std::swap(x[k - 1], x[any(k)]);
  }
  return std::ranges::equal(x, events) ? std::vector<SessionEvent>() : x;
}

/// The scores of held-out and altered sessions.
class SessionScorer::Choice {
 public:
  /// Scores the sessions of a fold with a model fitted to the other folds.
  void hold_out(const std::vector<SessionEvents>& sessions, std::size_t fold, std::size_t block);
  void calibrate(std::array<TailCalibration, kSessionSourceCount>& sources);
  void choose(SessionScorer& scorer);
  std::size_t held_out() const { return normal_.size(); }

 private:
  struct Scored {
    SessionSourceBits bits{};  // the scores; after calibrate(), - log2 p
    std::array<double, kTrivialScores> trivial{};
  };
  template <class Value>
  double area_of(Value value) const;

  std::vector<Scored> normal_;
  std::array<std::vector<Scored>, kSessionAlterations> altered_;
};

void SessionScorer::Choice::hold_out(const std::vector<SessionEvents>& sessions, std::size_t fold, std::size_t block) {
  std::vector<SessionEvents> held_out, others;
  for (std::size_t i = 0; i < sessions.size(); ++i)
    (i / block % kHeldOutFolds == fold ? held_out : others).push_back(sessions[i]);
  if (held_out.empty() || others.empty()) return;
  SessionModel model;
  model.fit(others);
  LogFollowers lengths;
  for (const SessionEvents& events : others) lengths.add(static_cast<std::uint32_t>(count_group(std::ssize(events))));
  const auto scored = [&](SessionEvents events) {
    const SessionParts parts = model.score(events);
    const Index same = lengths.count(static_cast<std::uint32_t>(count_group(std::ssize(events))));
    const Index rare = (same == 0 ? 0 : lengths.at_most(same)) + lengths.different;
    return Scored{.bits = parts.scores, .trivial = {1 / static_cast<double>(rare), parts.unseen != 0 ? 1.0 : 0.0}};
  };
  Random random(1, "altered sessions " + std::to_string(fold));
  const auto share = static_cast<double>(kMostAltered) / static_cast<double>(held_out.size());
  for (const SessionEvents& events : held_out) {
    normal_.push_back(scored(events));
    if (random.uniform() >= share) continue;
    for (int alteration = 0; alteration < kSessionAlterations; ++alteration) {
      const std::vector<SessionEvent> altered = altered_session(events, alteration, held_out, model.events(), random);
      if (!altered.empty()) altered_[static_cast<std::size_t>(alteration)].push_back(scored(altered));
    }
  }
}

void SessionScorer::Choice::calibrate(std::array<TailCalibration, kSessionSourceCount>& sources) {
  const auto each = [&](const auto& use) {
    for (Scored& scored : normal_) use(scored.bits);
    for (std::vector<Scored>& some : altered_)
      for (Scored& scored : some) use(scored.bits);
  };
  for (const Scored& scored : normal_)
    for (std::size_t i = 0; i < sources.size(); ++i) sources[i].add(scored.bits[i]);
  each([&](SessionSourceBits& bits) {
    for (std::size_t i = 0; i < sources.size(); ++i) bits[i] = sources[i].p_bits(bits[i]);
  });
}

template <class Value>
double SessionScorer::Choice::area_of(Value value) const {
  std::vector<double> normal, altered;
  for (const Scored& scored : normal_) normal.push_back(value(scored));
  std::ranges::sort(normal);
  double sum = 0, kinds = 0;
  for (const std::vector<Scored>& some : altered_) {
    if (some.empty()) continue;
    altered.clear();
    for (const Scored& scored : some) altered.push_back(value(scored));
    sum += area_against(normal, altered);
    ++kinds;
  }
  return kinds > 0 ? sum / kinds : 0.5;
}

void SessionScorer::Choice::choose(SessionScorer& scorer) {
  for (std::size_t i = 0; i < kSessionSourceCount; ++i)
    scorer.areas_[i] = area_of([&](const Scored& scored) { return scored.bits[i]; });
  scorer.length_area_ = area_of([](const Scored& scored) { return scored.trivial[0]; });
  scorer.unseen_area_ = area_of([](const Scored& scored) { return scored.trivial[1]; });
  std::vector<SessionSource>& chosen = scorer.chosen_;
  while (chosen.size() < kMostChosen) {
    double best = scorer.area_ + (chosen.empty() ? 0 : kLeastGain);
    std::optional<SessionSource> added;
    for (std::size_t i = 0; i < kSessionSourceCount; ++i) {
      std::vector<SessionSource> with = chosen;
      with.push_back(static_cast<SessionSource>(i));
      if (std::ranges::find(chosen, with.back()) != chosen.end()) continue;
      const double area = area_of([&](const Scored& scored) { return combined_bits(scored.bits, with); });
      if (area <= best) continue;
      best = area;
      added = with.back();
    }
    if (!added) break;
    chosen.push_back(*added);
    scorer.area_ = best;
  }
  for (const Scored& scored : normal_) scorer.surprise_.add(combined_bits(scored.bits, chosen));
}

void SessionScorer::fit(const std::vector<SessionEvents>& sessions) {
  const std::size_t block = std::max<std::size_t>(1, sessions.size() / (kHeldOutFolds * kBlocksOfFold));
  Choice choice;
  for (std::size_t fold = kHeldOutFolds; fold-- > 0 && choice.held_out() < kEnoughHeldOut;)
    choice.hold_out(sessions, fold, block);
  choice.calibrate(sources_);
  choice.choose(*this);
  model_.fit(sessions);
}

void SessionScorer::combine(SessionScore& score) const {
  score.surprise = combined_bits(score.bits, chosen_);
  score.p_bits = surprise_.p_bits(score.surprise);
  score.source = chosen_.front();
  for (const SessionSource source : chosen_)
    if (score.bits[static_cast<std::size_t>(source)] > score.bits[static_cast<std::size_t>(score.source)])
      score.source = source;
}

SessionScore SessionScorer::score(SessionEvents events) const {
  SessionScore score{.parts = model_.score(events)};
  for (std::size_t i = 0; i < kSessionSourceCount; ++i) score.bits[i] = sources_[i].p_bits(score.parts.scores[i]);
  combine(score);
  return score;
}

void SessionScorer::adapt(SessionEvents events, const SessionScore& score) {
  constexpr double kMostAdaptable = 3;
  const bool unusual = score.p_bits > -log2_of(kUnusual);
  unusual_ += ((unusual ? 1 : 0) - unusual_) / kQuietSessions;
  adaptable_ = std::min(kMostAdaptable, adaptable_ + kAdaptShare);
  if (!unusual || adaptable_ < 1 || unusual_ >= kQuietShare) return;
  --adaptable_;
  model_.learn(events);
}

void SessionScorer::learn(SessionEvents events, const SessionScore& score) {
  for (std::size_t i = 0; i < kSessionSourceCount; ++i) sources_[i].add(score.parts.scores[i]);
  surprise_.add(score.surprise);
  model_.learn(events);
}

nlohmann::json SessionScorer::to_json(bool whole) const {
  nlohmann::json sources = nlohmann::json::array(), chosen = sources;
  for (const TailCalibration& source : sources_) sources.push_back(source.to_json());
  for (const SessionSource source : chosen_) chosen.push_back(static_cast<int>(source));
  return {{"model", model_.to_json(whole)},
          {"sources", sources},
          {"surprise", surprise_.to_json()},
          {"chosen", chosen},
          {"area", area_},
          {"areas", areas_},
          {"length-area", length_area_},
          {"unseen-area", unseen_area_},
          {"adaptable", adaptable_},
          {"unusual", unusual_}};
}

SessionScorer SessionScorer::from_json(const nlohmann::json& json) {
  SessionScorer scorer;
  scorer.model_ = SessionModel::from_json(log_part(json, "model"));
  const nlohmann::json& sources = log_list(json, "sources");
  const std::vector<Index> chosen = log_counts(json, "chosen");
  const std::vector<double> areas = log_numbers(json, "areas");
  if (sources.size() != kSessionSourceCount || areas.size() != kSessionSourceCount || chosen.empty() ||
      chosen.size() > kMostChosen || std::ranges::max(chosen) >= static_cast<Index>(kSessionSourceCount))
    refuse_log_model("the sessions are inconsistent");
  for (std::size_t i = 0; i < kSessionSourceCount; ++i) {
    scorer.sources_[i] = TailCalibration::from_json(sources[i]);
    scorer.areas_[i] = areas[i];
  }
  for (const Index source : chosen) scorer.chosen_.push_back(static_cast<SessionSource>(source));
  scorer.surprise_ = TailCalibration::from_json(log_part(json, "surprise"));
  scorer.area_ = log_number(json, "area");
  scorer.length_area_ = log_number(json, "length-area");
  scorer.unseen_area_ = log_number(json, "unseen-area");
  scorer.adaptable_ = log_number(json, "adaptable");
  scorer.unusual_ = log_number(json, "unusual");
  return scorer;
}

}  // namespace unfold
