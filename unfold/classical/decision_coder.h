#pragma once
/// How a predictor that decides step by step (does it escape? is it the favourite? which of the others?) is coded
/// without the distribution of all symbols. An encoder is told what happens, a decoder tells it: the predictor asks
/// both the same questions in the same order.

#include <cstdint>

#include "unfold/capabilities/predictor.h"

namespace unfold {

class DecisionCoder {
 public:
  virtual ~DecisionCoder() = default;
  /// A question with P(yes) = yes_p / 2^16, 0 < yes_p < 2^16. Returns the answer, which an encoder finds in `answer`.
  virtual bool decide(bool answer, std::uint32_t yes_p) = 0;
  /// One of several with integer weights, which sum to `total` (below 2^24): a place within its weight, which an
  /// encoder finds in `place`; then, the place found, the weight: [first, first + size).
  virtual std::uint32_t place(std::uint32_t place, std::uint32_t total) = 0;
  virtual void take(std::uint32_t first, std::uint32_t size, std::uint32_t total) = 0;
};

class DecisionPredictor : public Predictor {
 public:
  /// Codes the next symbol and observes it; a decoder ignores `symbol`. Returns the symbol.
  virtual Symbol code(Symbol symbol, DecisionCoder& coder) = 0;
  /// Bytes of what a question is answered from, read and written again, about; 0: not counted.
  virtual double decision_bytes() const { return 0; }
};

}  // namespace unfold
