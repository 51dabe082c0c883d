#include "cli/terminal/heartbeat.h"

#include <algorithm>
#include <csignal>
#include <system_error>
#include <utility>

namespace unfold {

Heartbeat::Heartbeat(std::chrono::milliseconds pause, std::function<void(double)> tell)
    : pause_(pause), tell_(std::move(tell)) {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    stopped_ = true;  // no thread available: continue without heartbeat
  }
}

Heartbeat::~Heartbeat() { stop(); }

void Heartbeat::beat() {
  const std::lock_guard lock(mutex_);
  last_ = Clock::now();
}

void Heartbeat::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Heartbeat::run() {
  sigset_t all;  // signals are handled by other threads
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  std::unique_lock lock(mutex_);
  Clock::time_point told = last_;
  while (!wake_.wait_until(lock, std::max(last_, told) + pause_, [this] { return stopped_; })) {
    const Clock::time_point now = Clock::now();
    if (now < std::max(last_, told) + pause_) continue;  // beat() was called in the meantime
    told = now;
    tell_(std::chrono::duration<double>(now - last_).count());
  }
}

}  // namespace unfold
