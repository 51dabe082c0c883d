#pragma once
/// Prediction by partial matching (PPM) for bytes, fast enough for a compressor: the model of ppm.h (escapes, favorite
/// symbols, inherited counts, exclusion) with bounded memory and integer arithmetic.
///
/// A context takes 12 bytes, which include its symbol if there is only one; otherwise its symbols are in blocks of
/// 8-byte entries, the most frequent first. A context is created when it is seen for the second time; until then the
/// entry of its last symbol points to the following position in the history. When the memory is full, contexts, history
/// and counts are cleared; the adaptive escape probabilities are kept.
///
/// A symbol is coded by a sequence of decisions (decision_coder.h), context by context, beginning with the longest. The
/// first decision of the longest context is whether it is the favorite symbol. The next decision, which is the only one
/// of the shorter contexts, is whether it escapes. If it does not, it is selected among the other symbols in proportion
/// to their counts. The distribution over all symbols is also available, but slower.

#include <memory>

#include "model/ppm/decision_coder.h"

namespace unfold {

class PackedPpm final : public DecisionPredictor {
 public:
  /// `memory`: bytes. Throws UsageError for more than 256 symbols, an order above 32, or memory below 1 MiB or above 16
  /// GiB.
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
