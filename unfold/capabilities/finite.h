#pragma once
/// Predictions that are not finite: of a model whose weights overflow, or of one that diverged while it learnt.

#include <memory>
#include <span>
#include <string>

#include "unfold/base/error.h"
#include "unfold/capabilities/symbol_model.h"

namespace unfold {

/// What is thrown where only the prediction is known, not the model.
class NotFiniteError : public ModelError {
 public:
  explicit NotFiniteError(Index position);
  Index position() const { return position_; }

 private:
  Index position_;
};

/// Throws NotFiniteError when one of them is not a logarithm of a probability: NaN or positive infinity.
void require_finite(std::span<const float> log_probabilities, Index position);

/// Throws DivergedError when the model was learning, else ModelError: position, largest weight (the first that is not
/// finite, if any), remedy.
[[noreturn]] void fail_not_finite(const SymbolModel& model, const std::string& name, Index position, bool learning);

/// Surprisals that come in any order: `see` each, then `require`, which throws as above for the first that makes no
/// sense. A model that learns may also print 10^30 nats; no model that works is that surprised.
class SurprisalCheck {
 public:
  void see(Index position, float nats) {
    if (!(nats <= kMostNats) && (first_ < 0 || position < first_)) first_ = position;
  }
  void require(const SymbolModel& model, const std::string& name, bool learning) const {
    if (first_ >= 0) fail_not_finite(model, name, first_, learning);
  }

 private:
  static constexpr float kMostNats = 1e6F;
  Index first_ = -1;
};

/// A predictor that checks what the one of the model says. The model must outlive it.
std::unique_ptr<Predictor> finite_predictor(const SymbolModel& model, const std::string& name);

}  // namespace unfold
