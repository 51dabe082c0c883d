#pragma once
/// Context mixing for bytes and other alphabets of at most 256 symbols.
///
/// Each context (the last k symbols, the current word, the current line, ...) has a tree of bit counters
/// (bit_histories.h), in one table for all contexts. A counter is translated by an adaptive map of its history. Gated
/// weights mix, in the logistic domain (Mahoney 2005), the values of all contexts, of a match model and of the symbol
/// that it expects. Two adaptive maps correct the result.

#include <memory>

#include "model/context_mixing/bitwise_predictor.h"

namespace unfold {

enum class MixingContexts {
  few,     ///< 6
  text,    ///< 12 contexts, selected for text
  binary,  ///< 12 contexts, selected for other files
  full,    ///< 22 contexts; 24 with rows
};

struct ContextMixingOptions {
  MixingContexts contexts = MixingContexts::full;
  Index memory = Index{80} << 20;  ///< bytes of all counters, 1 MiB .. 16 GiB
  Index row = 0;                   ///< bytes per record, or per row of a bitmap, at most 65535; 0: neither
};

class MixingCore;

class ContextMixing final : public BitwisePredictor {
 public:
  /// `bytes`: the byte that represents each symbol in the word contexts; empty: the symbols are bytes. Throws
  /// UsageError for more than 256 symbols, and for memory or a row out of range.
  ContextMixing(Index alphabet, const ContextMixingOptions& options, std::vector<std::uint8_t> bytes = {});
  ~ContextMixing() override;

  float logit(BitPath path, int depth) override;
  std::uint32_t probability_of_one(BitPath path, int depth) override;
  void learn(BitPath path, int depth, int bit) override;
  void finish(Symbol symbol) override;
  double decision_bytes() const override;
  void reset() override;  ///< starts a new sequence: clears the contexts and keeps the learned statistics
  void set_learning(bool on) override;
  std::unique_ptr<Predictor> clone() const override;
  bool clones_are_large() const override { return true; }

 private:
  ContextMixing(const ContextMixing& other);
  bool learning() const override;
  std::unique_ptr<MixingCore> core_;
};

}  // namespace unfold
