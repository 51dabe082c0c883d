#pragma once
/// Time accounting for the passes: the seconds that each thread of a team spends in each stage. An unfolding records
/// into the account that is passed to it; without an account there is no overhead.
///
///   Account account(team.size());
///   u.set_account(&account);
///   u.forward(), u.backward(gradient);
///   double seconds = account.seconds(Stage::recurrent);  // mean over the threads

#include <chrono>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

enum class Stage : unsigned char {
  pack,       ///< packing weights into panels, once per update
  hoisted,    ///< products with operands from outside a loop, batched over all positions; symbol lookups
  recurrent,  ///< products inside a loop, step by step
  pointwise,  ///< element-wise maps
  moves,      ///< carried state, gathered links, reordering, masks
  deferred,   ///< gradients of weights, lookups and biases, batched over all positions
  waiting     ///< waiting at barriers
};
inline constexpr int kStageCount = static_cast<int>(Stage::waiting) + 1;
std::string_view stage_name(Stage stage);

class Account {
 public:
  explicit Account(int members) : times_(static_cast<std::size_t>(members)) {}

  int members() const { return static_cast<int>(times_.size()); }
  void clear() { times_.assign(times_.size(), {}); }
  void add(int member, Stage stage, double seconds) {
    Times& times = times_[static_cast<std::size_t>(member)];
    times.of[static_cast<std::size_t>(stage)] += seconds;
    ++times.intervals[static_cast<std::size_t>(stage)];
  }
  /// Returns the mean over the threads. Including the waiting time, the stages add up to the time of the passes.
  double seconds(Stage stage) const;
  /// Returns the number of intervals whose times were added; mean over the threads.
  double intervals(Stage stage) const;

 private:
  struct alignas(64) Times {  // aligned so that threads do not share cache lines
    double of[kStageCount] = {};
    Index intervals[kStageCount] = {};
  };
  std::vector<Times> times_;
};

/// Adds the lifetime of the timer to a stage. Does nothing if there is no account.
class StageTimer {
 public:
  StageTimer(Account* account, int member, Stage stage) : account_(account), member_(member), stage_(stage) {
    if (account_ != nullptr) start_ = Clock::now();
  }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;
  ~StageTimer() {
    if (account_ != nullptr)
      account_->add(member_, stage_, std::chrono::duration<double>(Clock::now() - start_).count());
  }

 private:
  using Clock = std::chrono::steady_clock;
  Account* account_;
  int member_;
  Stage stage_;
  Clock::time_point start_;
};

}  // namespace unfold
