#pragma once
/// A team of threads that executes one function together (single program, multiple data).
///
///   Team team(2);
///   team.run([&](Member& me) {
///     Range mine = me.share(n, 16);          // my part of [0, n), in multiples of 16
///     ...                                    // write only my part
///     me.sync();                             // barrier: all parts are complete after this
///   });
///
/// Determinism (invariant 2): work is divided by output, never by reduction, so results do not depend on the number of
/// threads. The barrier spins for a short while, then yields, then sleeps, so that an oversubscribed machine still
/// makes progress. An exception in any thread ends the parallel region on all threads and is rethrown by `run`. `run`
/// cannot be nested (UsageError). A team of one executes the function on the calling thread without synchronization.

#include <functional>
#include <memory>

#include "unfold/base/threads/processors.h"
#include "unfold/base/types.h"

namespace unfold {

class Member;

/// Which threads take part in a parallel region.
enum class Attendance : unsigned char {
  all,  ///< every thread takes part in every region; for benchmarks and tests of threads
  /// all threads, but temporarily only the caller if threads mostly wait for each other, because other programs occupy
  /// the CPUs, or if regions are so short that the caller alone is faster
  adaptive,
  /// either all threads or only the caller, chosen pseudo-randomly; tests use this to find code that relies on equal
  /// shares in every region
  fickle
};

/// Returns the default attendance: `adaptive`. The environment variable UNFOLD_TEAM=all|fickle overrides it, for
/// tests.
Attendance default_attendance();

/// Threads that another library of the process owns, for example those of PyTorch. After a parallel region, such a
/// library may keep its threads polling for the next one; a team with other threads then competes with them for
/// the processors.
class ThreadPool {
 public:
  virtual ~ThreadPool() = default;

  /// Calls body(context, id) for every id in [0, threads) at the same time, each on its own thread and id 0 on the
  /// calling thread, and returns true when all calls have returned. Returns false, without a call, if the pool cannot
  /// provide this number of threads. The body does not throw.
  virtual bool run(int threads, void (*body)(void* context, int id), void* context) = 0;
};

class Team {
 public:
  explicit Team(int threads = 1, Attendance attendance = default_attendance());  ///< UsageError if threads < 1
  /// Uses the threads of a pool, or only the caller in regions for which the pool cannot provide the threads. The pool
  /// must exist as long as the team.
  Team(int threads, ThreadPool& pool, Attendance attendance = default_attendance());
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const;  ///< maximum number of threads
  void run(const std::function<void(Member&)>& body);

 private:
  friend class Member;
  struct State;
  std::unique_ptr<State> state_;
};

/// A thread of a team during a parallel region.
class Member {
 public:
  int id() const { return id_; }
  int size() const { return size_; }  ///< threads of this parallel region
  /// Returns this thread's part of [0, n): parts are multiples of `grain` (the last one may be shorter), contiguous and
  /// in the order of the ids.
  Range share(Index n, Index grain = 1) const;
  void sync();

 private:
  friend class Team;
  Member(int id, int size, Team::State* state) : id_(id), size_(size), state_(state) {}
  int id_, size_;
  Team::State* state_;
};

}  // namespace unfold
