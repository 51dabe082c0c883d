#pragma once
/// The choice between a normal and a log-normal distribution for predicted numbers that are positive and skewed, such
/// as prices and durations.

#include <optional>
#include <string>
#include <vector>

#include "app/common/reporter.h"
#include "app/fields/field_plan.h"
#include "app/settings/train_settings.h"
#include "unfold/data/examples/examples.h"

namespace unfold {

/// Held-out negative log-likelihoods per number, on the original scale, of a linear model of the numbers and of a
/// linear model of their logarithms, both with normal errors.
struct ScaleNats {
  double normal = 0, log_normal = 0;
};

/// Compares both models by ridge regressions on the columns `reads`. Returns nothing
/// if the numbers are not all positive and skewed, if there are too few of them, or if no model can be fitted.
std::optional<ScaleNats> compare_scales(const Examples& examples, const std::string& field,
                                        const std::vector<std::string>& reads);

/// Replaces the default loss `normal` with `log-normal`, in the plan and in `predict`, where `compare_scales` prefers
/// it on the training part, and reports it. Fields that are read from their own past are left unchanged.
void settle_log_scale(FieldPlan& plan, const Examples& examples, TrainSettings& settings, Reporter& reporter);

}  // namespace unfold
