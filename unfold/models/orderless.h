#pragma once
/// `deep-nade:500,layers=2`: layers that know some bits of a vector and predict the others, whichever they are (deep
/// orderless NADE; Uria, Murray & Larochelle 2014). Where m_i = 1 of bits that are known, else 0:
///
///   [x m ; m] -> relu layers -> o,   p(x_i = 1 | what is known) = sigmoid(o_i)
///
/// With direct=true, o reads [x m ; m] itself, too: what bits say of each other alone, as in logistic regression, is
/// found at once, and the layers need not find a way to pass it on. A number that is a class is read as K inputs, one
/// of which is 1 where it is known, and o_i are its K logits. `deep-rnade:200,layers=2` is the same of other numbers:
/// o_i are the parameters of a mixture. One network stands for all orders of the D numbers. In training a row knows d -
/// 1 bits drawn at random, d uniform on 1 .. D, and its loss is D / (D - d + 1) times the nats of the others: its mean
/// is that of -log p(x) over all orders. What is measured is the average of the *probabilities* under `orders` orders,
/// which is a distribution; the mean of the logarithms is a lower one.

#include <memory>
#include <span>
#include <vector>

#include "unfold/data/example_set.h"
#include "unfold/densities/columns.h"
#include "unfold/losses/orderless.h"
#include "unfold/models/network_model.h"
#include "unfold/training/trainer.h"

namespace unfold {

/// The field that the network reads beside what it predicts: [x m ; m].
inline constexpr const char* kKnown = "known";

bool is_orderless(const ModelSpec& spec);
/// REQUIRES is_orderless.
OrderlessOptions orderless_options(const ModelSpec& spec);
/// The layers, over an input that is added to `inputs`.
Signal add_orderless(const ModelSpec& spec, Index numbers, Circuit& circuit, std::vector<NetworkInput>& inputs);

/// The same batches in which rows know some of their bits and predict the others: drawn anew for every batch in
/// training, always the same in validation. `field`: that is predicted, of these columns (density_columns).
template <class T>
TrainingSources<T> orderless_sources(TrainingSources<T> sources, const std::string& field,
                                     const std::vector<Column>& columns, std::uint64_t seed);

/// A random order of the numbers 0 .. n - 1, n the size of `order`; the first `count` of it are drawn.
void draw_order(Random& random, std::vector<Index>& order, Index count);

/// Of each example.
struct OrderlessNats {
  std::vector<double> ensemble;  ///< -log of the mean probability over orders
  std::vector<double> mean;      ///< mean of -log over orders
};
/// Order k is that of (k, D), the same for every model and machine. The result does not depend on how examples share
/// batches. Numbers become known one by one, so that the first layer is a running sum, as in nade: an example and order
/// cost O(D L H^2) (orderless_nats.cpp).
template <class T>
OrderlessNats orderless_nats(const NetworkModel<T>& model, const ExampleSet& examples, Index orders, Team& team);

}  // namespace unfold
