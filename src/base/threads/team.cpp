#include "unfold/base/threads/team.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/interruptible.h"
#include "base/threads/attendance_choice.h"
#include "base/threads/start_thread.h"
#include "unfold/base/error.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace unfold {
namespace {

using Clock = std::chrono::steady_clock;

/// Thrown by sync() in threads that did not fail themselves; never escapes `run`.
struct Abandoned {};

/// Throws BrokenOff if this thread, the caller of `run`, should stop.
void break_off_if_asked() {
  const std::atomic<bool>* const stop = Interruptible::flag();
  if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw BrokenOff();
}

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A pause instruction takes 40 to 140 cycles. The first polls catch a thread that has almost arrived; then the waiting
// thread pauses for a few microseconds, and then it yields the processor.
constexpr int kPolls = 100, kPauses = 150;
constexpr auto kIdleBeforeSleep = std::chrono::microseconds(100);
// At a barrier: a thread that takes longer has most likely been preempted by another program. Yielding in a loop would
// keep it from being scheduled again; sleeping frees the processor immediately.
constexpr auto kBarrierBeforeSleep = std::chrono::microseconds(50);

/// Waits until ready(value of the counter) is true: polls and yields for `awake`, then sleeps. Returns the time waited
/// in excess of the few microseconds that are normal.
template <class Ready>
Clock::duration wait_for(const std::atomic<int>& counter, Clock::duration awake, const Ready& ready) {
  const auto there = [&] { return ready(counter.load(std::memory_order_acquire)); };
  for (int i = 0; i < kPolls; ++i) {
    if (there()) return {};
  }
  for (int i = 0; i < kPauses; ++i) {
    if (there()) return {};
    relax();
  }
  const auto start = Clock::now();
  while (!there() && Clock::now() - start <= awake) std::this_thread::yield();
  for (int seen = counter.load(std::memory_order_acquire); !ready(seen); seen = counter.load(std::memory_order_acquire))
    counter.wait(seen, std::memory_order_acquire);
  return Clock::now() - start;
}

void require_threads(int threads) {
  if (threads < 1) throw UsageError("team: " + std::to_string(threads) + " threads; at least one is needed");
}

}  // namespace

Attendance default_attendance() {
  const char* const name = std::getenv("UNFOLD_TEAM");
  if (name == nullptr || *name == '\0') return Attendance::adaptive;
  if (std::string_view(name) == "all") return Attendance::all;
  if (std::string_view(name) == "fickle") return Attendance::fickle;
  throw UsageError("UNFOLD_TEAM must be all or fickle, not \"" + std::string(name) + "\"");
}

struct Team::State {
  State(int threads, ThreadPool* given, Attendance attendance)
      : size(threads),
        pool(given),
        choice(threads, attendance),
        arrivals(std::make_unique<Arrivals[]>(static_cast<std::size_t>(threads))) {
    if (pool != nullptr) return;
    try {
      for (int id = 1; id < size; ++id)
        workers.push_back(start_thread([this, id] { return std::thread([this, id] { work(id); }); }));
    } catch (...) {
      stop();
      throw;
    }
  }
  ~State() { stop(); }

  void work(int id);
  void execute(int id);
  bool run_all(const std::function<void(Member&)>& task);
  void run_workers();
  void arrive(int id);
  void barrier(int id);
  void stop();

  const int size;
  ThreadPool* const pool;  // null: the team has its own threads, `workers`
  AttendanceChoice choice;
  Clock::duration waited{};  // time that the first thread waited in the current region
  std::vector<std::thread> workers;
  const std::function<void(Member&)>* body = nullptr;  // function to execute; null tells the workers to exit
  std::exception_ptr error;
  std::mutex error_mutex;
  std::atomic<bool> busy{false};

  // Each of these is polled by other threads and therefore has its own cache line.
  alignas(64) std::atomic<int> generation{0};  // counts parallel regions; an int, so that a futex can wait on it
  alignas(64) std::atomic<int> finished{0};    // workers that have left the current region
  alignas(64) std::atomic<bool> failed{false};
  /// Number of barriers that each thread has reached. Each thread writes its own cache line and reads the cache lines
  /// of the others: two threads need one transfer of a line, whereas a common counter needs two.
  struct alignas(64) Arrivals {
    std::atomic<int> count{0};  // wraps around
  };
  const std::unique_ptr<Arrivals[]> arrivals;
};

