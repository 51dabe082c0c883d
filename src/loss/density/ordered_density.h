#pragma once
/// Internal: autoregressive losses for vectors: a net over ordered numbers (ordered_net.h) with a conditional
/// distribution of each number (component_distribution.h):
///
///   -log p(x) = sum_d -log p(x_d | o_d),   o_d = f_d(signal, x_1 .. x_d-1)
///
/// The signal may come from any network. For a network without inputs, the loss is a density; for a recurrent network,
/// it is a density given the past (RNN-NADE; Boulanger-Lewandowski, Bengio & Vincent 2012).

#include <memory>
#include <string>

#include "loss/density/component_distribution.h"
#include "loss/density/ordered_net.h"
#include "unfold/loss/loss.h"

namespace unfold {

/// Provides IndependentRows, LossCurvature (the Gauss-Newton matrix of the net with the curvature of the conditional
/// distribution) and VectorDensity. `name` is used for the blocks of the net and in messages.
template <class T>
std::unique_ptr<Loss<T>> ordered_density(std::string name, std::unique_ptr<AutoregressiveNet<T>> net,
                                         ColumnDistributions<T> laws);

}  // namespace unfold
