#pragma once
/// Division of a step into shards, and of shards among processes. The number of shards affects the results of a
/// training run; the number of processes does not.

#include <atomic>
#include <functional>
#include <span>
#include <vector>

#include "unfold/distributed/processes.h"
#include "unfold/distributed/timeline.h"
#include "unfold/numerics/bf16.h"

namespace unfold {

/// Information that is exchanged together with sums of numbers, to save separate messages: the clock of the first
/// process, and whether any process has received a stop request.
struct Notices {
  std::function<double()> clock = {};       ///< clock of this process
  const std::atomic<bool>* stop = nullptr;  ///< stop request of this process; may be null
  double time = 0;                          ///< clock of the first process at the last exchange
  bool stopped = false;                     ///< whether any process had a stop request at the last exchange
};

/// How work is divided. By default there is one shard, so nothing is divided.
struct Sharding {
  Index shards = 1;
  Processes* processes = nullptr;          ///< nullptr: only this process
  Precision gradients = Precision::exact;  ///< precision of the gradient tree; it affects results
  Notices* notices = nullptr;              ///< nullptr: none
  Timeline* timeline = nullptr;            ///< records where time is spent; nullptr: not recorded

  bool divided() const { return shards > 1; }
  Processes& all() const { return processes != nullptr ? *processes : single_process(); }
  /// Returns the shards of this process.
  Range own() const { return of(all().number()); }
  Range of(int process) const { return share_of_process(shards, process, all().count()); }
  /// Returns the sum of one number per shard over all shards; `own_numbers` are the numbers for the shards of this
  /// process.
  double sum(std::span<const double> own_numbers) const;
  /// Gathers numbers from every process, at most `most` from each, together with the notices. Missing entries are zero.
  std::vector<std::vector<double>> gather(std::span<const double> mine, Index most) const;
  /// Returns the sum over all shards of the first numbers that were gathered from every process.
  double sum_of(const std::vector<std::vector<double>>& gathered) const;
  /// Returns the largest number of shards of any process.
  Index most_shards() const;
};

}  // namespace unfold
