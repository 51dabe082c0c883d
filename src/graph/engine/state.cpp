#include <algorithm>

#include "unfold/base/checks.h"
#include "unfold/graph/engine/unfolding.h"

namespace unfold {

template <class T>
State<T>::State(const Plan& plan, Index slots) : slots_(slots), width_(plan.state_width()) {
  if (slots < 0) throw UsageError("state: " + std::to_string(slots) + " slots; the number must not be negative");
  values_.resize(slots * width_);
  fresh_.assign(static_cast<std::size_t>(slots), 1);
}

template <class T>
void State<T>::copy_slot(const State& from, Index from_slot, Index to_slot) {
  require_length("state: a slot of a different plan", from.width_, width_);
  std::copy_n(from.row(from_slot), width_, row(to_slot));
  fresh_[static_cast<std::size_t>(to_slot)] = from.fresh_[static_cast<std::size_t>(from_slot)];
}

template class State<float>;
template class State<double>;

}  // namespace unfold
