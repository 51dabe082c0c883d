#pragma once
/// Runs the command as users do: as a process with its own arguments, environment and limits.

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace unfold::test {

struct Finished {
  int code = -1;  ///< exit code; 128 + the number of the terminating signal
  std::string out, err;
  long peak_kilobytes = 0;  ///< peak memory
};

struct Surroundings {
  std::vector<std::string> before = {};  ///< full path and arguments of a command that starts this one
  std::map<std::string, std::string> environment =
      {};                       ///< added to the environment of the test, without its UNFOLD_* variables
  std::string folder = {};      ///< working directory; empty: ours
  std::string input = {};       ///< standard input
  std::string input_path = {};  ///< file for standard input (a pipe with a writer)
  std::string output = {};      ///< file for standard output (a device)
  long file_size_limit = -1;    ///< maximum file size in bytes (RLIMIT_FSIZE)
  bool no_threads = false;      ///< thread creation fails: the stacks exceed the available memory
};

/// A running command. Its outputs go to unnamed files, so it never blocks.
class Process {
 public:
  Process(const std::vector<std::string>& arguments, const Surroundings& surroundings = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void signal(int number) const;
  pid_t id() const { return pid_; }
  bool running();
  /// Waits until the process ends; kills it after `seconds`. The default is large because two threads on a busy machine
  /// are slow.
  Finished finish(double seconds = 300);

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = 0;
  long peak_kilobytes_ = 0;
  int out_ = -1, err_ = -1;
};

/// Runs `unfold arguments...`.
Finished unfold_command(const std::vector<std::string>& arguments, const Surroundings& surroundings = {});

/// A temporary folder, removed with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string read_bytes(const std::string& path);  ///< empty if there is no such file
void write_bytes(const std::string& path, const std::string& bytes);

}  // namespace unfold::test
