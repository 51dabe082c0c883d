/// Runs the command in a fork of this process for every line of standard input. This tests three times as many damaged
/// files per hour as starting the program for each file. Used by tools/attack.sh --forks.
///
/// An input line is {"arguments": [...], "out": FILE, "err": FILE, "memory": BYTES, "processor": SECONDS, "clock":
/// SECONDS}. The answer is "CODE PEAK_KILOBYTES". CODE is negative if a signal ended the fork; SIGXCPU and SIGALRM mean
/// that the time limit was exceeded.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/terminal/interrupt.h"
#include "cli/verb.h"

namespace {

using nlohmann::json;

void limit(decltype(RLIMIT_CPU) resource, rlim_t most) {
  const rlimit both{most, most + 1};  // the soft limit sends SIGXCPU, the hard limit SIGKILL
  if (setrlimit(resource, &both) != 0) std::perror("forks: setrlimit");
}

void write_into(const std::string& file, int descriptor) {
  const int opened = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (opened < 0 || dup2(opened, descriptor) < 0) std::_Exit(125);
  close(opened);
}

[[noreturn]] void run(const json& line) {
  write_into(line.at("out"), STDOUT_FILENO);
  write_into(line.at("err"), STDERR_FILENO);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  close(nothing);
  limit(RLIMIT_CPU, line.at("processor"));
  if (const rlim_t memory = line.at("memory"); memory > 0) limit(RLIMIT_AS, memory);
  alarm(line.at("clock"));
  std::exit(unfold::run_command(line.at("arguments").get<std::vector<std::string>>()));
}

}  // namespace

int main() {
  unfold::handle_signals();
  for (std::string text; std::getline(std::cin, text);) {
    const json line = json::parse(text);
    const pid_t copy = fork();
    if (copy == 0) run(line);
    int status = 0;
    rusage used{};
    if (copy < 0 || wait4(copy, &status, 0, &used) != copy) {
      std::perror("forks");
      return 1;
    }
    std::cout << (WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status)) << ' ' << used.ru_maxrss << std::endl;
  }
  return 0;
}
