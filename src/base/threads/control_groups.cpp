#include "unfold/base/threads/control_groups.h"

#include <algorithm>
#include <fstream>

namespace unfold {
namespace {

bool holds(const std::string& list, const std::string& name) {
  return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

/// Adds a group and all its ancestors.
void add_upwards(std::vector<std::string>& groups, const std::string& folder, std::string path) {
  groups.push_back(folder);
  while (path.size() > 1) {
    groups.push_back(folder + path);
    path.resize(std::min(path.size() - 1, path.rfind('/')));
  }
}

}  // namespace

std::vector<std::string> ControlGroups::of(const std::string& controller) const {
  std::vector<std::string> groups;
  std::ifstream file(memberships);
  // lines are "number:controllers:/path"; in version 2: number 0, no controllers
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) {
      add_upwards(groups, folder, path);
    } else if (holds(controllers, controller)) {
      add_upwards(groups, folder + "/" + controllers, path);
      add_upwards(groups, folder + "/" + controller, path);
    }
  }
  return groups;
}

}  // namespace unfold
