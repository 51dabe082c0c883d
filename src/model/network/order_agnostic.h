#pragma once
/// Deep orderless NADE, `deep-nade:500,layers=2`: layers that read some bits of a vector and predict all others, for
/// any subset (Uria, Murray & Larochelle 2014). With m_i = 1 for known bits and 0 otherwise:
///
///   [x m ; m] -> relu layers -> o,   p(x_i = 1 | known bits) = sigmoid(o_i)
///
/// With direct=true, o also reads [x m ; m] directly, so pairwise dependencies are learned directly, as in logistic
/// regression, and the layers need not represent them. A number that is a class is read as K inputs, one of which is 1
/// if it is known, and o_i are its K logits. `deep-rnade:200,layers=2` is the corresponding model for real numbers,
/// where o_i are the parameters of a mixture. One network represents all orders of the D numbers. In training, a row
/// has d - 1 known bits, drawn at random with d uniform on 1 .. D, and its loss is D / (D - d + 1) times the nats of
/// the other bits; the expectation of this loss is the mean of -log p(x) over all orders. The evaluation reports the
/// average of the *probabilities* under `orders` orders, which is a distribution; the mean of the logarithms is a lower
/// bound.

#include <memory>
#include <span>
#include <vector>

#include "loss/density/columns.h"
#include "loss/density/order_agnostic.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"
#include "unfold/train/trainer.h"

namespace unfold {

/// The input field [x m ; m], which is added to the predicted field.
inline constexpr const char* kKnown = "known";

bool is_orderless(const ModelSpec& spec);
/// REQUIRES is_orderless.
OrderlessOptions orderless_options(const ModelSpec& spec);
/// Adds the layers, over an input that is appended to `inputs`.
Signal add_orderless(const ModelSpec& spec, Index numbers, Circuit& circuit, std::vector<NetworkInput>& inputs);

/// Wraps batches so that rows have some known bits and predict the others. The known bits are drawn again for every
/// batch in training and are fixed in validation. `field`: the predicted field, with these columns (density_columns).
template <class T>
TrainingSources<T> orderless_sources(TrainingSources<T> sources, const std::string& field,
                                     const std::vector<Column>& columns, std::uint64_t seed);

/// Draws the first `count` elements of a random order of the numbers 0 .. n - 1, where n is the size of `order`.
void draw_order(Random& random, std::vector<Index>& order, Index count);

/// Negative log-likelihoods of each example.
struct OrderlessNats {
  std::vector<double> ensemble;  ///< -log of the mean probability over orders
  std::vector<double> mean;      ///< mean of -log over orders
};
/// Order k is a function of (k, D), the same for every model and machine. The result does not depend on how examples
/// are divided into batches. Numbers become known one at a time, so the first layer is a running sum, as in NADE; the
/// time per example and order is O(D L H^2) (order_agnostic_nats.cpp).
template <class T>
OrderlessNats orderless_nats(const NetworkModel<T>& model, const ExampleSet& examples, Index orders, Team& team);

}  // namespace unfold
