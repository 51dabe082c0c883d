#pragma once
/// Context mixing for bytes and other alphabets of at most 256 symbols: many context models predict each bit, small
/// gated networks mix them in the logistic domain, two adaptive maps correct the result. Everything is learnt while
/// reading; nothing is known before the first symbol.
///
/// A context model keeps for each context (the last k symbols, the current word, ...) a tree of bit counters, found by
/// a hash. A counter holds an estimate and how often it was used; a map per model, learnt too, says what such a counter
/// is worth. After Mahoney's PAQ series (2005; the terms are his); the design of counters, maps and inputs is ours.
///
/// Cost: about 0.2 us per context model and symbol; memory: 2^size slots of 64 bytes for each model.

#include <memory>

#include "unfold/mixing/bitwise_predictor.h"

namespace unfold {

enum class MixingLevel { fast, full };

struct ContextMixingOptions {
  MixingLevel level = MixingLevel::full;
  int size = 18;  ///< binary logarithm of the slots per context model, 10 .. 24
};

class ContextMixing final : public BitwisePredictor {
 public:
  /// `bytes`: what each symbol looks like, for the contexts made of words; empty: the symbols are the bytes.
  /// Throws UsageError: more than 256 symbols, a size out of range.
  ContextMixing(Index alphabet, const ContextMixingOptions& options, std::vector<std::uint8_t> bytes = {});
  ~ContextMixing() override;

  float logit(BitPath path, int depth) override;
  void learn(BitPath path, int depth, int bit) override;
  void finish(Symbol symbol) override;
  void reset() override;  ///< a new sequence: contexts are empty, what was learnt stays
  void set_learning(bool on) override;
  std::unique_ptr<Predictor> clone() const override;
  bool clones_are_large() const override { return true; }

 private:
  struct Body;
  ContextMixing(const ContextMixing& other);
  bool learning() const override;
  std::unique_ptr<Body> body_;
};

}  // namespace unfold
