#include <algorithm>
#include <array>
#include <cmath>

#include "loss/density/ordered_net.h"
#include "numerics/functions.h"

namespace unfold {
namespace {

/// The net of Bengio & Bengio 2000: each number is followed by a group of H hidden units that reads this number and all
/// earlier numbers; the outputs of a number read all earlier groups:
///
///   h_g = tanh(c_g + sum_{j<=g} x_j W_gj),   o_d = b_d + sum_{g<d} V_dg h_g
///
/// With several layers, group g of a layer reads the groups up to g of the layer below, and the outputs read the last
/// layer:
///
///   h^k_g = tanh(c^k_g + sum_{j<=g} W^k_gj h^k-1_j)   for k = 2 .. L
///
/// The time is O(D^2 H + (L - 1) D^2 H^2). Stored per row: h [L layers of D - 1 groups of H] and the adjoints of the
/// tanh inputs.
template <class T>
class GroupNet final : public RowByRowNet<T> {
 public:
  GroupNet(Index units, Index layers) : units_(units), layers_(layers) {}

  Index beside_biases() const override { return 0; }
  std::vector<NetBlock> blocks(const VectorShape& shape) const override {
    const auto inputs = static_cast<double>(shape.numbers());
    const Index of_v = std::max<Index>(1, before_v(shape, shape.numbers()));
    const Index of_w = std::max<Index>(1, before_w(shape, shape.numbers() - 1));
    const Index groups = std::max<Index>(1, shape.numbers() - 1);
    const Init of_groups = Init::normal(1 / std::sqrt(inputs * static_cast<double>(units_)));
    std::vector<NetBlock> blocks = {{"V", 1, of_v * units_, of_groups},
                                    {"W", 1, of_w * units_, Init::normal(1 / std::sqrt(inputs))},
                                    {"c", 1, groups * units_, Init::zero()}};
    for (Index layer = 1; layer < layers_; ++layer) {
      blocks.push_back({kNames[at(layer - 1)][0], 1, groups * (groups + 1) / 2 * units_ * units_, of_groups});
      blocks.push_back({kNames[at(layer - 1)][1], 1, groups * units_, Init::zero()});
    }
    return blocks;
  }
  Index kept(const NetWeights<T>& w, const T*) const override { return 2 * layers_ * hidden(w); }

  void value(const NetWeights<T>& w, const T* signal, const T* x, T* kept, T* o) const override {
    put_groups(w, x, w.numbers() - 1, kept);
    const T *v = w.blocks[kV], *top = kept + (layers_ - 1) * hidden(w);
    for (Index d = 0; d < w.numbers(); ++d) v = put_outputs(w, signal, d, top, v, o + w.first(d));
  }

  void tangent(const NetWeights<T>& w, const NetWeights<T>& direction, const T* signal, const T* x, const T* kept,
               T* out) const override {
    const Index all = hidden(w);
    T *h = row_scratch<T, kGroups>(2 * all), *next = h + all;
    put_sums(direction, x, w.numbers() - 1, h);
    scale_by_slopes(kept, all, h);
    for (Index layer = 1; layer < layers_; ++layer, kept += all, std::swap(h, next))
      put_tangent(w, direction, layer, kept, h, next);
    const T *v = w.blocks[kV], *along = direction.blocks[kV];
    for (Index d = 0; d < w.numbers(); ++d)
      for (Index o = w.first(d); o < w.first(d + 1); ++o, v += d * units_, along += d * units_)
        out[o] = signal[o] + (product(along, kept, d * units_) + product(v, h, d * units_));
  }

