#include "cli/terminal/interrupt.h"

#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/interruptible.h"
#include "unfold/base/error.h"
#include "unfold/base/signals.h"

namespace unfold {
namespace {

std::atomic<bool> polled{false}, is_service{false};

// The following functions may call only async-signal-safe functions.

void say(const char* text) {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;  // the failure cannot be reported
}

[[noreturn]] void end(ExitCode code) {
  remove_temporary_files();
  _exit(static_cast<int>(code));
}

/// Gives work without partial results a moment to end by itself with a message. setitimer is a plain system call, like
/// alarm, which counts only whole seconds.
void set_deadline() {
  itimerval moment{};
  constexpr int kMicroseconds = 350'000;
  moment.it_value.tv_usec = kMicroseconds;
  ::setitimer(ITIMER_REAL, &moment, nullptr);
}

void on_deadline(int) {
  if (!NothingToSave::any()) return;  // the work has ended on its own
  say("unfold: interrupted\n");
  end(ExitCode::interrupted);
}

void on_stop(int signal) {
  if (signal == SIGTERM && is_service) end(ExitCode::success);
  const bool first = !stop_requested().exchange(true);
  if (first && polled && !BlockingSection::any()) {
    if (NothingToSave::any()) set_deadline();
    return;
  }
  if (first) say("unfold: interrupted\n");
  end(ExitCode::interrupted);
}

void on_lost_memory(int, siginfo_t* what, void*) {
  const char* name = mapped_file_at(what->si_addr);
  if (name == nullptr) {
    std::signal(SIGBUS, SIG_DFL);  // the fault is not in a mapped file: it is repeated on return and then ends the
                                   // process
    return;
  }
  say("unfold: ");
  say(name);
  say(" was truncated while it was read, or could not be read from disk; do not modify it while the command runs\n");
  end(ExitCode::failure);
}

}  // namespace

void handle_signals() {
  // Exceeded file sizes and closed pipes are reported as write errors.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  struct sigaction stop {};
  stop.sa_handler = on_stop;
  sigaction(SIGINT, &stop, nullptr);
  sigaction(SIGTERM, &stop, nullptr);
  struct sigaction hangup {};
  if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN)  // nohup ignores SIGHUP: keep it
                                                                                 // ignored
    sigaction(SIGHUP, &stop, nullptr);
  struct sigaction late {};
  late.sa_handler = on_deadline;
  late.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &late, nullptr);
  struct sigaction lost {};
  lost.sa_sigaction = on_lost_memory;
  lost.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &lost, nullptr);
}

void end_with_success_on_termination() { is_service = true; }

const std::atomic<bool>& catch_interrupts() {
  polled = true;
  return stop_requested();
}

}  // namespace unfold
