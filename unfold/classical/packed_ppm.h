#pragma once
/// Prediction by partial matching for bytes at the speed of a compressor: the model of ppm.h (escapes, favourites,
/// inherited counts, exclusion) in bounded memory and integers.
///
/// A context stands in 12 bytes, with its symbol where there is only one; the symbols of others in blocks, 8 bytes
/// each, the most frequent ones first. A context is made when it is seen for the second time: until then the entry of
/// its last symbol points to what followed in the text. When all memory is used, contexts, text and what they count
/// start anew; what was learnt about escapes stays.
///
/// A symbol is coded by questions (decision_coder.h), context by context from the longest down: is it the favourite? if
/// not, does it escape? if not, which of the others, by their counts. The distribution of all symbols is there too, and
/// slower.

#include <memory>

#include "unfold/classical/decision_coder.h"

namespace unfold {

class PackedPpm final : public DecisionPredictor {
 public:
  /// `memory`: bytes. Throws UsageError: more than 256 symbols, an order above 32, memory below 1 MiB or above 16 GiB.
  PackedPpm(Index alphabet, Index order, Index memory);
  ~PackedPpm() override;

  Index alphabet() const override;
  std::span<const float> log_probabilities() override;
  Symbol code(Symbol symbol, DecisionCoder& coder) override;
  double decision_bytes() const override;
  void set_learning(bool on) override;
  void reset() override;
  std::unique_ptr<Predictor> clone() const override;
  bool clones_are_large() const override { return true; }

 private:
  void update(Symbol symbol) override;

  struct Body;
  explicit PackedPpm(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace unfold
