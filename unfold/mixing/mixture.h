#pragma once
/// Several predictors as one: the probability of each bit of the next symbol is mixed in the logistic domain by gated
/// weights that are learnt online, and corrected by a learnt map. Parts may be of any kind: those that work bit by bit
/// are asked for the bit, from the others' distributions the bit's probability is summed up.
///
///   p(1) = squash(sum_i w_i stretch(p_i(1)));  w_i += rate (bit - p(1)) stretch(p_i(1))     (Mahoney 2005)

#include <memory>
#include <vector>

#include "unfold/mixing/bitwise_predictor.h"
#include "unfold/mixing/context_parts.h"

namespace unfold {

class MixturePredictor final : public BitwisePredictor {
 public:
  /// Throws UsageError: no part, parts of different alphabets.
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
    BitwisePredictor* bitwise = nullptr;  ///< the same, where it is one
    std::vector<double> sums;             ///< [alphabet + 1] of the present distribution; empty: not asked yet
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
