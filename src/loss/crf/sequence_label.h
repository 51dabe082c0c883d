#pragma once
/// Capability of losses for whole sequences (label_sequences.h) that also support a single label per example. If
/// `one_label` is called before `declare`, such a loss reads the signal at every position and returns the label for all
/// positions.

#include "unfold/loss/loss.h"

namespace unfold {

template <class T>
class SequenceLabel : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "one label for a whole sequence";
  virtual void one_label() = 0;
};

}  // namespace unfold
