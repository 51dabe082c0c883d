#include "app/common/work_distribution.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

#include "base/threads/start_thread.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

constexpr int kMostDeaths = 3;

/// Exclusive ownership of a piece of work during its lifetime.
class Ownership {
 public:
  static std::optional<Ownership> try_to_take(const std::string& path) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0)
      throw RuntimeFailure(fmt::format("cannot open {}: {}", path, std::generic_category().message(errno)));
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return Ownership(descriptor);
    ::close(descriptor);
    return std::nullopt;
  }
  Ownership(Ownership&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Ownership& operator=(Ownership&&) = delete;
  ~Ownership() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

 private:
  explicit Ownership(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

/// Processes the pieces that are neither done nor claimed, in order, until one fails.
void do_unclaimed(std::span<const WorkPiece> pieces, Reporter& reporter, const std::atomic<bool>& failed) {
  std::size_t number = 0;
  for (const WorkPiece& piece : pieces) {
    ++number;
    if (failed) return;
    if (piece.is_done()) continue;
    const std::optional<Ownership> claim = Ownership::try_to_take(piece.claim);
    if (!claim || piece.is_done()) continue;
    reporter.remark(fmt::format("{}/{}  {}", number, pieces.size(), piece.name));
    piece.do_it(reporter);
  }
}

/// Serializes the reports of several threads.
class SharedReporter final : public Reporter {
 public:
  explicit SharedReporter(Reporter& one) : one_(one), stop_(one.stop()) {}
  void remark(std::string_view text) override {
    const std::lock_guard lock(mutex_);
    one_.remark(text);
  }
  void warn(std::string_view text) override {
    const std::lock_guard lock(mutex_);
    one_.warn(text);
  }
  const std::atomic<bool>* stop() override { return stop_; }

 private:
  Reporter& one_;
  const std::atomic<bool>* stop_;
  std::mutex mutex_;
};

/// Like do_unclaimed, on several threads. The first error is thrown after all threads have ended.
void do_in_parallel(std::span<const WorkPiece> pieces, int threads, Reporter& reporter) {
  std::atomic<bool> failed = false;
  if (threads <= 1) return do_unclaimed(pieces, reporter, failed);
  SharedReporter shared(reporter);
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    try {
      do_unclaimed(pieces, shared, failed);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;  // joined even if some threads cannot be started
    for (int i = 1; i < threads; ++i) others.push_back(start_thread([&] { return std::jthread(work); }));
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

/// The reporter of a child process: prints warnings only, and can be interrupted.
class ChildReporter final : public Reporter {
 public:
  explicit ChildReporter(Reporter& parent) : parent_(parent) {}
  void warn(std::string_view text) override { parent_.warn(text); }
  const std::atomic<bool>* stop() override { return parent_.stop(); }

 private:
  Reporter& parent_;
};

/// Child processes that do the work. The parent only waits, so it has no threads when it forks.
class Jobs {
 public:
  Jobs(std::span<const WorkPiece> pieces, Reporter& reporter) : pieces_(pieces), reporter_(reporter) {}
  ~Jobs() {
    for (const pid_t id : children_) ::kill(id, SIGTERM);
    for (const pid_t id : children_) ::waitpid(id, nullptr, 0);
  }
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  void run(Index count) {
    const std::atomic<bool>* stop = reporter_.stop();
    for (Index i = 0; i < count; ++i) start();
    for (bool told = false; !children_.empty();) {
      if (!told && stop != nullptr && stop->load()) {
        told = true;  // the children are signaled only once, because a second signal would end them while they save
        for (const pid_t id : children_) ::kill(id, SIGTERM);
      }
      tell_progress();
      collect();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    if (interrupted_) throw InterruptedError("interrupted; run the same command again to continue");
    if (!failure_.empty()) throw RuntimeFailure(failure_);
  }

 private:
  void start() {
    const pid_t id = ::fork();
    if (id < 0) throw RuntimeFailure(fmt::format("cannot start a process: {}", std::generic_category().message(errno)));
    if (id == 0) {
      ::setpgid(0, 0);  // the parent forwards signals from the terminal
      be_child();
    }
    children_.insert(id);
  }

  [[noreturn]] void be_child() {
    ChildReporter reporter(reporter_);
    ExitCode code = ExitCode::success;
    try {
      do_in_parallel(pieces_, 1, reporter);
    } catch (const Error& error) {
      code = error.code();
      if (code != ExitCode::interrupted) reporter.warn(error.what());
    } catch (const std::exception& error) {
      code = ExitCode::failure;
      reporter.warn(error.what());
    }
    std::_Exit(static_cast<int>(code));
  }

  void collect() {
    for (auto child = children_.begin(); child != children_.end();) {
      int status = 0;
      if (::waitpid(*child, &status, WNOHANG) != *child) {
        ++child;
        continue;
      }
      const pid_t id = *child;
      child = children_.erase(child);
      ended(id, status);
    }
  }

  void ended(pid_t id, int status) {
    if (WIFSIGNALED(status)) {
      reporter_.warn(fmt::format("process {} was terminated by signal {}{}", id, WTERMSIG(status),
                                 ++deaths_ <= kMostDeaths ? "; another process will redo its work" : ""));
      if (deaths_ > kMostDeaths)
        failure_ = fmt::format("{} worker processes have died; run the same command again to continue", deaths_);
      else
        start();
    } else if (WEXITSTATUS(status) == static_cast<int>(ExitCode::interrupted)) {
      interrupted_ = true;
    } else if (WEXITSTATUS(status) != 0) {
      failure_ = fmt::format("process {} failed (exit code {}); see its messages above", id, WEXITSTATUS(status));
    }
  }

  void tell_progress() {
    const auto done = std::ranges::count_if(pieces_, [](const WorkPiece& piece) { return piece.is_done(); });
    if (done == done_) return;
    done_ = done;
    reporter_.remark(fmt::format("{} of {} done", done, pieces_.size()));
  }

  std::span<const WorkPiece> pieces_;
  Reporter& reporter_;
  std::set<pid_t> children_;
  int deaths_ = 0;
  std::ptrdiff_t done_ = 0;
  bool interrupted_ = false;
  std::string failure_;
};

}  // namespace

void do_work(std::span<const WorkPiece> pieces, const WorkOptions& options, Reporter& reporter) {
  Processes& all = options.processes != nullptr ? *options.processes : single_process();
  if (options.jobs > 1)
    Jobs(pieces, reporter).run(std::min(options.jobs, static_cast<Index>(pieces.size())));
  else
    do_in_parallel(pieces, std::min(options.threads, static_cast<int>(pieces.size())), reporter);
  all.any(false);  // barrier: all processes have finished the pieces that they claimed
  for (const WorkPiece& piece : pieces)
    if (!piece.is_done())
      throw RuntimeFailure(fmt::format(
          "{} was not completed by any process; another unfold process may be using the same folder", piece.name));
}

}  // namespace unfold
