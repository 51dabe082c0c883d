#pragma once
/// Prediction by partial matching (PPM): predicts with the distribution of the longest context that was seen before,
/// with an escape to the next shorter context, and so on down to the uniform distribution. Symbols of longer contexts
/// are excluded from shorter contexts. Cleary & Witten 1984; for update exclusion, Moffat 1990.
///
/// Escape probabilities and the confidence in the most frequent symbol of a context are learned
/// (context_mixing/adaptive_decision.h). A symbol that is new in a context starts with a count inherited from the next
/// shorter context (information inheritance, Shkarin 2002). When a symbol is counted, its count in the next shorter
/// context is also incremented slightly; the counts in other contexts are not.
///
/// Results are bit-identical on all machines. The trie grows with the data: 32 bytes for each new context.

#include <memory>

#include "unfold/base/options/options.h"
#include "unfold/model/predictor.h"

namespace unfold {

struct PpmOptions {
  Index order = 6;   ///< length of the longest context in symbols, 0 .. 32
  Index memory = 0;  ///< MiB; 0: this model, whose memory grows; otherwise the model of packed_ppm.h
};

template <class Visitor>
void describe(Visitor& v, PpmOptions& o) {
  v("order", o.order, "length of the longest context in symbols", range(0, 32));
  v("memory", o.memory,
    "MiB, 1 or more: the fast model for bytes, which is cleared when the memory is full; 0: the slower model, whose "
    "memory grows",
    range(0, 16384));
}

class PpmPredictor final : public Predictor {
 public:
  PpmPredictor(Index alphabet, const PpmOptions& options);  ///< throws UsageError
  ~PpmPredictor() override;

  Index alphabet() const override;
  std::span<const float> log_probabilities() override;
  void set_learning(bool on) override;
  void freeze_for_archive() override;  ///< decisions still initialize the cells that they read for the first time
  void reset() override;
  std::unique_ptr<Predictor> clone() const override;
  bool clones_are_large() const override { return true; }

 private:
  void update(Symbol symbol) override;

  struct Body;
  explicit PpmPredictor(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace unfold
