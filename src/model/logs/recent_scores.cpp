#include "model/logs/recent_scores.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/logs/log_json.h"
#include "model/logs/log_math.h"

namespace unfold {

double RecentScores::p_bits(double long_run_bits) const {
  const double p = exp2_of(-long_run_bits);
  double weight = 1, total = 0, reached = 0;
  for (std::size_t i = 0; i < scores_.size(); ++i, weight *= kDecay) {
    total += weight;
    reached += weight * (i >= size_ ? p : scores_[i] >= long_run_bits - kSame ? 1 : 0);
  }
  return std::max(0.0, -log2_of((1 - kShare) * p + kShare * reached / total));
}

void RecentScores::add(double long_run_bits) {
  std::shift_right(scores_.begin(), scores_.end(), 1);
  scores_.front() = long_run_bits;
  size_ = std::min(size_ + 1, scores_.size());
}

nlohmann::json RecentScores::to_json() const {
  nlohmann::json scores = nlohmann::json::array();
  for (std::size_t i = 0; i < size_; ++i) scores.push_back(scores_[i]);
  return scores;
}

RecentScores RecentScores::from_json(const nlohmann::json& json) {
  RecentScores recent;
  if (!json.is_array() || json.size() > recent.scores_.size()) refuse_log_model("inconsistent recent scores");
  for (const nlohmann::json& score : json) {
    if (!score.is_number() || !std::isfinite(score.get<double>())) refuse_log_model("inconsistent recent scores");
    recent.scores_[recent.size_++] = score.get<double>();
  }
  return recent;
}

}  // namespace unfold
