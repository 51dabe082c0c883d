#include "app/train/stages/refit.h"

#include <algorithm>
#include <cmath>

#include "app/fields/defaults/event_defaults.h"
#include "app/fields/field_plan.h"
#include "app/settings/evaluation_split.h"
#include "model/density/mixture_fit.h"
#include "model/network/density_model.h"
#include "model/network/fitting/hmm_fit.h"
#include "model/network/fitting/readout.h"
#include "unfold/base/error.h"
#include "unfold/model/network/spec.h"

namespace unfold {

bool is_refitted(const FieldPlan& plan, const Examples& examples, const Given& given, const TrainSettings& s,
                 bool default_budget) {
  if (s.refit) {
    const bool yes = *s.refit == "yes";
    if (yes && s.valid) throw UsageError("--refit yes cannot be combined with --valid, whose data stays held out");
    if (yes && !validates(s) && !readout_of(parse_model_spec(s.model)))
      throw UsageError("--refit yes has no effect if --split holds nothing out for validation: omit --refit");
    return yes;
  }
  const Index size = examples.count() == 1 ? examples.positions() : examples.count();
  if (size >= kFewExamples || s.valid || given.contains(&TrainSettings::split)) return false;
  if (examples.are_trees() || examples.are_grids()) return false;
  const ModelSpec spec = parse_model_spec(s.model);
  constexpr Index kFewPositions = 50'000;
  const bool by_position = plan.problem == Problem::tagging || predicts_events(plan, examples);
  if (by_position && examples.positions() >= kFewPositions) return false;
  if (is_fitted_mixture(s.model) || is_hidden_markov(spec)) return true;
  return default_budget && !readout_of(spec) && !names_density(s.model) &&
         (plan.problem == Problem::classifying || by_position);
}

Index refit_steps(Index best_step, Index training, Index all) {
  const double ratio = static_cast<double>(all) / static_cast<double>(std::max<Index>(1, training));
  return std::max<Index>(1, std::llround(static_cast<double>(best_step) * ratio));
}

}  // namespace unfold
