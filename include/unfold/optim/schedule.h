#pragma once
/// Learning rate schedules: the factor on the learning rate over a training run.

#include "unfold/base/options/options.h"

namespace unfold {

enum class ScheduleKind {
  constant,
  cosine,  ///< from 1 down to `floor` along half a cosine over the budget
  plateau  ///< halved after `plateau_patience` consecutive validations without improvement
};

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::constant;
  Index warmup = 0;     ///< steps over which the learning rate grows linearly to its full value
  double floor = 0.01;  ///< cosine: the final factor; plateau: the minimum
  Index plateau_patience = 1;
};

template <class Visitor>
void describe(Visitor& v, ScheduleOptions& o) {
  v("schedule", o.kind, "how the step size changes",
    {{ScheduleKind::constant, "constant"}, {ScheduleKind::cosine, "cosine"}, {ScheduleKind::plateau, "plateau"}});
  v("warmup", o.warmup, "steps of linear warm-up", at_least(0));
  v("floor", o.floor, "minimum factor of the learning rate (cosine, plateau)", range(0, 1));
  v("plateau-patience", o.plateau_patience, "validations without improvement before the learning rate is halved",
    at_least(1));
}

/// Progress of a run: completed steps, and the fraction of the budget used (of steps, epochs or time, whichever is
/// largest; 0 without a budget).
struct Progress {
  Index step = 0;
  double fraction = 0;
};

/// Returns the warm-up factor times the schedule. The halvings of `plateau` are part of the state of the run and are
/// applied as a separate factor.
double schedule_factor(const ScheduleOptions& options, const Progress& progress);

/// Returns cos(pi x) for x in [0, 1] with an error below 1e-15, bit-identical on every machine.
double half_cosine(double x);

}  // namespace unfold
