#pragma once
/// Schedules: the factor on the step size over a run.

#include "unfold/base/options.h"

namespace unfold {

enum class ScheduleKind {
  constant,
  cosine,  ///< from 1 down to `floor` along half a cosine over the budget
  plateau  ///< halved whenever `plateau_patience` validations in a row bring no improvement
};

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::constant;
  Index warmup = 0;     ///< steps over which the rate grows linearly to its full size
  double floor = 0.01;  ///< cosine: the last factor; plateau: the least
  Index plateau_patience = 1;
};

template <class Visitor>
void describe(Visitor& v, ScheduleOptions& o) {
  v("schedule", o.kind, "how the step size changes",
    {{ScheduleKind::constant, "constant"}, {ScheduleKind::cosine, "cosine"}, {ScheduleKind::plateau, "plateau"}});
  v("warmup", o.warmup, "steps of linear warm-up", at_least(0));
  v("floor", o.floor, "least factor on the step size (cosine, plateau)", range(0, 1));
  v("plateau-patience", o.plateau_patience, "validations without improvement before the rate is halved", at_least(1));
}

/// How far a run is: steps done, and the part of the budget used (steps, epochs or time, whichever is furthest; 0 if
/// there is none).
struct Progress {
  Index step = 0;
  double fraction = 0;
};

/// Warm-up times shape. The plateau's halvings are state of the run and come as a factor of their own (see Plateau).
double schedule_factor(const ScheduleOptions& options, const Progress& progress);

/// cos(pi x) for x in [0, 1] to 1e-15, with the same bits on every machine.
double half_cosine(double x);

}  // namespace unfold
