#pragma once
/// Control groups of Linux, versions 1 and 2: what a container or a service may use of a machine is said in files.

#include <string>
#include <vector>

namespace unfold {

/// Where the groups of this process are told, and where they lie.
struct ControlGroups {
  std::string memberships = "/proc/self/cgroup", folder = "/sys/fs/cgroup";

  /// Folders of the groups that `controller` ("cpu", "memory") may be limited in: those that the process is in, and
  /// those that they lie in. Not all need exist: in a container the paths may be those of the host.
  std::vector<std::string> of(const std::string& controller) const;
};

}  // namespace unfold
