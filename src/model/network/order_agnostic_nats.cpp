#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/network/density_model.h"
#include "model/network/order_agnostic.h"
#include "numerics/functions.h"
#include "unfold/numerics/product.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

constexpr Index kExamplesAtOnce = 32;
constexpr std::uint64_t kOrderSeed = 1;

/// Evaluates the layers of a model as numbers become known one at a time: the sums of the first layer are updated by
/// two rows of its weights, and only the outputs for the next number are computed. Direct terms of the outputs are
/// updated in the same way.
template <class T>
class LayersInOrder {
 public:
  explicit LayersInOrder(const NetworkModel<T>& model)
      : model_(model),
        numbers_(model.data().field(kVector).size),
        options_(orderless_options(model.spec())),
        loss_(model.network().heads.front().loss->template need<MarginalDistributions<T>>("measuring orders")),
        shape_(density_shape()) {
    first_ = parameter("layer1/z/W");
    for (Index layer = 1; layer <= options_.layers; ++layer) {
      biases_.push_back(parameter(fmt::format("layer{}/z/bias", layer)));
      if (layer == 1) continue;
      packed_.emplace_back();
      packed_.back().pack({parameter(fmt::format("layer{}/z/W", layer)), units(), units(), units()});
    }
    const T* v = parameter("output/V");
    const Index all = shape_.all_outputs();
    outputs_.resize(all * units());
    for (Index o = 0; o < all; ++o) {
      for (Index k = 0; k < units(); ++k) outputs_.data()[o * units() + k] = v[k * all + o];
    }
    for (Index d = 0; d < numbers_; ++d) most_ = std::max(most_, shape_.outputs(d));
    output_biases_ = parameter("output/bias");
    if (options_.direct) direct_ = parameter("output/D");
  }

  Index numbers() const { return numbers_; }

  /// Computes nats[e] of up to kExamplesAtOnce examples x [examples x numbers].
  void nats(const std::vector<Index>& order, const float* x, Index examples, double* nats) const {
    const Index size = kExamplesAtOnce * units(), all = shape_.all_outputs();
    T* memory = scratch(3 * size + kExamplesAtOnce * all + most_);
    T *sums = memory, *layers[] = {memory + size, memory + 2 * size}, *outputs = memory + 3 * size,
      *o = outputs + kExamplesAtOnce * all;
    for (Index e = 0; e < examples; ++e) {
      std::copy_n(biases_.front(), units(), sums + e * units());
      std::copy_n(output_biases_, all, outputs + e * all);
      nats[e] = 0;
    }
    for (const Index d : order) {
      const T* top = layers_above(sums, examples, layers);
      for (Index e = 0; e < examples; ++e) {
        const auto x_d = static_cast<T>(x[e * numbers_ + d]);
        put_outputs(top + e * units(), outputs + e * all, d, o);
        nats[e] += static_cast<double>(loss_.nats_of(o, d, x_d));
        tell(first_, units(), d, x_d, sums + e * units());
        if (direct_ != nullptr) tell(direct_, all, d, x_d, outputs + e * all);
      }
    }
  }

