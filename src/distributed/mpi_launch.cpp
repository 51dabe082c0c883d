/// Processes over MPI. Only one thread at a time calls MPI.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include "distributed/launch.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Maximum size of one message: MPI counts are ints.
constexpr std::size_t kLargestMessage = std::size_t{1} << 30;
/// How long a failed process waits for the other processes to fail.
constexpr std::chrono::seconds kPatience{3};

void check_mpi(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int size = 0;
  MPI_Error_string(code, text.data(), &size);
  throw RuntimeFailure(std::string("communication between processes failed (") + what +
                       "): " + std::string(text.data(), static_cast<std::size_t>(size)));
}

class MpiProcesses final : public Processes {
 public:
  MpiProcesses() {
    int given = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given);
    if (given < MPI_THREAD_SERIALIZED) throw RuntimeFailure("this MPI library does not support multithreaded programs");
    MPI_Comm_dup(MPI_COMM_WORLD, &work_);
    MPI_Comm_dup(MPI_COMM_WORLD, &failures_);
    MPI_Comm_set_errhandler(work_, MPI_ERRORS_RETURN);
    MPI_Comm_size(work_, &count_);
    MPI_Comm_rank(work_, &number_);
    MPI_Comm machine = MPI_COMM_NULL;
    MPI_Comm_split_type(work_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &here_);
    MPI_Comm_free(&machine);
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int size = 0;
    MPI_Get_processor_name(name.data(), &size);
    machine_.assign(name.data(), static_cast<std::size_t>(size));
  }

  int count() const override { return count_; }
  int number() const override { return number_; }
  int local_count() const override { return here_; }
  std::string machine() const override { return machine_; }

  void exchange(std::span<const Sending> sendings, std::span<const Receiving> receivings) override {
    begin(sendings, receivings);
    wait("exchanging", nullptr);
  }

  void exchange_in_background(std::span<const Sending> sendings, std::span<const Receiving> receivings,
                              const Pace& pace) override {
    begin(sendings, receivings);
    wait("exchanging", &pace);
  }

  void gather_bytes(std::span<const std::byte> mine, std::span<std::byte> all) override {
    const int size = static_cast<int>(mine.size());
    requests_.assign(1, MPI_REQUEST_NULL);
    check_mpi(MPI_Iallgather(mine.data(), size, MPI_BYTE, all.data(), size, MPI_BYTE, work_, requests_.data()),
              "gathering");
    wait("gathering", nullptr);
  }

  bool wait_for_all_failures() {
    MPI_Request arrived = MPI_REQUEST_NULL;
    MPI_Ibarrier(failures_, &arrived);
    const auto begin = std::chrono::steady_clock::now();
    for (int done = 0; std::chrono::steady_clock::now() - begin < kPatience;) {
      MPI_Test(&arrived, &done, MPI_STATUS_IGNORE);
      if (done != 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

 private:
  void begin(std::span<const Sending> sendings, std::span<const Receiving> receivings) {
    requests_.clear();
    for (const Receiving& r : receivings)
      in_messages(r.bytes, [&](std::span<std::byte> part) {
        check_mpi(MPI_Irecv(part.data(), static_cast<int>(part.size()), MPI_BYTE, r.from, 0, work_,
                            &requests_.emplace_back()),
                  "receiving");
      });
    for (const Sending& s : sendings)
      in_messages(s.bytes, [&](std::span<const std::byte> part) {
        check_mpi(
            MPI_Isend(part.data(), static_cast<int>(part.size()), MPI_BYTE, s.to, 0, work_, &requests_.emplace_back()),
            "sending");
      });
  }

  /// Polls and yields, so other processes run if there are more processes than processors, which MPI may not notice. If
  /// no caller is waiting, polls only occasionally, so computation keeps the processor.
  void wait(const char* what, const Pace* pace) {
    constexpr int kTries = 200;
    constexpr std::chrono::microseconds kPause{50};
    for (int tries = 0, done = 0;; ++tries) {
      check_mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE), what);
      if (done != 0) return;
      if (pace != nullptr && pace->is_canceled) throw RuntimeFailure("an exchange was canceled");
      if (pace != nullptr && !pace->awaited)
        std::this_thread::sleep_for(kPause);
      else if (tries >= kTries)
        std::this_thread::yield();
    }
  }

  template <class Byte, class Send>
  static void in_messages(std::span<Byte> bytes, const Send& send) {
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), kLargestMessage)))
      send(bytes.first(std::min(bytes.size(), kLargestMessage)));
  }

  MPI_Comm work_ = MPI_COMM_NULL, failures_ = MPI_COMM_NULL;
  int count_ = 1, number_ = 0, here_ = 1;
  std::string machine_;
  std::vector<MPI_Request> requests_;
};

std::unique_ptr<MpiProcesses>& joined() {
  static std::unique_ptr<MpiProcesses> processes;
  return processes;
}

}  // namespace

Processes& launched_processes() {
  if (launch_info_from_environment().all == 1) return single_process();
  if (!joined()) joined() = std::make_unique<MpiProcesses>();
  return *joined();
}

bool mpi_is_initialized() { return joined() != nullptr; }
bool wait_for_all_failures() { return joined()->wait_for_all_failures(); }

void end_all(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

/// The launcher kills the other processes as soon as one exits with an error, so the first process, whose exit code
/// counts, exits last.
void finalize() {
  if (!mpi_is_initialized()) return;
  const bool first = joined()->first();
  MPI_Finalize();
  if (first) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace unfold
