#pragma once
/// Anomaly scores of sessions. The sources of the score (session_model.h) are chosen for each log.
///
///   SessionScorer scorer;
///   scorer.fit(sessions);                        // normal sessions, in the order in which they ended
///   SessionScore score = scorer.score(events);
///   scorer.adapt(events, score);                 // optional: learns new kinds of normal sessions
///
/// `fit` holds out blocks of sessions. Each source is calibrated by its distribution among held-out sessions
/// (tail_calibration.h). Altered sessions are made from held-out sessions: an event is removed, repeated, replaced or
/// moved, the session is cut, and so on. Sources are added by greedy forward selection: each step adds the source that
/// most increases the mean area under the ROC curve of altered against held-out sessions, as long as the increase is at
/// least kLeastGain. Let p_i be the p-values of the k chosen sources. The anomaly score in bits is
///
///   surprise = log2 [ (1 / k) sum_i 1 / p_i ],
///
/// which is again calibrated with held-out sessions to obtain the p-value of the session.
///
/// `adapt` learns unusual sessions slowly, because an incident must not become normal: at most kAdaptShare of the
/// sessions, and only while fewer than kQuietShare of the last sessions (about kQuietSessions) are unusual.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "model/logs/session_model.h"
#include "model/logs/tail_calibration.h"

namespace unfold {

struct SessionScore {
  std::array<double, kSessionSourceCount> bits{};  ///< - log2 of the p-value of each source
  double surprise = 0, p_bits = 0;
  SessionSource source = SessionSource::distance;  ///< the chosen source with the smallest p-value
  SessionParts parts = {};
  double p_value() const;
};

class SessionScorer {
 public:
  static constexpr std::size_t kLeastSessions = 20;
  static constexpr double kLeastGain = 0.002, kAdaptShare = 0.005, kQuietShare = 0.02, kQuietSessions = 1000,
                          kUnusual = 0.005;

  /// REQUIRES at least kLeastSessions sessions. Deterministic.
  void fit(const std::vector<SessionEvents>& sessions);
  SessionScore score(SessionEvents events) const;
  void adapt(SessionEvents events, const SessionScore& score);
  /// Learns another normal session with its score, which was computed before.
  void learn(SessionEvents events, const SessionScore& score);

  const SessionModel& model() const { return model_; }
  const std::vector<SessionSource>& chosen() const { return chosen_; }
  /// Return the mean area under the ROC curve of altered against held-out sessions, for the score and for each source
  /// alone.
  double area() const { return area_; }
  const std::array<double, kSessionSourceCount>& areas() const { return areas_; }
  /// Return the same area for two trivial scores: the rarity of the number of events, and whether an event is new.
  double length_area() const { return length_area_; }
  double unseen_area() const { return unseen_area_; }

  /// With `whole`, returns the complete state; otherwise only the part that a trained model needs.
  nlohmann::json to_json(bool whole) const;
  static SessionScorer from_json(const nlohmann::json& json);

 private:
  class Choice;
  void combine(SessionScore& score) const;

  SessionModel model_;
  std::array<TailCalibration, kSessionSourceCount> sources_;
  TailCalibration surprise_;
  std::vector<SessionSource> chosen_;
  double area_ = 0, length_area_ = 0, unseen_area_ = 0;
  std::array<double, kSessionSourceCount> areas_{};
  double adaptable_ = 0, unusual_ = 0;  // number of sessions that may be learned; share of unusual sessions
};

/// Alterations of a session, on which the choice of the sources is based. `others` are other normal sessions.
class Random;
inline constexpr int kSessionAlterations = 14;
/// Returns an altered session; empty if the alteration is not possible.
std::vector<SessionEvent> altered_session(SessionEvents events, int alteration,
                                          const std::vector<SessionEvents>& others,
                                          const std::vector<SessionEvent>& known, Random& random);

}  // namespace unfold
