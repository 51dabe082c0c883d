#include "app/common/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>
#include <vector>

#include "base/printable.h"
#include "base/storage/temporary_file.h"
#include "unfold/base/error.h"

extern char** environ;

namespace unfold {
namespace {

/// Returns the value of PATH for the program: the folder of the running program comes first.
std::string search_path() {
  const char* path = std::getenv("PATH");
  const std::string rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin", first = program_folder().string();
  return first.empty() ? rest : first + ":" + rest;
}

std::string find_program(const std::string& name, const std::string& path) {
  if (name.find('/') != std::string::npos) return name;
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (std::filesystem::is_regular_file(candidate) && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  throw RuntimeFailure(
      fmt::format("cannot run {}: it is neither in {} nor in PATH", in_quotes(name), program_folder().string()));
}

std::string output_of(const UnnamedFile& file) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0;
       (n = ::pread(file.descriptor(), buffer.data(), buffer.size(), static_cast<off_t>(text.size()))) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(n));
  return text;
}

std::string last_line(const std::string& text) {
  std::istringstream lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) last = line;
  return last;
}

/// Returns pointers to the texts, followed by a null pointer.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_with(const std::string& path) {
  std::vector<std::string> result = {"PATH=" + path};
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!std::string_view(*entry).starts_with("PATH=")) result.emplace_back(*entry);
  return result;
}

/// Starts a program that writes to the given descriptors. Returns the number of the process.
pid_t start_program(std::span<const std::string> words, int out, int err) {
  const std::string path = search_path(), program = find_program(words.front(), path);
  std::vector<std::string> line(words.begin(), words.end()), variables = environment_with(path);
  const std::vector<char*> arguments = pointers_to(line), environment = pointers_to(variables);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  pid_t id = 0;
  const int error = ::posix_spawn(&id, program.c_str(), &actions, nullptr, arguments.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw RuntimeFailure(fmt::format("cannot run {}: {}", program, std::generic_category().message(error)));
  return id;
}

/// Waits until a process has ended and returns its status. Sends it SIGTERM when `stop` is set.
int wait_for(pid_t id, const std::atomic<bool>* stop) {
  bool told = false;
  for (int status = 0;;) {
    const pid_t ended = ::waitpid(id, &status, WNOHANG);
    if (ended == id) return status;
    if (ended < 0 && errno != EINTR)
      throw RuntimeFailure(fmt::format("waitpid: {}", std::generic_category().message(errno)));
    if (!told && stop != nullptr && stop->load()) {
      told = true;
      ::kill(id, SIGTERM);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

std::filesystem::path program_folder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : program.parent_path();
}

std::string run_program(std::span<const std::string> words, Reporter& reporter) {
  const UnnamedFile out("the output of a program"), err("the messages of a program");
  const std::atomic<bool>* stop = reporter.stop();
  const int status = wait_for(start_program(words, out.descriptor(), err.descriptor()), stop);
  if (stop != nullptr && stop->load())
    throw InterruptedError(fmt::format("interrupted in {}; run the same command again to continue", words.front()));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return output_of(out);
  throw RuntimeFailure(
      bounded_message(fmt::format("{} failed ({}): {}", fmt::join(words, " "),
                                  WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                                                    : fmt::format("terminated by signal {}", WTERMSIG(status)),
                                  last_line(output_of(err)))));
}

}  // namespace unfold
