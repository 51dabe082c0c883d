#pragma once
/// Control groups as files, created for tests.

#include <filesystem>
#include <string>

#include "tests/base/scratch.h"
#include "unfold/base/threads/control_groups.h"

namespace unfold::testing_support {

class GroupFiles {
 public:
  void add(const std::string& group, const std::string& name, const std::string& text) {
    std::filesystem::create_directories(folder_.path("fs/" + group));
    folder_.write("fs/" + group + "/" + name, text + "\n");
  }
  /// Returns the groups of a process with these memberships, in the format of /proc/self/cgroup.
  ControlGroups of_process(const std::string& memberships) const {
    return {folder_.write("cgroup", memberships), folder_.path("fs")};
  }

 private:
  ScratchFolder folder_;
};

}  // namespace unfold::testing_support
