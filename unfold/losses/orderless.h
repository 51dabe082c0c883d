#pragma once
/// The loss of networks that know some bits of a vector and predict the others, whichever they are (Uria, Murray &
/// Larochelle 2014): targets are [x, w], the bits and a weight for each,
///
///   nats = sum_i w_i (-log p(x_i)),   p(x_i = 1) = sigmoid(o_i)
///
/// w_i = 0 of bits that are known; targets without weights are the bits alone, of weight 1. Such a network is a model
/// by itself, `deep-nade:500,layers=2` (models/orderless.h).

#include "unfold/base/options.h"

namespace unfold {

inline constexpr double kMostOrderlessUnits = 65536, kMostOrderlessLayers = 64, kMostOrders = 10'000;

struct OrderlessOptions {
  Index units = 500, layers = 2, orders = 16;
};
template <class Visitor>
void describe(Visitor& v, OrderlessOptions& o) {
  v("units", o.units, "hidden units of a layer", range(1, kMostOrderlessUnits));
  v("layers", o.layers, "of hidden units", range(1, kMostOrderlessLayers));
  v("orders", o.orders, "whose probabilities are averaged when it is measured", range(1, kMostOrders));
}

}  // namespace unfold
