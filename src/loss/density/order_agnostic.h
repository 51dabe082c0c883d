#pragma once
/// Order-agnostic losses: the network knows an arbitrary subset of the numbers of a vector and predicts the others
/// (Uria, Murray & Larochelle 2014). Targets are [x, w], the numbers and a weight for each,
///
///   nats = sum_i w_i (-log p(x_i)),   for bits p(x_i = 1) = sigmoid(o_i), for classes softmax(o_i), for other numbers
///                                     a mixture (loss/density/component_distribution.h)
///
/// w_i = 0 for known numbers; targets without weights consist of the numbers only, with weight 1. Such a network is
/// also a standalone model: `deep-nade:500,layers=2` for bits, `deep-rnade:200,layers=2` for other numbers
/// (model/network/order_agnostic.h).

#include <span>
#include <string>
#include <vector>

#include "loss/density/columns_option.h"
#include "loss/density/component_distribution.h"
#include "unfold/loss/loss.h"

namespace unfold {

inline constexpr double kMostOrderlessUnits = 65536, kMostOrderlessLayers = 64, kMostOrders = 10'000,
                        kMostOrderlessComponents = 1000;

struct OrderlessOptions {
  Index units = 500, layers = 2, orders = 16;
  bool direct = false;
  std::string columns = {};
};
template <class Visitor>
void describe(Visitor& v, OrderlessOptions& o) {
  v("units", o.units, "hidden units of a layer", range(1, kMostOrderlessUnits));
  v("layers", o.layers, "number of hidden layers", range(1, kMostOrderlessLayers));
  v("orders", o.orders, "number of orders over which probabilities are averaged in evaluation", range(1, kMostOrders));
  v("direct", o.direct, "outputs also read the known values directly, bypassing the layers");
  describe_columns(v, o.columns);
}

struct OrderlessNumbersOptions {
  OrderlessOptions net = {.units = 200};
  Index components = 10;
  MixtureShape shape = MixtureShape::gaussian;
  double background = 0;
};
template <class Visitor>
void describe(Visitor& v, OrderlessNumbersOptions& o) {
  describe(v, o.net);
  v("components", o.components, "number of components in the mixture of each number",
    range(1, kMostOrderlessComponents));
  v("shape", o.shape, "distribution of the components",
    {{MixtureShape::gaussian, "gaussian"}, {MixtureShape::laplace, "laplace"}});
  describe_background(v, o.background);
}

/// Capability of order-agnostic losses: the distribution of each single number given a row of the signal.
template <class T>
class MarginalDistributions : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "a distribution of each single number";

  /// Returns the inputs and outputs of the vector for a signal of the given size.
  virtual VectorShape shape_of(Index signal_size) const = 0;
  /// From the outputs for number d: -log p(x), the mean (ComponentDistribution::mean), the probabilities of the values
  /// of a bit or a class, and a sample.
  virtual T nats_of(const T* outputs, Index d, T x) const = 0;
  virtual double mean_of(const T* outputs, Index d) const = 0;
  virtual std::vector<double> probabilities_of(const T* outputs, Index d) const = 0;
  virtual T draw(const T* outputs, Index d, Random& random) const = 0;
};

/// Creates a loss for numbers from columns of any kind, each with a separate distribution; a signal holds the outputs
/// of one number after another. `name` is the name of the model.
template <class T>
std::unique_ptr<Loss<T>> orderless_numbers(std::string name, ColumnDistributions<T> laws);

}  // namespace unfold
