#pragma once
/// The number of threads that this process can use.

#include "unfold/base/threads/control_groups.h"

namespace unfold {

/// Returns the number of processors available to this process: the size of its CPU affinity mask, limited by the
/// control group quota (for example of a container), which is rounded up. At least 1.
int available_threads();

/// Like available_threads, but ignores the CPU affinity of this process: returns the number of processors that all
/// processes of the machine or container share. At least 1.
int machine_threads();

/// Returns the number of processors that the most restrictive control group grants. Infinite if there is no quota or no
/// control group file can be read.
double cgroup_processor_quota(const ControlGroups& groups = {});

}  // namespace unfold
