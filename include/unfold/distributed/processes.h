#pragma once
/// A group of cooperating processes: each runs the same program with the same options, has a rank, knows the number of
/// processes, and exchanges bytes with the others.
///
///   Processes& all = single_process();                      // the command uses those that mpirun started
///   std::vector<double> seconds = all.gather(mine);         // one number of each process
///
/// Except for simple accessors such as `count` and `number`, every function is collective: all processes call it in the
/// same order, and no call returns before all other processes have made the same call. A decision that must be the same
/// everywhere is therefore based on the result of a collective call, never on a clock, a signal or a file that only one
/// process sees.
///
/// Collective calls throw RuntimeFailure if the processes can no longer reach each other.

#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Bytes to send to another process, and bytes to receive from one.
struct Sending {
  int to;
  std::span<const std::byte> bytes;
};
struct Receiving {
  int from;
  std::span<std::byte> bytes;
};

/// Controls an exchange that runs in a background thread.
struct Pace {
  /// set when a thread waits for the exchange; until then, the exchange yields the CPU to other threads
  std::atomic<bool> awaited = false;
  std::atomic<bool> is_canceled = false;  ///< cancels the exchange, which then throws RuntimeFailure
};

class Processes {
 public:
  virtual ~Processes() = default;

  virtual int count() const = 0;
  virtual int number() const = 0;                         ///< rank of this process, from 0
  virtual int local_count() const { return 1; }           ///< number of processes on this machine, including this one
  virtual std::string machine() const { return "here"; }  ///< name of the machine, for messages
  bool first() const { return number() == 0; }
  bool alone() const { return count() == 1; }

  /// Sends and receives all entries. Messages between two processes arrive in the order of the two lists, whose sizes
  /// must match; a process sends nothing to itself.
  virtual void exchange(std::span<const Sending> sendings, std::span<const Receiving> receivings) = 0;
  /// Like exchange, but runs in a background thread: no other thread may call any of these functions in the meantime.
  virtual void exchange_in_background(std::span<const Sending> sendings, std::span<const Receiving> receivings,
                                      const Pace& /*pace*/) {
    exchange(sendings, receivings);
  }
  /// Sets `all` to the contributions of all processes in the order of their ranks; all contributions have the same
  /// size.
  virtual void gather_bytes(std::span<const std::byte> mine, std::span<std::byte> all) = 0;

  /// Gathers one number from every process.
  std::vector<double> gather(double mine);
  /// Gathers one string from every process.
  std::vector<std::string> gather(const std::string& mine);
  /// Returns whether `mine` is true in any process.
  bool any(bool mine);
  /// Returns the value that the first process passed.
  double of_first(double mine);
};

/// Returns a group that consists of this process only.
Processes& single_process();

/// Returns the share of [0, n) that belongs to process `number` of `count`. The shares are contiguous ranges in order,
/// as equal as possible, that begin at multiples of `grain`.
Range share_of_process(Index n, int number, int count, Index grain = 1);

template <class T>
std::span<const std::byte> bytes_of(std::span<const T> numbers) {
  return std::as_bytes(numbers);
}

}  // namespace unfold
