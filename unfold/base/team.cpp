#include "unfold/base/team.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace unfold {
namespace {

using Clock = std::chrono::steady_clock;

/// Thrown by sync() in the members that did not fail themselves; never leaves `run`.
struct Abandoned {};

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A pause lasts 40 to 140 cycles: a few bare polls catch a neighbour that is nearly there, then pauses for some
// microseconds, then the processor is offered to others.
constexpr int kPolls = 100, kPauses = 150;
constexpr auto kIdleBeforeSleep = std::chrono::microseconds(100);
// At a barrier: a neighbour that takes longer has most likely lost its processor to another program. Whoever goes on
// yielding then keeps it from coming back; a sleeper gives way at once.
constexpr auto kBarrierBeforeSleep = std::chrono::microseconds(50);

/// Waits until ready(), trying ever more politely; gives up and returns false when give_up(), asked between yields.
template <class Ready, class GiveUp>
bool wait_until(const Ready& ready, const GiveUp& give_up) {
  for (int i = 0; i < kPolls; ++i) {
    if (ready()) return true;
  }
  for (int i = 0; i < kPauses; ++i) {
    if (ready()) return true;
    relax();
  }
  while (!ready()) {
    if (give_up()) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Waits until ready(), that is until `counter` differs from `seen`: awake for a while, then asleep.
template <class Ready>
void wait_or_sleep(const std::atomic<int>& counter, int seen, const Ready& ready, Clock::duration awake) {
  Clock::time_point limit = Clock::time_point::max();  // set at the first question: most waits end before
  const auto tired = [&] {
    const auto now = Clock::now();
    if (limit == Clock::time_point::max()) limit = now + awake;
    return now > limit;
  };
  if (wait_until(ready, tired)) return;
  while (!ready()) counter.wait(seen, std::memory_order_acquire);
}

}  // namespace

struct Team::State {
  explicit State(int threads)
      : size(threads), arrivals(std::make_unique<Arrivals[]>(static_cast<std::size_t>(threads))) {
    try {
      for (int id = 1; id < size; ++id) workers.emplace_back([this, id] { work(id); });
    } catch (...) {
      stop();
      throw;
    }
  }
  ~State() { stop(); }

  void work(int id);
  void execute(int id);
  void wait_for_run(int seen);
  void arrive(int id);
  void barrier(int id);
  void stop();

  const int size;
  std::vector<std::thread> workers;
  const std::function<void(Member&)>* body = nullptr;  // null tells the workers to end
  std::exception_ptr error;
  std::mutex error_mutex;
  std::atomic<bool> busy{false};

  // Each of these is hammered by other threads: a cache line of its own.
  alignas(64) std::atomic<int> generation{0};  // of runs; int is what a futex waits on directly
  alignas(64) std::atomic<int> finished{0};    // workers that have left the current run
  alignas(64) std::atomic<bool> failed{false};
  /// How many barriers each member has reached. Each writes its own line and reads those of the others: one transfer
  /// of a line between two members, where a common counter needs two.
  struct alignas(64) Arrivals {
    std::atomic<int> count{0};  // wraps around
  };
  const std::unique_ptr<Arrivals[]> arrivals;
};

/// At a barrier, or gone for good.
void Team::State::arrive(int id) {
  auto& count = arrivals[static_cast<std::size_t>(id)].count;
  count.fetch_add(1, std::memory_order_release);
  count.notify_all();
}

void Team::State::barrier(int id) {
  if (failed.load(std::memory_order_acquire)) throw Abandoned();
  const int before = arrivals[static_cast<std::size_t>(id)].count.load(std::memory_order_relaxed);
  arrive(id);
  for (int other = 0; other < size; ++other) {
    const auto& count = arrivals[static_cast<std::size_t>(other)].count;
    const auto there = [&] { return count.load(std::memory_order_acquire) != before; };
    wait_or_sleep(count, before, there, kBarrierBeforeSleep);
  }
  if (failed.load(std::memory_order_acquire)) throw Abandoned();
}

void Team::State::execute(int id) {
  try {
    Member me(id, size, this);
    (*body)(me);
  } catch (const Abandoned&) {
    arrive(id);
  } catch (...) {
    {
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
    }
    failed.store(true, std::memory_order_release);
    arrive(id);  // lets go who waits at a barrier
  }
}

/// Waits for a generation other than `seen`: spinning at first, for runs follow each other closely, then asleep.
void Team::State::wait_for_run(int seen) {
  const auto ready = [&] { return generation.load(std::memory_order_acquire) != seen; };
  wait_or_sleep(generation, seen, ready, kIdleBeforeSleep);
}

void Team::State::work(int id) {
  for (int seen = 0;; ++seen) {
    wait_for_run(seen);
    if (!body) return;
    execute(id);
    finished.fetch_add(1, std::memory_order_release);
  }
}

void Team::State::stop() {
  body = nullptr;
  generation.fetch_add(1, std::memory_order_release);
  generation.notify_all();
  for (std::thread& worker : workers) worker.join();
}

Team::Team(int threads) {
  if (threads < 1) throw std::invalid_argument("Team: at least one thread is needed");
  state_ = std::make_unique<State>(threads);
}

Team::~Team() = default;

int Team::size() const { return state_->size; }

void Team::run(const std::function<void(Member&)>& body) {
  State& s = *state_;
  if (s.size == 1) {
    Member me(0, 1, &s);
    body(me);
    return;
  }
  if (s.busy.exchange(true, std::memory_order_acquire))
    throw std::logic_error("Team::run: the team is already running");
  s.body = &body;
  s.generation.fetch_add(1, std::memory_order_release);
  s.generation.notify_all();
  s.execute(0);
  wait_until([&] { return s.finished.load(std::memory_order_acquire) == s.size - 1; }, [] { return false; });
  s.finished.store(0, std::memory_order_relaxed);
  if (s.failed.exchange(false, std::memory_order_relaxed)) {  // members stopped at different barriers
    for (int id = 0; id < s.size; ++id) s.arrivals[static_cast<std::size_t>(id)].count.store(0);
  }
  const std::exception_ptr error = std::exchange(s.error, nullptr);
  s.busy.store(false, std::memory_order_release);
  if (error) std::rethrow_exception(error);
}

Range Member::share(Index n, Index grain) const {
  const Index units = (n + grain - 1) / grain;
  const auto boundary = [&](Index id) { return std::min(n, units * id / size_ * grain); };
  return {boundary(id_), boundary(id_ + 1)};
}

void Member::sync() {
  if (size_ > 1) state_->barrier(id_);
}

int available_threads() {
#ifdef __linux__
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof processors, &processors) == 0) return std::max(1, CPU_COUNT(&processors));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace unfold
