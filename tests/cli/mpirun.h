#pragma once
/// Runs `mpirun -n K unfold ...` in tests, which are skipped if the build has no MPI.

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/fixture.h"

namespace unfold::test {

/// Prevents Open MPI from contacting other machines and from reading the memory of other processes.
inline const Surroundings& quiet_mpi() {
  static const Surroundings surroundings = {.environment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                                            {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                                            {"OMPI_MCA_plm", "isolated"},
                                                            {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
                                                            {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                                            {"OMPI_MCA_hwloc_base_binding_policy", "none"}}};
  return surroundings;
}

/// Returns the processes of `unfold` whose parent is `parent`.
inline std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> result;
  std::ifstream list("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  std::copy(std::istream_iterator<pid_t>(list), {}, std::back_inserter(result));
  return result;
}

/// Returns a short digest of bytes for messages; empty for no bytes.
inline std::string short_of(const std::string& bytes) {
  return bytes.empty() ? ""
                       : std::to_string(bytes.size()) + " bytes, " + std::to_string(std::hash<std::string>()(bytes));
}

class ProcessesTest : public CommandTest {
 protected:
  void SetUp() override {
    if (std::string(UNFOLD_MPIEXEC).empty()) GTEST_SKIP() << "this build has no MPI";
    write_bytes(text_, small_text(6000));
  }

  /// Returns the environment for a program that starts `unfold arguments...` in `count` processes.
  static Surroundings started_in(int count) {
    Surroundings result = quiet_mpi();
    result.before = {UNFOLD_MPIEXEC, "-n", std::to_string(count)};
    return result;
  }
  static Finished mpirun(int count, const Arguments& arguments) {
    return count == 1 ? unfold_command(arguments) : unfold_command(arguments, started_in(count));
  }

  /// Returns the model file of a training run in `count` processes in a separate folder.
  std::string model_of(int count, const std::string& name, const Arguments& arguments) const {
    const std::string out = folder_ / (name + "-" + std::to_string(count));
    const Finished finished = mpirun(count, arguments + Arguments{"--out", out, "--overwrite"});
    EXPECT_EQ(finished.code, 0) << name << " in " << count << ": " << finished.err;
    return short_of(read_bytes(out + "/model.safetensors"));
  }

  /// Kills one of the processes once `count` of them exist and `moment` holds; returns whether they were still running.
  template <class Moment>
  static bool kill_one(Process& process, int count, const Moment& moment) {
    std::vector<pid_t> children;
    while (process.running() && (children.size() < static_cast<std::size_t>(count) || !moment())) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      children = children_of(process.id());
    }
    return !children.empty() && ::kill(children.back(), SIGKILL) == 0;
  }
};

}  // namespace unfold::test