 private:
  Index units() const { return options_.units; }
  const T* parameter(const std::string& name) const {
    for (const ParameterInfo& p : model_.circuit().parameters())
      if (p.name == name) return model_.parameters().flat().data() + p.offset;
    throw ModelError(fmt::format("{}: the parameter {} is missing", model_.spec_text(), name));
  }
  static T* scratch(Index n) {
    thread_local Buffer<T> memory;
    if (memory.size() < n) memory.resize(n);
    return memory.data();
  }
  /// Inputs as defined by the columns of the model, outputs as defined by its loss.
  VectorShape density_shape() const { return loss_.shape_of(model_.network().heads.front().signal.size()); }
  /// Marks number d as known: adds the weight rows of its flag and of its input to the sums [n]. `weights`: [2 sets of
  /// inputs x n].
  void tell(const T* weights, Index n, Index d, T x, T* sums) const {
    axpy<T>(T{1}, {weights + (shape_.all_inputs() + d) * n, at(n)}, {sums, at(n)});
    const auto [place, value] = shape_.input(d, x);
    if (value != 0) axpy<T>(value, {weights + place * n, at(n)}, {sums, at(n)});
  }
  /// `below`: all outputs without the contribution of the units.
  void put_outputs(const T* units_above, const T* below, Index d, T* o) const {
    for (Index out = shape_.first_output(d); out < shape_.first_output(d + 1); ++out)
      *o++ = below[out] +
             static_cast<T>(dot<T>({units_above, at(units())}, {outputs_.data() + out * units(), at(units())}));
  }
  /// Returns the units of the last layer.
  const T* layers_above(const T* sums, Index examples, T* const* layers) const {
    const Index size = examples * units();
    T* here = layers[0];
    for (Index i = 0; i < size; ++i) here[i] = sums[i] > 0 ? sums[i] : T{0};
    for (Index layer = 2; layer <= options_.layers; ++layer) {
      T* next = layers[(layer + 1) % 2];
      const PackedMatrix<T>& w = packed_[at(layer - 2)];
      multiply<T>({here, examples, units(), units()}, w, {next, examples, units(), units()}, Range{0, w.panels()},
                  Start::bias, biases_[at(layer - 1)]);
      for (Index i = 0; i < size; ++i) next[i] = next[i] > 0 ? next[i] : T{0};
      here = next;
    }
    return here;
  }

  const NetworkModel<T>& model_;
  Index numbers_, most_ = 0;  // maximum number of outputs for a number
  OrderlessOptions options_;
  const MarginalDistributions<T>& loss_;
  VectorShape shape_;
  const T *first_ = nullptr, *output_biases_ = nullptr, *direct_ = nullptr;
  std::vector<const T*> biases_;
  std::vector<PackedMatrix<T>> packed_;  // weights of the second and later layers
  Buffer<T> outputs_;                    // transposed
};

std::vector<std::vector<Index>> draw_orders(Index orders, Index numbers) {
  std::vector<std::vector<Index>> all(at(orders), std::vector<Index>(at(numbers)));
  for (std::size_t k = 0; k < all.size(); ++k) {
    Random random(kOrderSeed, fmt::format("order/{}", k));
    draw_order(random, all[k], numbers - 1);
  }
  return all;
}

/// Averages over orders for each example; `nats` is stored order by order.
OrderlessNats averaged(const std::vector<double>& nats, Index orders, Index count) {
  OrderlessNats result;
  const auto n = static_cast<double>(orders);
  double log_orders = n;
  vector_log(&log_orders, &log_orders, 1);
  std::vector<double> logs(at(orders));
  for (Index e = 0; e < count; ++e) {
    double sum = 0;
    for (Index o = 0; o < orders; ++o) {
      logs[at(o)] = -nats[at(o * count + e)];
      sum -= logs[at(o)];
    }
    result.ensemble.push_back(log_orders - log_sum_exp(logs.data(), orders));
    result.mean.push_back(sum / n);
  }
  return result;
}

}  // namespace

template <class T>
OrderlessNats orderless_nats(const NetworkModel<T>& model, const ExampleSet& examples, Index orders, Team& team) {
  const LayersInOrder<T> layers(model);
  const Index numbers = layers.numbers(), count = examples.count();
  const std::vector<std::vector<Index>> all = draw_orders(orders, numbers);
  const std::vector<float>& values = examples.column(kVector).values;
  std::vector<double> nats(at(orders * count));
  const Index chunks = (count + kExamplesAtOnce - 1) / kExamplesAtOnce;
  team.run([&](Member& me) {
    const Range mine = me.share(orders * chunks, 1);
    for (Index c = mine.begin; c < mine.end; ++c) {
      const Index order = c / chunks, first = c % chunks * kExamplesAtOnce;
      layers.nats(all[at(order)], values.data() + first * numbers, std::min(kExamplesAtOnce, count - first),
                  nats.data() + order * count + first);
    }
  });
  return averaged(nats, orders, count);
}

template OrderlessNats orderless_nats(const NetworkModel<float>&, const ExampleSet&, Index, Team&);
template OrderlessNats orderless_nats(const NetworkModel<double>&, const ExampleSet&, Index, Team&);

}  // namespace unfold
