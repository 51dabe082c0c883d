#pragma once
/// A mixture of several predictors: the probabilities of each bit of the next symbol are mixed in the logistic domain
/// by gated weights that are learned online, and corrected by an adaptive map. Components can be predictors of any
/// kind. Bitwise predictors return the probability of the bit; for others it is computed from their distribution over
/// symbols.
///
///   p(1) = squash(sum_i w_i stretch(p_i(1)));  w_i += rate (bit - p(1)) stretch(p_i(1))     (Mahoney 2005)

#include <memory>
#include <vector>

#include "model/context_mixing/bitwise_predictor.h"
#include "model/context_mixing/context_mixing_parts.h"

namespace unfold {

class MixturePredictor final : public BitwisePredictor {
 public:
  /// Throws UsageError if there are no components, or if their alphabets differ.
  explicit MixturePredictor(std::vector<std::unique_ptr<Predictor>> parts);

  float logit(BitPath path, int depth) override;
  void learn(BitPath path, int depth, int bit) override;
  void finish(Symbol symbol) override;
  void reset() override;
  void set_learning(bool on) override;
  void freeze_for_archive() override;
  std::unique_ptr<Predictor> clone() const override;
  bool clones_are_large() const override;

 private:
  struct Part {
    std::unique_ptr<Predictor> predictor;
    BitwisePredictor* bitwise = nullptr;  ///< the component as a bitwise predictor, or null if it is not bitwise
    /// [alphabet + 1] cumulative sums of the current distribution; empty: not computed yet.
    std::vector<double> sums;
  };
  MixturePredictor(const MixturePredictor& other);
  bool learning() const override { return learning_; }
  void add_part(std::unique_ptr<Predictor> predictor);
  float part_logit(Part& part, BitPath path, int depth);

  std::vector<Part> parts_;
  bool learning_ = true;
  Symbol previous_ = 0;
  std::vector<float> inputs_;
  MixerLayers mixers_;
  RefinementMap refinement_;
};

}  // namespace unfold
