#pragma once
/// Context mixing for bytes and other alphabets of at most 256 symbols in bounded memory. The model is that of
/// context_mixing.h with changes for time and memory: rows of counters share the available memory, rows of weights are
/// summed with vector operations, and counters are read and updated without branches. For records and bitmaps there are
/// additional contexts of the bytes above.
///
/// Each context (the last k symbols, the current word, ...) has a tree of bit counters. A counter gives two values,
/// each translated by an adaptive map: its estimate with its count, and the last seven bits. Gated weights mix the
/// values of all contexts in the logistic domain (Mahoney 2005), and two adaptive maps correct the result.

#include <memory>
#include <span>

#include "model/context_mixing/bitwise_predictor.h"

namespace unfold {

enum class MixingContexts { few, full };

struct ByteMixingOptions {
  MixingContexts contexts = MixingContexts::full;
  Index memory = Index{96} << 20;  ///< bytes, 1 MiB .. 16 GiB
  Index row = 0;                   ///< bytes per record, or per row of a bitmap, at most 65535; 0: neither
};

/// Detects the row length of the data: the distance at which most bytes repeat, if that is well above the average; 0 if
/// there is none.
Index find_row(std::span<const std::uint8_t> bytes);

class ByteMixing final : public BitwisePredictor {
 public:
  /// `bytes`: the byte that represents each symbol in the word contexts; empty: the symbols are bytes. Throws
  /// UsageError: more than 256 symbols, memory or a row out of range.
  ByteMixing(Index alphabet, const ByteMixingOptions& options, std::vector<std::uint8_t> bytes = {});
  ~ByteMixing() override;

  float logit(BitPath path, int depth) override;
  void learn(BitPath path, int depth, int bit) override;
  void finish(Symbol symbol) override;
  void reset() override;  ///< starts a new sequence: clears contexts, keeps what was learned
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
