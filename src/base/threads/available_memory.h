#pragma once
/// Available memory of this process.

#include <cstddef>

#include "unfold/base/threads/control_groups.h"

namespace unfold {

/// Returns how many bytes this process can still allocate: the available memory of the machine, or less if a control
/// group or a resource limit of the process is tighter.
std::size_t available_memory();

/// Returns how many bytes the most restrictive control group of the process has left. Page cache that a group can
/// reclaim counts as free. Returns the largest value of the type if there is no limit or no control group file can be
/// read.
std::size_t cgroup_memory_left(const ControlGroups& groups);

}  // namespace unfold
