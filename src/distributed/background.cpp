#include "distributed/background.h"

#include <utility>

#include "base/threads/start_thread.h"

namespace unfold {

Background::~Background() {
  if (!thread_.joinable()) return;
  pace_.is_canceled = true;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  thread_.join();
}

void Background::give(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) waiting_.push_back(std::move(work));
  }
  changed_.notify_all();
  if (!thread_.joinable()) thread_ = start_thread([this] { return std::thread([this] { run(); }); });
}

void Background::wait() {
  pace_.awaited = true;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && !busy_; });
  pace_.awaited = false;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Background::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    if (ends_) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    busy_ = true;
    lock.unlock();
    std::exception_ptr error;
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    busy_ = false;
    if (error) {
      error_ = error;
      waiting_.clear();
    }
    changed_.notify_all();
  }
}

}  // namespace unfold
