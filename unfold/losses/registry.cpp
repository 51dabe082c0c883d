#include "unfold/losses/registry.h"

#include <string>
#include <vector>

#include "unfold/base/text_distance.h"

namespace unfold {

extern const LossEntry kSoftmaxLoss, kBernoulliLoss, kGaussianLoss;

std::span<const LossEntry* const> losses() {
  static constexpr const LossEntry* kAll[] = {&kSoftmaxLoss, &kBernoulliLoss, &kGaussianLoss};
  return kAll;
}

const LossEntry& find_loss(std::string_view name) {
  std::vector<std::string> names;
  for (const LossEntry* entry : losses()) {
    if (entry->name == name) return *entry;
    names.emplace_back(entry->name);
  }
  throw UsageError("there is no loss \"" + std::string(name) + "\"" + did_you_mean(std::string(name), names));
}

}  // namespace unfold
