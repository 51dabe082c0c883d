#include "loss/registry.h"

namespace unfold {

#define UNFOLD_LOSS(entry) LossEntry entry();
#include "loss/registry.def"
#undef UNFOLD_LOSS

namespace {

std::vector<LossEntry> all_losses() {
  return {
#define UNFOLD_LOSS(entry) entry(),
#include "loss/registry.def"
#undef UNFOLD_LOSS
  };
}

}  // namespace

const Registry<LossEntry>& losses() {
  static const Registry<LossEntry> list("loss", all_losses());
  return list;
}

ChosenLoss choose_loss(std::string_view text) {
  const Spec spec = parse_spec(text);
  const LossEntry& entry = losses().get(spec.name);
  ChosenLoss chosen{.entry = entry, .options = entry.options};
  parse_options(spec, chosen.options, entry.main_option);
  return chosen;
}

}  // namespace unfold
