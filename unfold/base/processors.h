#pragma once
/// How many threads are worth having.

#include "unfold/base/control_groups.h"

namespace unfold {

/// Processors that this process may use: those it may run on, but no more than its control groups grant (the quota of a
/// container), rounded up. At least 1.
int available_threads();

/// The same for all processes of this machine, or container, together: whatever this one is bound to. At least 1.
int shared_threads();

/// How many processors control groups grant a process, by the narrowest that it is in. Infinite where there is no
/// quota, and where there is nothing to be read.
double granted_processors(const ControlGroups& groups = {});

}  // namespace unfold
