#include "tests/cli/process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace unfold::test {
namespace {

int unnamed_file(const std::string& contents = "") {
  std::string name = (std::filesystem::temp_directory_path() / "unfold-test-XXXXXX").string();
  const int descriptor = mkstemp(name.data());
  if (descriptor < 0) throw std::runtime_error("no temporary file");
  unlink(name.c_str());
  if (write(descriptor, contents.data(), contents.size()) != static_cast<ssize_t>(contents.size()))
    throw std::runtime_error("cannot write a temporary file");
  lseek(descriptor, 0, SEEK_SET);
  return descriptor;
}

std::string contents_of(int descriptor) {
  std::string text;
  char buffer[4096];
  lseek(descriptor, 0, SEEK_SET);
  for (ssize_t n; (n = read(descriptor, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

std::vector<std::string> environment_of(const Surroundings& surroundings) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!std::string(*entry).starts_with("UNFOLD_")) result.emplace_back(*entry);
  for (const auto& [name, value] : surroundings.environment) result.push_back(name + "=" + value);
  // Tests run in parallel, and threads that wait for each other on too few processors are slow.
  if (!surroundings.environment.contains("UNFOLD_THREADS")) result.push_back("UNFOLD_THREADS=1");
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments, const Surroundings& surroundings) {
  std::vector<std::string> line = surroundings.before;
  line.emplace_back(UNFOLD_COMMAND);
  line.insert(line.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment_of(surroundings);
  const std::vector<char*> argv = pointers(line), environment = pointers(variables);
  const int in = surroundings.input_path.empty() ? unnamed_file(surroundings.input)
                                                 : open(surroundings.input_path.c_str(), O_RDWR | O_CLOEXEC);
  out_ = surroundings.output.empty() ? unnamed_file() : open(surroundings.output.c_str(), O_WRONLY | O_CLOEXEC);
  err_ = unnamed_file();
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ == 0) {  // only async-signal-safe calls from here on
    if (!surroundings.folder.empty() && chdir(surroundings.folder.c_str()) != 0) _exit(127);
    if (surroundings.file_size_limit >= 0) {
      const auto limit = static_cast<rlim_t>(surroundings.file_size_limit);
      const rlimit both{limit, limit};
      setrlimit(RLIMIT_FSIZE, &both);
    }
    if (surroundings.no_threads) {
      const rlimit memory{rlim_t{1} << 30, rlim_t{1} << 30}, stack{rlim_t{2} << 30, rlim_t{2} << 30};
      setrlimit(RLIMIT_AS, &memory);
      setrlimit(RLIMIT_STACK, &stack);
    }
    dup2(in, STDIN_FILENO);
    dup2(out_, STDOUT_FILENO);
    dup2(err_, STDERR_FILENO);
    execve(argv.front(), argv.data(), environment.data());
    _exit(127);
  }
  close(in);
}

Process::~Process() {
  if (!ended_) {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, &status_, 0);
  }
  close(out_);
  close(err_);
}

void Process::signal(int number) const { ::kill(pid_, number); }

bool Process::running() {
  rusage usage{};
  if (!ended_ && wait4(pid_, &status_, WNOHANG, &usage) == pid_) {
    ended_ = true;
    peak_kilobytes_ = usage.ru_maxrss;
  }
  return !ended_;
}

Finished Process::finish(double seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (running()) {
    if (std::chrono::steady_clock::now() > deadline) ::kill(pid_, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  Finished result;
  result.code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  result.out = contents_of(out_);
  result.err = contents_of(err_);
  result.peak_kilobytes = peak_kilobytes_;
  return result;
}

Finished unfold_command(const std::vector<std::string>& arguments, const Surroundings& surroundings) {
  return Process(arguments, surroundings).finish();
}

TemporaryFolder::TemporaryFolder() {
  path_ = (std::filesystem::temp_directory_path() / "unfold-cli-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace unfold::test
