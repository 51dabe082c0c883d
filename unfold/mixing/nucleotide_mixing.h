#pragma once
/// Context mixing for genomes: sequences of four symbols of which the first and the last, and the two in the middle,
/// are complements (ACGT, acgt, ACGU in the order of their bytes). Everything is learnt while reading.
///
/// Contexts of fixed lengths learn each base twice: as it stands, and as the other strand would read it, backwards and
/// complemented (inverted repeats). Copies follow an earlier occurrence of the last bases, on either strand, and bear
/// substitutions (the copy experts of Cao et al. 2007). Mixed bit by bit as in byte_mixing.h.

#include <memory>

#include "unfold/mixing/bitwise_predictor.h"

namespace unfold {

class NucleotideMixing final : public BitwisePredictor {
 public:
  static constexpr int kLeastSize = 12, kMostSize = 26;
  /// `size`: binary logarithm of the counters of a long context; 18 to 26 bytes each in all, and 16 MiB. Throws
  /// UsageError: not four symbols, a size out of range.
  NucleotideMixing(Index alphabet, int size);
  ~NucleotideMixing() override;

  float logit(BitPath path, int depth) override;
  void learn(BitPath path, int depth, int bit) override;
  void finish(Symbol symbol) override;
  void reset() override;  ///< a new sequence: contexts are empty, what was learnt stays
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
