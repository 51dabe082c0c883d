#pragma once
/// Context mixing for bytes and other alphabets of at most 256 symbols. Differs from byte_mixing.h in that counters
/// have half the size and are in one table for all contexts, and that eight contexts are processed at a time.
///
/// Each context (the last k symbols, the current word, ...) has a tree of bit counters (bit_histories.h). A counter is
/// translated by two adaptive maps: one for its history, and one for its estimate with its confidence. Gated weights
/// mix the values of all contexts in the logistic domain (Mahoney 2005), and two adaptive maps correct the result.
/// Versions differ in a list of constants and switches (HistoryRecipe in the source).

#include <memory>

#include "model/context_mixing/bitwise_predictor.h"

namespace unfold {

enum class HistoryContexts {
  few,     ///< 6
  text,    ///< 12, selected for text
  binary,  ///< 12, selected for other files
  full,    ///< 22; in version 3, 18; with rows 2 more
};

/// Incompatible changes of the model; containers record the version that they were written with.
enum class HistoryVersion {
  three = 3,
  four = 4,  ///< line contexts, half the memory for runs, one map per context, two final mixers
};

struct HistoryMixingOptions {
  HistoryContexts contexts = HistoryContexts::full;
  Index memory = Index{80} << 20;  ///< bytes of all counters, 1 MiB .. 16 GiB
  Index row = 0;                   ///< bytes per record, or per row of a bitmap, at most 65535; 0: neither
  HistoryVersion version = HistoryVersion::four;
};

class HistoryMixing final : public BitwisePredictor {
 public:
  /// `bytes`: the byte that represents each symbol in the word contexts; empty: the symbols are bytes. Throws
  /// UsageError: more than 256 symbols, memory or a row out of range.
  HistoryMixing(Index alphabet, const HistoryMixingOptions& options, std::vector<std::uint8_t> bytes = {});
  ~HistoryMixing() override;

  float logit(BitPath path, int depth) override;
  std::uint32_t probability_of_one(BitPath path, int depth) override;
  void learn(BitPath path, int depth, int bit) override;
  void finish(Symbol symbol) override;
  double decision_bytes() const override;
  void reset() override;  ///< starts a new sequence: clears contexts, keeps what was learned
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
