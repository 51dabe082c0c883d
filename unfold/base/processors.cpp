#include "unfold/base/processors.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace unfold {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

/// "quota period" in microseconds as version 2 writes it, "max period" or "-1 period" for none.
double ratio_of(std::istream&& text) {
  std::string quota;
  double period = 0;
  if (!(text >> quota >> period) || period <= 0) return kUnbounded;
  std::istringstream number(quota);
  double granted = 0;
  return number >> granted && granted > 0 ? granted / period : kUnbounded;
}

double quota_of(const std::string& group) {
  const auto read = [&](const char* name) {
    std::string text;
    std::getline(std::ifstream(group + "/" + name), text);
    return text;
  };
  return std::min(ratio_of(std::istringstream(read("cpu.max"))),
                  ratio_of(std::istringstream(read("cpu.cfs_quota_us") + " " + read("cpu.cfs_period_us"))));
}

/// Of a group and all that it lies in. Within a container the path may be that of the host, whose groups are not there.
double least_quota(const std::string& folder, std::string path) {
  double least = quota_of(folder);
  while (path.size() > 1) {
    least = std::min(least, quota_of(folder + path));
    path.resize(std::min(path.size() - 1, path.rfind('/')));
  }
  return least;
}

bool holds(const std::string& list, const std::string& name) {
  return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

int allowed_processors() {
#ifdef __linux__
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof processors, &processors) == 0) return std::max(1, CPU_COUNT(&processors));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/// Of so many processors.
int granted_of(int processors) {
  const double granted = std::ceil(granted_processors("/proc/self/cgroup", "/sys/fs/cgroup"));
  return std::max(1, granted < processors ? static_cast<int>(granted) : processors);
}

}  // namespace

double granted_processors(const std::string& memberships, const std::string& folder) {
  double least = kUnbounded;
  std::ifstream file(memberships);
  for (std::string line; std::getline(file, line);) {  // number:controllers:/path; version 2 has 0 and no controllers
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty())
      least = std::min(least, least_quota(folder, path));
    else if (holds(controllers, "cpu"))
      least = std::min({least, least_quota(folder + "/" + controllers, path), least_quota(folder + "/cpu", path)});
  }
  return least;
}

int available_threads() { return granted_of(allowed_processors()); }

int shared_threads() { return granted_of(static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN))); }

}  // namespace unfold
