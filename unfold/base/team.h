#pragma once
/// A team of threads that runs one function together (single program, multiple data).
///
///   Team team(2);
///   team.run([&](Member& me) {
///     Range mine = me.share(n, 16);          // my part of [0, n), in multiples of 16
///     ...                                    // write only my part
///     me.sync();                             // everybody's part is complete after this
///   });
///
/// Law 2: work is divided by output, never by reduction, so results do not depend on the number of threads.
/// The barrier spins for a short while, then yields, then sleeps, so that an oversubscribed machine still progresses.
/// An exception thrown by any member ends the run on all members and is rethrown by `run`.
/// `run` may not be nested. A team of one runs the function on the calling thread with no synchronisation at all.

#include <functional>
#include <memory>

#include "unfold/base/processors.h"
#include "unfold/base/types.h"

namespace unfold {

class Member;

/// Who takes part in a run.
enum class Attendance : unsigned char {
  all,         ///< every member, always: what speeds and tests of threads are measured with
  as_it_pays,  ///< the caller alone for a while, where members mostly wait for each other: other programs have the
               ///< processors, and a barrier lasts until each member has had one again
  fickle       ///< all or the caller alone as it comes, for tests: what relies on equal shares in every run shows
};

/// That of teams that are not told: as it pays. UNFOLD_TEAM=all|fickle in the environment says otherwise, for tests.
Attendance usual_attendance();

class Team {
 public:
  explicit Team(int threads = 1, Attendance attendance = usual_attendance());  ///< REQUIRES: threads >= 1
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const;  ///< members at most
  void run(const std::function<void(Member&)>& body);

 private:
  friend class Member;
  struct State;
  std::unique_ptr<State> state_;
};

class Member {
 public:
  int id() const { return id_; }
  int size() const { return size_; }  ///< members of this run
  /// My part of [0, n): parts are multiples of `grain` (the last one may be shorter), contiguous, in order of id.
  Range share(Index n, Index grain = 1) const;
  void sync();

 private:
  friend class Team;
  Member(int id, int size, Team::State* state) : id_(id), size_(size), state_(state) {}
  int id_, size_;
  Team::State* state_;
};

}  // namespace unfold
