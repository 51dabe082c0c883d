#pragma once
/// Linux control groups, versions 1 and 2: the resource limits that containers and services set, as the kernel exposes
/// them in files.

#include <string>
#include <vector>

namespace unfold {

/// Paths of the files that describe the control groups of this process. Tests replace them.
struct ControlGroups {
  std::string memberships = "/proc/self/cgroup", folder = "/sys/fs/cgroup";

  /// Returns the directories of all groups that may limit `controller` ("cpu", "memory"): the groups of the process and
  /// their ancestors. Some of the directories may not exist: in a container, the paths may refer to the host's file
  /// system.
  std::vector<std::string> of(const std::string& controller) const;
};

}  // namespace unfold
