#include "unfold/cli/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "unfold/base/error.h"

namespace unfold {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

void on_signal(int) {
  if (interrupted.exchange(true)) _exit(static_cast<int>(ExitCode::interrupted));
}

}  // namespace

const std::atomic<bool>& catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return interrupted;
}

}  // namespace unfold
