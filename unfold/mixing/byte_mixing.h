#pragma once
/// Context mixing for bytes and other alphabets of at most 256 symbols in bounded memory. As in context_mixing.h, whose
/// model it is but for what takes time and memory: rows of counters share what memory there is, rows of weights are
/// summed in vectors, and a counter is asked and taught without a branch. For records and bitmaps there are contexts of
/// what stands above.
///
/// Each context (the last k symbols, the present word, ...) has a tree of bit counters. A counter says two things, each
/// translated by a learnt map: its estimate and how often it was used; the last seven bits. Gated weights mix what all
/// say in the logistic domain (Mahoney 2005), two learnt maps correct the result.

#include <memory>
#include <span>

#include "unfold/mixing/bitwise_predictor.h"

namespace unfold {

enum class MixingContexts { few, full };

struct ByteMixingOptions {
  MixingContexts contexts = MixingContexts::full;
  Index memory = Index{96} << 20;  ///< bytes, 1 MiB .. 16 GiB
  Index row = 0;                   ///< bytes of a record, or of a row of a bitmap, up to 65535; 0: neither
};

/// The row that the bytes suggest: the distance at which most are repeated, where that is well above the usual; 0:
/// none.
Index find_row(std::span<const std::uint8_t> bytes);

class ByteMixing final : public BitwisePredictor {
 public:
  /// `bytes`: what each symbol looks like, for the contexts made of words; empty: the symbols are the bytes.
  /// Throws UsageError: more than 256 symbols, memory or a row out of range.
  ByteMixing(Index alphabet, const ByteMixingOptions& options, std::vector<std::uint8_t> bytes = {});
  ~ByteMixing() override;

  float logit(BitPath path, int depth) override;
  void learn(BitPath path, int depth, int bit) override;
  void finish(Symbol symbol) override;
  void reset() override;  ///< a new sequence: contexts are empty, what was learnt stays
  void set_learning(bool on) override;
  std::unique_ptr<Predictor> clone() const override;
  bool clones_are_large() const override { return true; }

 private:
  struct Body;
  ByteMixing(const ByteMixing& other);
  bool learning() const override;
  std::unique_ptr<Body> body_;
};

}  // namespace unfold
