#pragma once
/// Context mixing for bytes and other alphabets of at most 256 symbols: many context models predict each bit, small
/// gated networks mix the predictions in the logistic domain, and two adaptive maps correct the result. Everything is
/// learned online; there is no prior training.
///
/// A context model keeps a tree of bit counters for each context (the last k symbols, the current word, ...), found by
/// hashing. A counter holds an estimate and its number of uses; an adaptive map per model translates counters to
/// probabilities. Based on Mahoney's PAQ series (2005), whose terms are used; the design of counters, maps and inputs
/// is original.
///
/// Takes about 0.2 us per context model and symbol, and 2^size slots of 64 bytes for each model.

#include <memory>

#include "model/context_mixing/bitwise_predictor.h"

namespace unfold {

enum class MixingLevel { fast, full };

struct ContextMixingOptions {
  MixingLevel level = MixingLevel::full;
  int size = 18;  ///< binary logarithm of the slots per context model, 10 .. 24
};

class ContextMixing final : public BitwisePredictor {
 public:
  /// `bytes`: the byte that represents each symbol in the word contexts; empty: the symbols are bytes. Throws
  /// UsageError: more than 256 symbols, a size out of range.
  ContextMixing(Index alphabet, const ContextMixingOptions& options, std::vector<std::uint8_t> bytes = {});
  ~ContextMixing() override;

  float logit(BitPath path, int depth) override;
  void learn(BitPath path, int depth, int bit) override;
  void finish(Symbol symbol) override;
  void reset() override;  ///< starts a new sequence: clears contexts, keeps what was learned
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
