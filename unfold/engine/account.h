#pragma once
/// Where the time of the passes goes: seconds of every member of a team by stage. An unfolding writes into the account
/// that it is given and costs nothing without one.
///
///   Account account(team.size());
///   u.set_account(&account);
///   u.forward(), u.backward(gradient);
///   double seconds = account.seconds(Stage::recurrent);  // mean over the members

#include <chrono>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

enum class Stage : unsigned char {
  pack,       ///< weights into panels, once per update
  hoisted,    ///< products with what lies outside a loop, batched over all positions; lookups of symbols
  recurrent,  ///< products inside a loop, step by step
  pointwise,  ///< element-wise maps
  moves,      ///< carried state, gathered links, reorderings, masks
  deferred,   ///< gradients of weights, lookups and biases, batched over all positions
  waiting     ///< at barriers
};
inline constexpr int kStageCount = static_cast<int>(Stage::waiting) + 1;
std::string_view stage_name(Stage stage);

class Account {
 public:
  explicit Account(int members) : times_(static_cast<std::size_t>(members)) {}

  int members() const { return static_cast<int>(times_.size()); }
  void clear() { times_.assign(times_.size(), {}); }
  void add(int member, Stage stage, double seconds) {
    times_[static_cast<std::size_t>(member)].of[static_cast<std::size_t>(stage)] += seconds;
  }
  /// Mean over the members: with the time spent waiting, the stages add up to the time of the passes.
  double seconds(Stage stage) const;

 private:
  struct alignas(64) Times {  // each member writes its own lines of cache
    double of[kStageCount] = {};
  };
  std::vector<Times> times_;
};

/// Adds the time of its life to a stage, if there is an account.
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
