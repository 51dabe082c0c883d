#include "base/threads/available_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace unfold {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

/// Returns the number that follows `name` in a file of "name number" lines, or the first word of the file if `name` is
/// empty.
std::optional<std::size_t> number_in(const std::string& path, std::string_view name = "") {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    if (!name.empty() && word != name) continue;
    if (!name.empty() && !(file >> word)) break;
    if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos || word.size() > 18) break;
    return std::stoull(word);
  }
  return std::nullopt;
}

std::size_t left_of(std::size_t limit, std::size_t used) { return limit > used ? limit - used : 0; }

/// Returns the bytes that a group has left; the file names depend on the version of control groups. An unlimited group
/// contains "max", or in version 1 a number of 19 digits.
std::size_t left_in(const std::string& group, const char* limit_file, const char* used_file, const char* forgettable) {
  const auto limit = number_in(group + limit_file), used = number_in(group + used_file);
  if (!limit || !used) return kNoLimit;
  return left_of(*limit, left_of(*used, number_in(group + "/memory.stat", forgettable).value_or(0)));
}

std::size_t left_to_process() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNoLimit;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return left_of(limit.rlim_cur, number_in("/proc/self/statm").value_or(0) * page);
}

std::size_t left_on_machine() {
  if (const auto kib = number_in("/proc/meminfo", "MemAvailable:")) return *kib << 10;
  const long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : kNoLimit;
}

}  // namespace

std::size_t cgroup_memory_left(const ControlGroups& groups) {
  std::size_t least = kNoLimit;
  for (const std::string& group : groups.of("memory"))
    least = std::min({least, left_in(group, "/memory.max", "/memory.current", "inactive_file"),
                      left_in(group, "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file")});
  return least;
}

std::size_t available_memory() { return std::min({left_on_machine(), cgroup_memory_left({}), left_to_process()}); }

}  // namespace unfold
