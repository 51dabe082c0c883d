#include "unfold/base/threads/processors.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace unfold {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

/// Parses "quota period" in microseconds, the format of version 2; "max period" and "-1 period" mean no quota.
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

int allowed_processors() {
#ifdef __linux__
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof processors, &processors) == 0) return std::max(1, CPU_COUNT(&processors));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/// Limits a number of processors to the quota of the control groups.
int granted_of(int processors) {
  const double granted = std::ceil(cgroup_processor_quota());
  return std::max(1, granted < processors ? static_cast<int>(granted) : processors);
}

}  // namespace

double cgroup_processor_quota(const ControlGroups& groups) {
  double least = kUnbounded;
  for (const std::string& group : groups.of("cpu")) least = std::min(least, quota_of(group));
  return least;
}

int available_threads() { return granted_of(allowed_processors()); }

int machine_threads() { return granted_of(static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN))); }

}  // namespace unfold
