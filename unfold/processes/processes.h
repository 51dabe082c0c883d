#pragma once
/// Several processes that work on one thing together: each runs the same program with the same options, knows its own
/// number and how many there are, and exchanges bytes with the others.
///
///   Processes& all = one_process();                 // or launched_processes() (launch.h), or simulated ones in tests
///   std::vector<double> seconds = all.gather(mine); // one number of each process
///
/// Who calls what: every function but `count`, `number` and their like is called by all processes, in the same order;
/// none returns before the others have come to the same call. So a decision that must be the same everywhere is taken
/// from what such a call returned, and never from a clock, a signal or a file of one process alone.
///
/// A call may throw RuntimeFailure when the processes can no longer reach each other.

#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Bytes to another process, and bytes that are awaited from one.
struct Sending {
  int to;
  std::span<const std::byte> bytes;
};
struct Receiving {
  int from;
  std::span<std::byte> bytes;
};

/// How an exchange goes that runs beside other work, in another thread.
struct Pace {
  std::atomic<bool> awaited = false;     ///< somebody waits for it; until then it leaves the processors to others
  std::atomic<bool> broken_off = false;  ///< nobody wants it any more: it throws RuntimeFailure
};

class Processes {
 public:
  virtual ~Processes() = default;

  virtual int count() const = 0;
  virtual int number() const = 0;                         ///< of this process, from 0
  virtual int on_this_machine() const { return 1; }       ///< processes, with this one
  virtual std::string machine() const { return "here"; }  ///< its name, for messages
  bool first() const { return number() == 0; }
  bool alone() const { return count() == 1; }

  /// Sends and receives all of it. What one process sends another arrives in the order of the two lists, whose sizes
  /// agree; nothing goes to the process itself.
  virtual void exchange(std::span<const Sending> sendings, std::span<const Receiving> receivings) = 0;
  /// The same beside other work: meanwhile no other thread calls any of these functions.
  virtual void exchange_beside(std::span<const Sending> sendings, std::span<const Receiving> receivings,
                               const Pace& /*pace*/) {
    exchange(sendings, receivings);
  }
  /// Sets `all` to what every process gave, in the order of their numbers; everybody gives as much.
  virtual void gather_bytes(std::span<const std::byte> mine, std::span<std::byte> all) = 0;

  /// A number of every process.
  std::vector<double> gather(double mine);
  /// A text of every process.
  std::vector<std::string> gather(const std::string& mine);
  /// Whether it is true of any process.
  bool any(bool mine);
  /// What the first process has.
  double of_first(double mine);
};

/// This process alone.
Processes& one_process();

/// The share of [0, n) that process `number` of `count` has: ranges in order, as equal as can be, which begin at
/// multiples of `grain`.
Range share_of_process(Index n, int number, int count, Index grain = 1);

template <class T>
std::span<const std::byte> bytes_of(std::span<const T> numbers) {
  return std::as_bytes(numbers);
}
template <class T>
std::span<std::byte> writable_bytes_of(std::span<T> numbers) {
  return std::as_writable_bytes(numbers);
}

}  // namespace unfold