/// Called at a barrier, and when a thread stops permanently.
void Team::State::arrive(int id) {
  auto& count = arrivals[static_cast<std::size_t>(id)].count;
  count.fetch_add(1, std::memory_order_release);
  count.notify_all();
}

void Team::State::barrier(int id) {
  if (failed.load(std::memory_order_acquire)) throw Abandoned();
  if (id == 0) break_off_if_asked();
  const int before = arrivals[static_cast<std::size_t>(id)].count.load(std::memory_order_relaxed);
  arrive(id);
  for (int other = 0; other < size; ++other) {
    const auto& count = arrivals[static_cast<std::size_t>(other)].count;
    const auto slept = wait_for(count, kBarrierBeforeSleep, [&](int now) { return now != before; });
    if (id == 0) waited += slept;
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
    arrive(id);  // releases the threads that wait at a barrier
  }
}

void Team::State::work(int id) {
  for (unsigned seen = 0;; ++seen) {  // the generation wraps around as well
    wait_for(generation, kIdleBeforeSleep, [&](int now) { return now != static_cast<int>(seen); });
    if (!body) return;
    execute(id);
    finished.fetch_add(1, std::memory_order_release);
    finished.notify_all();
  }
}

void Team::State::stop() {
  body = nullptr;
  generation.fetch_add(1, std::memory_order_release);
  generation.notify_all();
  for (std::thread& worker : workers) worker.join();
}

Team::Team(int threads, Attendance attendance) {
  require_threads(threads);
  state_ = std::make_unique<State>(threads, nullptr, attendance);
}

Team::Team(int threads, ThreadPool& pool, Attendance attendance) {
  require_threads(threads);
  state_ = std::make_unique<State>(threads, &pool, attendance);
}

Team::~Team() = default;

int Team::size() const { return state_->size; }

void Team::run(const std::function<void(Member&)>& body) {
  State& s = *state_;
  if (!body) throw UsageError("team: the function to run is empty");
  break_off_if_asked();
  const auto alone = [&] {
    Member me(0, 1, &s);
    body(me);
  };
  if (s.size == 1) return alone();
  if (s.busy.exchange(true, std::memory_order_acquire))
    throw UsageError("team: the team is already running; a parallel region cannot start another one on the same team");
  struct Free {  // runs even if the region ends with an exception
    ~Free() { busy.store(false, std::memory_order_release); }
    std::atomic<bool>& busy;
  } free{s.busy};
  const auto start = Clock::now();
  if (!s.choice.all(start)) {
    alone();
    const auto end = Clock::now();
    return s.choice.note_alone(end, end - start);
  }
  s.waited = {};
  if (!s.run_all(body)) return alone();
  const auto end = Clock::now();
  s.choice.note_all(end, end - start, s.waited);
}

/// Returns false if the pool cannot provide the threads.
bool Team::State::run_all(const std::function<void(Member&)>& task) {
  body = &task;
  if (pool == nullptr)
    run_workers();
  else if (!pool->run(
               size, [](void* state, int id) { static_cast<State*>(state)->execute(id); }, this))
    return false;
  if (failed.exchange(false, std::memory_order_relaxed)) {  // threads stopped at different barriers
    for (int id = 0; id < size; ++id) arrivals[static_cast<std::size_t>(id)].count.store(0);
  }
  if (const std::exception_ptr thrown = std::exchange(error, nullptr)) std::rethrow_exception(thrown);
  return true;
}

void Team::State::run_workers() {
  generation.fetch_add(1, std::memory_order_release);
  generation.notify_all();
  execute(0);
  waited += wait_for(finished, kBarrierBeforeSleep, [&](int now) { return now == size - 1; });
  finished.store(0, std::memory_order_relaxed);
}

Range Member::share(Index n, Index grain) const {
  const Index units = (n + grain - 1) / grain;
  const auto boundary = [&](Index id) { return std::min(n, units * id / size_ * grain); };
  return {boundary(id_), boundary(id_ + 1)};
}

void Member::sync() {
  if (size_ > 1)
    state_->barrier(id_);
  else
    break_off_if_asked();
}

}  // namespace unfold