  void adjoint(const NetWeights<T>& w, const T*, const T* slopes, T* kept, T* adjoint) const override {
    const Index all = hidden(w);
    std::fill_n(kept + layers_ * all, layers_ * all, T{0});
    T* of_sums = kept + (2 * layers_ - 1) * all;  // of the last layer
    const T* v = w.blocks[kV] + before_v(*w.shape, w.numbers()) * units_;
    for (Index d = w.numbers() - 1; d >= 0; --d) {
      v -= w.shape->outputs(d) * d * units_;
      for (Index i = 0; i < w.shape->outputs(d); ++i)
        add_scaled(slopes[w.first(d) + i], v + i * d * units_, of_sums, d * units_);
    }
    for (Index layer = layers_ - 1; layer > 0; --layer, of_sums -= all) {
      scale_by_slopes(kept + layer * all, all, of_sums);
      const T* row = w.blocks[weights_of(layer)];
      for (Index i = 0; i < all; row += reads_of(i), ++i) add_scaled(of_sums[i], row, of_sums - all, reads_of(i));
    }
    scale_by_slopes(kept, all, of_sums);
    std::copy_n(slopes, w.all_outputs(), adjoint);
  }

  /// A number owns the weights of its outputs and of the groups that follow it.
  void gradient(const NetWeights<T>& w, std::span<const NetPass<T>> rows, Range numbers,
                const std::vector<T*>& out) const override {
    const Index all = hidden(w), top = (layers_ - 1) * all;
    T* v = out[kV] + before_v(*w.shape, numbers.begin) * units_;
    T* of_w = out[kW] + before_w(*w.shape, numbers.begin) * units_;
    for (Index d = numbers.begin; d < numbers.end; ++d) {
      for (const NetPass<T>& row : rows) {
        for (Index i = 0; i < w.shape->outputs(d); ++i)
          add_scaled(row.slopes[w.first(d) + i], row.kept + top, v + i * d * units_, d * units_);
        if (d + 1 == w.numbers()) continue;
        const T* of_sums = row.kept + layers_ * all + d * units_;
        for (Index j = 0; j <= d; ++j) {
          const auto [place, value] = w.shape->input(j, row.x[j]);
          if (value != 0) add_scaled(value, of_sums, of_w + place * units_, units_);
        }
        add_scaled(T{1}, of_sums, out[kC] + d * units_, units_);
      }
      v += w.shape->outputs(d) * d * units_;
      of_w += w.shape->first_input(d + 1) * units_;
    }
    for (Index layer = 1; layer < layers_; ++layer) add_gradient(w, rows, layer, numbers, out);
  }

  void outputs_of(const NetWeights<T>& w, const T* signal, const T* x, Index d, T* o) const override {
    T* h = row_scratch<T, kGroups>(layers_ * hidden(w));
    put_groups(w, x, d, h);
    put_outputs(w, signal, d, h + (layers_ - 1) * hidden(w), w.blocks[kV] + before_v(*w.shape, d) * units_, o);
  }

 private:
  enum Block : unsigned char { kV, kW, kC };
  static constexpr int kGroups = 11;  // `user` of row_scratch
  static constexpr std::array<std::array<std::string_view, 2>, kMostGroupLayers - 1> kNames{
      {{"W2", "c2"}, {"W3", "c3"}, {"W4", "c4"}, {"W5", "c5"}, {"W6", "c6"}, {"W7", "c7"}, {"W8", "c8"}}};

  Index hidden(const NetWeights<T>& w) const { return (w.numbers() - 1) * units_; }
  /// Returns the block of the weights of a layer above the first; the block of its biases follows.
  static std::size_t weights_of(Index layer) { return at(2 * layer + 1); }
  /// Returns the number of units of the layer below that a unit reads.
  Index reads_of(Index unit) const { return (unit / units_ + 1) * units_; }
  /// Returns the number of weights of the units of the groups before g in a layer above the first.
  Index before_group(Index g) const { return g * (g + 1) / 2 * units_ * units_; }
  /// Multiplies values by the slopes of tanh at the outputs h.
  static void scale_by_slopes(const T* h, Index n, T* values) {
    for (Index i = 0; i < n; ++i) values[i] *= (1 - h[i]) * (1 + h[i]);
  }
  /// Returns the number of pairs of an output of the numbers before d and a group that it reads.
  static Index before_v(const VectorShape& shape, Index d) {
    Index pairs = 0;
    for (Index i = 0; i < d; ++i) pairs += shape.outputs(i) * i;
    return pairs;
  }
  /// Returns the number of pairs of a group before g and an input that it reads.
  static Index before_w(const VectorShape& shape, Index g) {
    Index pairs = 0;
    for (Index i = 0; i < g; ++i) pairs += shape.first_input(i + 1);
    return pairs;
  }

