#include "unfold/losses/registry.h"

namespace unfold {

extern const LossEntry kSoftmaxLoss, kBernoulliLoss, kGaussianLoss;

const Registry<LossEntry>& losses() {
  static const Registry<LossEntry> list("loss", {kSoftmaxLoss, kBernoulliLoss, kGaussianLoss});
  return list;
}

}  // namespace unfold
