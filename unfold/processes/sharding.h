#pragma once
/// How the work of a step is divided: into shards, whose number is part of what a run computes, and those among
/// processes, whose number is not.

#include <atomic>
#include <functional>
#include <span>
#include <vector>

#include "unfold/numerics/bf16.h"
#include "unfold/processes/processes.h"
#include "unfold/processes/timeline.h"

namespace unfold {

/// What processes tell each other along with every sum of numbers, so that no message is sent for it alone: the clock
/// of the first, and whether any was told to stop.
struct Notices {
  std::function<double()> clock = {};       ///< of this process
  const std::atomic<bool>* stop = nullptr;  ///< of this process; may be null
  double time = 0;                          ///< of the first process, when they last told each other
  bool stopped = false;                     ///< of any process, likewise
};

/// One shard: nothing is divided.
struct Sharding {
  Index shards = 1;
  Processes* processes = nullptr;          ///< nullptr: this one alone
  Precision gradients = Precision::exact;  ///< of the tree of gradients; part of what a run computes, too
  Notices* notices = nullptr;              ///< nullptr: none
  Timeline* timeline = nullptr;            ///< where the time goes; nullptr: not wanted

  bool divided() const { return shards > 1; }
  Processes& all() const { return processes != nullptr ? *processes : one_process(); }
  /// The shards of this process.
  Range own() const { return of(all().number()); }
  Range of(int process) const { return share_of_process(shards, process, all().count()); }
  /// The sum over all shards of a number, of which this process has those of its own.
  double sum(std::span<const double> own_numbers) const;
  /// What every process gives, at most so many numbers each; and the notices of all. Beyond what was given: zero.
  std::vector<std::vector<double>> gather(std::span<const double> mine, Index most) const;
  /// The sum over all shards of the numbers that every process gave first.
  double sum_of(const std::vector<std::vector<double>>& gathered) const;
  /// The largest number of shards that a process has.
  Index most_shards() const;
};

}  // namespace unfold
