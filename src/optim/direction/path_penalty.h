#pragma once
/// The path regularizer as a penalty: weight * log gamma^2 is added to the loss, where gamma^2 is the sum over all
/// paths of the products of squared weights (graph/paths/path_pass.h). Its gradient is 2 p kappa1 / gamma^2. Neyshabur,
/// Wu, Salakhutdinov & Srebro 2016, section 4.1; the logarithm keeps it in range for long sequences.

#include <memory>

#include "unfold/optim/direction/direction.h"

namespace unfold {

/// Wraps `inner`, which then moves along the gradient of the penalized loss. Throws UsageError at `attach` for a
/// circuit without a path interpretation. Reported losses do not contain the penalty, and the limit of the gradient
/// norm does not include it.
template <class T>
std::unique_ptr<Direction<T>> path_penalty(std::unique_ptr<Direction<T>> inner, double weight);

}  // namespace unfold
