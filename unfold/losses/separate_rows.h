#pragma once
/// Whether rows of a loss count each for itself, so that sequences may be cut into segments: RowLoss says so, and, of
/// losses that own parameters and so cannot be one, SeparateRows. The gradient of own parameters must then be a sum
/// over rows from the last to the first, added to what is there: cut or not, it has the same bits.

#include "unfold/losses/loss.h"

namespace unfold {

template <class T>
class SeparateRows : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "rows that count each for itself";
};

template <class T>
bool has_separate_rows(const Loss<T>& loss) {
  return loss.template as<RowLoss<T>>() != nullptr || loss.template as<SeparateRows<T>>() != nullptr;
}

}  // namespace unfold
