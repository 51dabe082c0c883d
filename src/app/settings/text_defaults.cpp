#include "app/settings/text_defaults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/settings/defaults.h"
#include "app/settings/evaluation_split.h"
#include "model/network/fitting/readout.h"
#include "unfold/model/network/spec.h"
#include "unfold/model/registry/registry.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

constexpr Index kLargest = 448, kSmallest = 64, kMultiple = 32;
constexpr double kStepsASecond = 30;  // steps per second of the largest model, on two cores
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

namespace {

/// Returns the number of symbols of one update, over all streams of a batch.
double symbols_of_update(const TrainSettings& s) { return static_cast<double>(s.window * s.batch); }

/// Returns whether these epochs have so few updates that a small network and small batches are better.
bool has_few_updates(const TrainSettings& s, double epochs, Index symbols) {
  return epochs * static_cast<double>(symbols) < static_cast<double>(kFewestUpdates) * symbols_of_update(s);
}

/// Chooses the network, the optimizer and the batch size of a small text, unless they are given.
void set_small_network(TrainSettings& s, const Given& given, Index symbols) {
  constexpr Index kUpdatesOfEpoch = 64;
  if (!given.contains(&TrainSettings::model) && s.model == canonical_model(kDefaultModel))
    s.model = canonical_model(s.lines ? kSmallListModel : kSmallTextModel);
  if (!given.contains(&TrainSettings::optimizer)) s.optimizer = canonical_optimizer(kSmallTextOptimizer);
  if (!given.contains(&TrainSettings::batch))
    s.batch = std::clamp(symbols / (kUpdatesOfEpoch * s.window), std::min(kSmallestBatch, s.batch), s.batch);
}

}  // namespace

std::string choose_default_model(TrainSettings& s, const Given& given, Index symbols) {
  if (has_few_updates(s, kDefaultEpochs, symbols)) {
    set_small_network(s, given, symbols);
    return fmt::format("using {} in batches of {}, the default for small data ({} symbols); override it with --model",
                       s.model, s.batch, symbols);
  }
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

bool is_small_text(const TrainSettings& s, Index symbols) {
  if (is_fitted_model(s.model) || readout_of(parse_model_spec(s.model)) || s.whole_sequences || s.curriculum > 0 ||
      s.shards || s.minutes || s.steps)
    return false;
  if (needs_full_batch(s.optimizer) || compares_losses(s.optimizer)) return false;
  return has_few_updates(s, s.epochs.value_or(kDefaultEpochs), symbols);
}

std::string set_small_text_defaults(TrainSettings& s, const Given& given, Index symbols) {
  const double all = static_cast<double>(std::max<Index>(1, symbols));
  set_small_network(s, given, symbols);
  s.epochs = std::max(kSmallTextEpochs, std::ceil(static_cast<double>(kFewestUpdates) * symbols_of_update(s) / all));
  const auto updates = static_cast<Index>(*s.epochs * all / symbols_of_update(s));
  if (validates(s)) {
    if (!given.contains(&TrainSettings::validate_every))
      s.validate_every = std::max<Index>(1, updates / kSmallDataValidations);
    if (!given.contains(&TrainSettings::early_stop)) s.early_stop = kSmallDataPatience;
  }
  return fmt::format(
      "small data ({} symbols): training {} for up to {:.0f} epochs, {} updates, in batches of {}; --epochs, --batch "
      "and --model override this",
      symbols, s.model, *s.epochs, updates, s.batch);
}

}  // namespace unfold
