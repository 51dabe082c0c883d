#include "unfold/losses/registry.h"

namespace unfold {

#define UNFOLD_LOSS(entry) LossEntry entry();
#include "unfold/losses/registry.def"
#undef UNFOLD_LOSS

namespace {

std::vector<LossEntry> all_losses() {
  return {
#define UNFOLD_LOSS(entry) entry(),
#include "unfold/losses/registry.def"
#undef UNFOLD_LOSS
  };
}

}  // namespace

const Registry<LossEntry>& losses() {
  static const Registry<LossEntry> list("loss", all_losses());
  return list;
}

}  // namespace unfold
