#pragma once
/// Prediction by partial matching: the distribution of the longest context that was seen, an escape to the next shorter
/// one, and so on down to all symbols alike; symbols of longer contexts are excluded from shorter ones. Cleary & Witten
/// 1984; exclusion of updates: Moffat 1990.
///
/// What an escape is worth and how sure the most frequent symbol of a context is are learnt (learnt_decision.h), and a
/// symbol that is new in a context starts with a count inherited from the next shorter one (information inheritance,
/// Shkarin 2002). When a symbol is counted, the next shorter context learns it a little too, the others do not.
///
/// The same bits everywhere. The trie grows with the text: 32 bytes for each new context.

#include <memory>

#include "unfold/base/options.h"
#include "unfold/capabilities/predictor.h"

namespace unfold {

struct PpmOptions {
  Index order = 6;   ///< symbols of the longest context, 0 .. 32
  Index memory = 0;  ///< MiB; 0: this model, which grows; else that of packed_ppm.h
};

template <class Visitor>
void describe(Visitor& v, PpmOptions& o) {
  v("order", o.order, "symbols of the longest context", range(0, 32));
  v("memory", o.memory,
    "MiB, 1 or more: the fast model for bytes, which starts anew when they are used; 0: the slow one, which grows",
    range(0, 16384));
}

class PpmPredictor final : public Predictor {
 public:
  PpmPredictor(Index alphabet, const PpmOptions& options);  ///< throws UsageError
  ~PpmPredictor() override;

  Index alphabet() const override;
  std::span<const float> log_probabilities() override;
  void set_learning(bool on) override;
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
