#pragma once
/// Context mixing for bytes and other alphabets of at most 256 symbols, as byte_mixing.h has it, with counters of half
/// the size in one table for all contexts, and all that is done for each context done for eight at a time.
///
/// Each context (the last k symbols, the present word, ...) has a tree of bit counters (bit_histories.h). What a
/// counter says is translated by two learnt maps: of its history, and of its estimate with the trust in it. Gated
/// weights mix what all say in the logistic domain (Mahoney 2005), two learnt maps correct the result. Versions differ
/// in a list of constants and switches (HistoryRecipe in the source).

#include <memory>

#include "unfold/mixing/bitwise_predictor.h"

namespace unfold {

enum class HistoryContexts {
  few,     ///< 6
  text,    ///< 12: those that tell something of texts
  binary,  ///< 12: those that tell something of other files
  full,    ///< 22; in version 3, 18; with rows 2 more
};

/// What may be changed only where containers say which they were written with.
enum class HistoryVersion {
  three = 3,
  four = 4,  ///< contexts of lines, runs in half the memory, one map a context, two last mixers
};

struct HistoryMixingOptions {
  HistoryContexts contexts = HistoryContexts::full;
  Index memory = Index{80} << 20;  ///< bytes of all counters, 1 MiB .. 16 GiB
  Index row = 0;                   ///< bytes of a record, or of a row of a bitmap, up to 65535; 0: neither
  HistoryVersion version = HistoryVersion::four;
};

class HistoryMixing final : public BitwisePredictor {
 public:
  /// `bytes`: what each symbol looks like, for the contexts made of words; empty: the symbols are the bytes.
  /// Throws UsageError: more than 256 symbols, memory or a row out of range.
  HistoryMixing(Index alphabet, const HistoryMixingOptions& options, std::vector<std::uint8_t> bytes = {});
  ~HistoryMixing() override;

  float logit(BitPath path, int depth) override;
  std::uint32_t probability_of_one(BitPath path, int depth) override;
  void learn(BitPath path, int depth, int bit) override;
  void finish(Symbol symbol) override;
  double decision_bytes() const override;
  void reset() override;  ///< a new sequence: contexts are empty, what was learnt stays
  void set_learning(bool on) override;
  std::unique_ptr<Predictor> clone() const override;
  bool clones_are_large() const override { return true; }

 private:
  struct Body;
  HistoryMixing(const HistoryMixing& other);
  bool learning() const override;
  std::unique_ptr<Body> body_;
};

}  // namespace unfold
