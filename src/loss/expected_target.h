#pragma once
/// Capability of losses (unfold/loss/loss.h): the expected target as a differentiable function of the signal. A network
/// can read it at later positions (model/network/feedback.h).
///
/// Losses without it have an expected target that is not a function of one row of the signal (labels that are predicted
/// jointly), or that is a sum over all vectors (ordered densities such as NADE).

#include "unfold/loss/loss.h"

namespace unfold {

template <class T>
class ExpectedTarget : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "an expected target";

  /// Adds the expected target to the circuit of the signal: the probabilities of symbols (the mean of one-hot vectors),
  /// or the mean of numbers. The new nodes depend on no parameters other than empty ones.
  virtual Signal expected_target(Circuit& circuit, Signal signal) const = 0;
};

}  // namespace unfold
