#include "app/settings/default_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/defaults.h"
#include "unfold/model/network/spec.h"
#include "unfold/model/registry/registry.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

constexpr Index kLargest = 448, kSmallest = 64, kMultiple = 32;
constexpr double kStepsASecond = 30;  // of the largest model, on two cores
constexpr double kSteps = 3500, kEpochs = 12;

}  // namespace

bool uses_default_model(const TrainSettings& s, const Given& given) {
  return s.minutes && !s.steps && !s.epochs && !given.contains(&TrainSettings::model) &&
         s.model == canonical_model(kDefaultModel) && !s.task && !s.follow && !s.copy_matching_parameters &&
         !has_fields(s);
}

Index default_units(double minutes, Index symbols) {
  const double step = static_cast<double>(kDefaultWindow * kDefaultBatch);
  const double wanted = std::clamp(kEpochs * static_cast<double>(symbols) / step, 1.0, kSteps);
  constexpr double kSecondsAMinute = 60;
  // The time of a step is proportional to the square of the number of units.
  const double units = static_cast<double>(kLargest) * std::sqrt(kStepsASecond * kSecondsAMinute * minutes / wanted);
  if (units >= static_cast<double>(kLargest)) return kLargest;
  return std::max(kSmallest, static_cast<Index>(std::lround(units / static_cast<double>(kMultiple))) * kMultiple);
}

std::string choose_default_model(TrainSettings& s, const Given& given, Index symbols) {
  ModelSpec spec = parse_model_spec(kTimedModel);
  spec.units = default_units(*s.minutes, symbols);
  s.model = to_string(spec);
  if (!given.contains(&TrainSettings::optimizer)) {
    const double rate = kTimedRate * std::sqrt(static_cast<double>(kLargest) / static_cast<double>(spec.units));
    constexpr double kShown = 1000;  // rounded to thousandths
    s.optimizer = canonical_optimizer(fmt::format(kTimedOptimizer, std::round(kShown * rate) / kShown));
  }
  return fmt::format("using {}, the default for {:.4g} minute{}; override it with --model", s.model, *s.minutes,
                     *s.minutes == 1 ? "" : "s");
}

}  // namespace unfold
