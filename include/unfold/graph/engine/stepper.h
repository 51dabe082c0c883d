#pragma once
/// A stepper runs a circuit one position at a time, with constant memory and no allocation, for sampling, streaming and
/// coding. The results are bit-identical to those of the unfolding: the stepper runs the same plan on one row, compiled
/// at the first step.
///
/// A language model predicts the first symbol from the position before the text: the first step, and the first step
/// after `reset`, must read kNoSymbol. Otherwise all later predictions differ from those of the model's predictor.

#include "unfold/graph/engine/unfolding.h"

namespace unfold {

template <class T>
class Stepper {
 public:
  /// `parameters` are packed once; several steppers may share a plan. REQUIRES: all links are `previous` or `first`
  /// (UsageError names the link otherwise).
  Stepper(std::shared_ptr<const Plan> plan, const Parameters<T>& parameters, Team& team);

  std::span<Symbol> symbols(Signal signal) { return unfolding_.symbols(signal); }  ///< one element
  Matrix<T> input(Signal signal) { return unfolding_.input(signal); }              ///< one row
  void step() { unfolding_.step(state_); }
  Matrix<const T> value(Signal signal) const { return unfolding_.value(signal); }

  void reset() { state_.reset_all(); }
  State<T>& state() { return state_; }
  const State<T>& state() const { return state_; }

 private:
  Unfolding<T> unfolding_;
  State<T> state_;
};

}  // namespace unfold
