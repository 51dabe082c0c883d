#pragma once
/// Runs the command as users do: a process with its own arguments, environment and limits.

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace unfold::test {

struct Finished {
  int code = -1;  ///< exit code; 128 + number of the signal that ended it
  std::string out, err;
  long peak_kilobytes = 0;  ///< of memory
};

struct Surroundings {
  std::vector<std::string> before = {};                 ///< a command, of its full name, that starts ours
  std::map<std::string, std::string> environment = {};  ///< in addition to ours, without any UNFOLD_* of ours
  std::string folder = {};                              ///< to run in; empty: ours
  std::string input = {};                               ///< standard input
  std::string input_path = {};                          ///< where it comes from instead (a pipe, which has a writer)
  std::string output = {};                              ///< where standard output goes instead (a device)
  long file_size_limit = -1;                            ///< bytes a file may grow to (RLIMIT_FSIZE)
  bool no_threads = false;  ///< the system gives none: their stacks are larger than all the memory that there is
};

/// A running command. Its outputs go to unnamed files, so nothing blocks.
class Process {
 public:
  Process(const std::vector<std::string>& arguments, const Surroundings& surroundings = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void signal(int number) const;
  pid_t id() const { return pid_; }
  bool running();
  /// Waits for the end; kills after `seconds`, which are many because two threads on a busy machine are slow.
  Finished finish(double seconds = 300);

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = 0;
  long peak_kilobytes_ = 0;
  int out_ = -1, err_ = -1;
};

/// `unfold arguments...`
Finished unfold_command(const std::vector<std::string>& arguments, const Surroundings& surroundings = {});

/// A folder that disappears with its contents.
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

std::string read_bytes(const std::string& path);  ///< empty when there is no such file
void write_bytes(const std::string& path, const std::string& bytes);

}  // namespace unfold::test
