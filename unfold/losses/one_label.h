#pragma once
/// Capability of losses of whole sequences (label_sequences.h) that can also judge one label that an example has once:
/// told so before `declare`, they read the signal at every position and answer with that label everywhere.

#include "unfold/losses/loss.h"

namespace unfold {

template <class T>
class OneLabel : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "one label for a whole sequence";
  virtual void one_label() = 0;
};

}  // namespace unfold
