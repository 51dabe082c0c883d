#include "graph/engine/pass_timing.h"

namespace unfold {

std::string_view stage_name(Stage stage) {
  constexpr std::string_view kNames[kStageCount] = {
      "pack", "hoisted products", "recurrent products", "pointwise", "moves", "deferred gradients", "waiting"};
  return kNames[static_cast<int>(stage)];
}

double Account::seconds(Stage stage) const {
  double sum = 0;
  for (const Times& times : times_) sum += times.of[static_cast<std::size_t>(stage)];
  return sum / static_cast<double>(times_.size());
}

double Account::intervals(Stage stage) const {
  Index sum = 0;
  for (const Times& times : times_) sum += times.intervals[static_cast<std::size_t>(stage)];
  return static_cast<double>(sum) / static_cast<double>(times_.size());
}

}  // namespace unfold
