#pragma once
/// Interface for coding with predictors that make a sequence of decisions (Is it an escape? Is it the favorite? Which
/// of the other symbols?) without computing the distribution over all symbols. The predictor requests the same
/// decisions in the same order from an encoder and a decoder; the encoder is given the outcomes, and the decoder
/// returns them.

#include <cstdint>

#include "unfold/model/predictor.h"

namespace unfold {

class DecisionCoder {
 public:
  virtual ~DecisionCoder() = default;
  /// Codes a decision with P(yes) = yes_p / 2^16, 0 < yes_p < 2^16. Returns the answer; an encoder codes and returns
  /// `answer`.
  virtual bool decide(bool answer, std::uint32_t yes_p) = 0;
  /// Codes one of several alternatives with integer weights that sum to `total` (below 2^24). `place` returns a
  /// position within the weight of the alternative; an encoder returns the argument `place`. `take` then receives the
  /// interval of the alternative at this position, [first, first + size).
  virtual std::uint32_t place(std::uint32_t place, std::uint32_t total) = 0;
  virtual void take(std::uint32_t first, std::uint32_t size, std::uint32_t total) = 0;
};

class DecisionPredictor : public Predictor {
 public:
  /// Codes the next symbol and observes it. Returns the symbol. `symbol`: kNoSymbol if the coder is a decoder.
  virtual Symbol code(Symbol symbol, DecisionCoder& coder) = 0;
  /// Returns the approximate size in bytes of the state that decisions read and write repeatedly; 0: not counted.
  virtual double decision_bytes() const { return 0; }
};

}  // namespace unfold
