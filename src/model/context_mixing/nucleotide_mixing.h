#pragma once
/// Context mixing for genomes: sequences over four symbols, where the first and the last symbol are complements, as are
/// the two in the middle (ACGT, acgt, ACGU in byte order). Everything is learned online.
///
/// Contexts of fixed length learn each base twice: on its strand, and as the reverse complement (inverted repeats).
/// Copies follow an earlier occurrence of the last bases, on either strand, and tolerate substitutions (the copy
/// experts of Cao et al. 2007). The predictions are mixed bit by bit as in context_mixing.h.

#include <memory>

#include "model/context_mixing/bitwise_predictor.h"

namespace unfold {

class NucleotideMixing final : public BitwisePredictor {
 public:
  static constexpr int kLeastSize = 12, kMostSize = 26;
  /// `size`: binary logarithm of the number of counters of a long context; the total memory is 18 to 26 bytes per
  /// counter plus 16 MiB. Throws UsageError unless there are four symbols, and for a size out of range.
  NucleotideMixing(Index alphabet, int size);
  ~NucleotideMixing() override;

  float logit(BitPath path, int depth) override;
  void learn(BitPath path, int depth, int bit) override;
  void finish(Symbol symbol) override;
  void reset() override;  ///< starts a new sequence: clears the contexts and keeps the learned statistics
  void set_learning(bool on) override;
  std::unique_ptr<Predictor> clone() const override;
  bool clones_are_large() const override { return true; }

 private:
  struct Body;
  NucleotideMixing(const NucleotideMixing& other);
  bool learning() const override;
  std::unique_ptr<Body> body_;
};

}  // namespace unfold
