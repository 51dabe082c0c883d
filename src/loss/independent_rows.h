#pragma once
/// Marks losses with independent rows, for which sequences may be divided into segments. RowLoss implies this; losses
/// that own parameters cannot be a RowLoss and derive from IndependentRows. The gradient of these parameters must be a
/// sum over rows from the last to the first, added to the existing values; dividing a sequence then does not change a
/// single bit.

#include "unfold/loss/loss.h"

namespace unfold {

template <class T>
class IndependentRows : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "independent rows";
};

template <class T>
bool has_separate_rows(const Loss<T>& loss) {
  return loss.template as<RowLoss<T>>() != nullptr || loss.template as<IndependentRows<T>>() != nullptr;
}

}  // namespace unfold
