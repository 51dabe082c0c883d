#include "unfold/loss/registry.h"

#include <utility>

#include "base/options/extensible_registry.h"
#include "unfold/base/error.h"

namespace unfold {

#define UNFOLD_LOSS(entry) LossEntry entry();
#include "loss/registry.def"
#undef UNFOLD_LOSS

namespace {

ExtensibleRegistry<LossEntry>& registry() {
  static ExtensibleRegistry<LossEntry> all("loss", {
#define UNFOLD_LOSS(entry) entry(),
#include "loss/registry.def"
#undef UNFOLD_LOSS
                                                   });
  return all;
}

}  // namespace

const Registry<LossEntry>& losses() { return registry().current(); }

void register_loss(LossEntry entry) {
  if (!entry.make_float || !entry.make_double)
    throw UsageError("register_loss: \"" + entry.name + "\" has no function that creates it for float and double");
  registry().add("register_loss", "loss", std::move(entry));
}

ChosenLoss choose_loss(std::string_view text) {
  const Spec spec = parse_spec(text);
  const LossEntry& entry = losses().get(spec.name);
  ChosenLoss chosen{.entry = entry, .options = entry.options};
  parse_options(spec, chosen.options, entry.main_option);
  return chosen;
}

}  // namespace unfold
