#pragma once
/// Internal: losses of vectors that are a net over ordered numbers (ordered_net.h) and a law of each (component_law.h):
///
///   -log p(x) = sum_d -log p(x_d | o_d),   o_d = f_d(signal, x_1 .. x_d-1)
///
/// The signal may come from any network: of one that reads nothing the loss is a density, of a recurrent one a density
/// given the past (RNN-NADE; Boulanger-Lewandowski, Bengio & Vincent 2012).

#include <memory>
#include <string>

#include "unfold/densities/component_law.h"
#include "unfold/densities/ordered_net.h"
#include "unfold/losses/loss.h"

namespace unfold {

/// It has SeparateRows, LossCurvature (the Gauss-Newton matrix of the net with the
/// curvature of the law) and VectorDensity. `name`: of the net's blocks and for messages.
template <class T>
std::unique_ptr<Loss<T>> ordered_density(std::string name, std::unique_ptr<OrderedNet<T>> net, ColumnLaws<T> laws);

}  // namespace unfold
