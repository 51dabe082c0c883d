#pragma once
/// Errors for predictions that are not finite, because the weights of the model cause an overflow or because training
/// diverged.

#include <memory>
#include <span>
#include <string>

#include "unfold/base/error.h"
#include "unfold/model/symbol_model.h"

namespace unfold {

/// Thrown where only the prediction is known, but not the model.
class NotFiniteError : public ModelError {
 public:
  explicit NotFiniteError(Index position);
  Index position() const { return position_; }

 private:
  Index position_;
};

/// Throws NotFiniteError if a value is not the logarithm of a probability: NaN or positive infinity.
void require_finite(std::span<const float> log_probabilities, Index position);

/// Throws DivergedError if the model was learning, otherwise ModelError. The message gives the position, the largest
/// weight (or the first that is not finite) and the remedy.
[[noreturn]] void fail_not_finite(const SymbolModel& model, const std::string& name, Index position, bool learning);

/// Checks surprisals that arrive in any order: call `see` for each, then `require`, which throws like fail_not_finite
/// for the first invalid surprisal. Values above kMostNats are also invalid: a model that diverges while learning can
/// produce 10^30 nats, but no working model does.
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

/// Wraps the predictor of the model with a check of its predictions. The model must outlive it.
std::unique_ptr<Predictor> finite_predictor(const SymbolModel& model, const std::string& name);

}  // namespace unfold