  /// Computes the tanh inputs of the first groups.
  void put_sums(const NetWeights<T>& w, const T* x, Index groups, T* sums) const {
    std::copy_n(w.blocks[kC], groups * units_, sums);
    const T* of_group = w.blocks[kW];
    for (Index g = 0; g < groups; ++g) {
      for (Index j = 0; j <= g; ++j) {
        const auto [place, value] = w.shape->input(j, x[j]);
        if (value != 0) add_scaled(value, of_group + place * units_, sums + g * units_, units_);
      }
      of_group += w.shape->first_input(g + 1) * units_;
    }
  }
  /// Computes the first groups of all layers; a layer begins every `hidden` values.
  void put_groups(const NetWeights<T>& w, const T* x, Index groups, T* h) const {
    const Index all = hidden(w), units = groups * units_;
    put_sums(w, x, groups, h);
    vector_tanh(h, h, units);
    for (Index layer = 1; layer < layers_; ++layer, h += all) {
      const T *row = w.blocks[weights_of(layer)], *c = w.blocks[weights_of(layer) + 1];
      for (Index i = 0; i < units; row += reads_of(i), ++i) h[all + i] = c[i] + product(row, h, reads_of(i));
      vector_tanh(h + all, h + all, units);
    }
  }
  /// Computes the tangent of a layer above the first from the tangent of the layer below, whose outputs are `below`.
  void put_tangent(const NetWeights<T>& w, const NetWeights<T>& direction, Index layer, const T* below, const T* moved,
                   T* next) const {
    const Index all = hidden(w);
    const T *row = w.blocks[weights_of(layer)], *along = direction.blocks[weights_of(layer)];
    const T* c = direction.blocks[weights_of(layer) + 1];
    for (Index i = 0; i < all; row += reads_of(i), along += reads_of(i), ++i)
      next[i] = c[i] + (product(along, below, reads_of(i)) + product(row, moved, reads_of(i)));
    scale_by_slopes(below + all, all, next);
  }
  /// Adds to the gradient of the weights and biases of a layer above the first.
  void add_gradient(const NetWeights<T>& w, std::span<const NetPass<T>> rows, Index layer, Range numbers,
                    const std::vector<T*>& out) const {
    const Index all = hidden(w), end = std::min(numbers.end * units_, all);
    T* of_row = out[weights_of(layer)] + before_group(numbers.begin);
    T* of_c = out[weights_of(layer) + 1];
    for (Index i = numbers.begin * units_; i < end; of_row += reads_of(i), ++i)
      for (const NetPass<T>& row : rows) {
        const T slope = row.kept[(layers_ + layer) * all + i];
        add_scaled(slope, row.kept + (layer - 1) * all, of_row, reads_of(i));
        of_c[i] += slope;
      }
  }
  /// Returns the weights of the next number.
  const T* put_outputs(const NetWeights<T>& w, const T* signal, Index d, const T* h, const T* v, T* o) const {
    for (Index i = 0; i < w.shape->outputs(d); ++i, v += d * units_)
      o[i] = signal[w.first(d) + i] + product(v, h, d * units_);
    return v;
  }

  Index units_, layers_;
};

}  // namespace

template <class T>
std::unique_ptr<AutoregressiveNet<T>> group_net(Index units, Index layers) {
  return std::make_unique<GroupNet<T>>(units, layers);
}

template std::unique_ptr<AutoregressiveNet<float>> group_net(Index, Index);
template std::unique_ptr<AutoregressiveNet<double>> group_net(Index, Index);

}  // namespace unfold
