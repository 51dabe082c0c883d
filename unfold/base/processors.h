#pragma once
/// How many threads are worth having.

#include <string>

namespace unfold {

/// Processors that this process may use: those it may run on, but no more than its control groups grant (the quota of a
/// container), rounded up. At least 1.
int available_threads();

/// The same for all processes of this machine, or container, together: whatever this one is bound to. At least 1.
int shared_threads();

/// How many processors control groups (versions 1 and 2) grant a process, by the narrowest that it is in: `memberships`
/// is a file as /proc/self/cgroup, `folder` where they lie, as /sys/fs/cgroup. Infinite where there is no quota, and
/// where there is nothing to be read.
double granted_processors(const std::string& memberships, const std::string& folder);

}  // namespace unfold
