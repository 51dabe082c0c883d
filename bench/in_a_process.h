#pragma once
/// Runs measurements of different libraries in separate processes, so that they do not affect each other.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <vector>

namespace unfold {

/// Returns the result of `measure` in a child process. The threads of a library, which may spin while idle, end with
/// the child. REQUIRES a process that has never had more than one thread.
inline double in_a_process(const std::function<double()>& measure) {
  int ends[2];
  std::fflush(stdout);
  if (pipe(ends) != 0) throw std::runtime_error("no pipe for a measurement");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process for a measurement");
  if (child == 0) {
    double result = 0;
    try {
      result = measure();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
    _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
  }
  close(ends[1]);
  double result = 0;
  const bool whole = read(ends[0], &result, sizeof result) == sizeof result;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  if (!whole) throw std::runtime_error("a measurement failed");
  return result;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace unfold
