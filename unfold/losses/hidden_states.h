#pragma once
/// Capability of losses of numbers behind which a chain of hidden states stands: which states they were.

#include <span>
#include <vector>

#include "unfold/losses/loss.h"

namespace unfold {

template <class T>
class HiddenStates : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "hidden states";

  virtual Index states() const = 0;
  /// The most probable states of every chain given all that was observed: one a row.
  virtual void most_probable(const Observed<T>& observed, Team& team, std::span<Index> path) const = 0;
  /// p[r][j]: the probability of state j at row r given all that was observed of its chain.
  virtual void posteriors(const Observed<T>& observed, Team& team, Matrix<double> p) const = 0;
};

}  // namespace unfold
