#pragma once
/// Clipping by component: each number of the gradient is limited to [-limit, limit], after the gradient has been
/// clipped by norm. The clipped gradient may point in a different direction. Mikolov 2012, section 3.2.2.

#include <memory>

#include "unfold/optim/direction/direction.h"

namespace unfold {

/// Wraps `inner`, which then moves along the clipped gradient.
template <class T>
std::unique_ptr<Direction<T>> component_clipping(std::unique_ptr<Direction<T>> inner, double limit);

}  // namespace unfold
