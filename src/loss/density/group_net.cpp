#include <algorithm>
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
/// The time is O(D^2 H). Stored per row: h [D - 1 groups of H] and the adjoint of the tanh inputs.
template <class T>
class GroupNet final : public RowByRowNet<T> {
 public:
  explicit GroupNet(Index units) : units_(units) {}

  Index beside_biases() const override { return 0; }
  std::vector<NetBlock> blocks(const VectorShape& shape) const override {
    const auto inputs = static_cast<double>(shape.numbers());
    const Index of_v = std::max<Index>(1, before_v(shape, shape.numbers()));
    const Index of_w = std::max<Index>(1, before_w(shape, shape.numbers() - 1));
    const Index groups = std::max<Index>(1, shape.numbers() - 1);
    return {{"V", 1, of_v * units_, Init::normal(1 / std::sqrt(inputs * static_cast<double>(units_)))},
            {"W", 1, of_w * units_, Init::normal(1 / std::sqrt(inputs))},
            {"c", 1, groups * units_, Init::zero()}};
  }
  Index kept(const NetWeights<T>& w, const T*) const override { return 2 * hidden(w); }

  void value(const NetWeights<T>& w, const T* signal, const T* x, T* kept, T* o) const override {
    put_groups(w, x, w.numbers() - 1, kept);
    const T* v = w.blocks[kV];
    for (Index d = 0; d < w.numbers(); ++d) v = put_outputs(w, signal, d, kept, v, o + w.first(d));
  }

  void tangent(const NetWeights<T>& w, const NetWeights<T>& direction, const T* signal, const T* x, const T* kept,
               T* out) const override {
    const Index all = hidden(w);
    T* h = row_scratch<T, kGroups>(all);
    put_sums(direction, x, w.numbers() - 1, h);
    for (Index i = 0; i < all; ++i) h[i] *= (1 - kept[i]) * (1 + kept[i]);
    const T *v = w.blocks[kV], *along = direction.blocks[kV];
    for (Index d = 0; d < w.numbers(); ++d)
      for (Index o = w.first(d); o < w.first(d + 1); ++o, v += d * units_, along += d * units_)
        out[o] = signal[o] + (product(along, kept, d * units_) + product(v, h, d * units_));
  }

  void adjoint(const NetWeights<T>& w, const T*, const T* slopes, T* kept, T* adjoint) const override {
    const Index all = hidden(w);
    T* of_sums = kept + all;
    std::fill_n(of_sums, all, T{0});
    const T* v = w.blocks[kV] + before_v(*w.shape, w.numbers()) * units_;
    for (Index d = w.numbers() - 1; d >= 0; --d) {
      v -= w.shape->outputs(d) * d * units_;
      for (Index i = 0; i < w.shape->outputs(d); ++i)
        add_scaled(slopes[w.first(d) + i], v + i * d * units_, of_sums, d * units_);
    }
    for (Index i = 0; i < all; ++i) of_sums[i] *= (1 - kept[i]) * (1 + kept[i]);
    std::copy_n(slopes, w.all_outputs(), adjoint);
  }

  void gradient(const NetWeights<T>& w, std::span<const NetPass<T>> rows, Range numbers,
                const std::vector<T*>& out) const override {
    const Index all = hidden(w);
    T* v = out[kV] + before_v(*w.shape, numbers.begin) * units_;
    T* of_w = out[kW] + before_w(*w.shape, numbers.begin) * units_;
    for (Index d = numbers.begin; d < numbers.end; ++d) {
      for (const NetPass<T>& row : rows) {
        for (Index i = 0; i < w.shape->outputs(d); ++i)
          add_scaled(row.slopes[w.first(d) + i], row.kept, v + i * d * units_, d * units_);
        if (d + 1 == w.numbers()) continue;
        const T* of_sums = row.kept + all + d * units_;
        for (Index j = 0; j <= d; ++j) {
          const auto [place, value] = w.shape->input(j, row.x[j]);
          if (value != 0) add_scaled(value, of_sums, of_w + place * units_, units_);
        }
        add_scaled(T{1}, of_sums, out[kC] + d * units_, units_);
      }
      v += w.shape->outputs(d) * d * units_;
      of_w += w.shape->first_input(d + 1) * units_;
    }
  }

  void outputs_of(const NetWeights<T>& w, const T* signal, const T* x, Index d, T* o) const override {
    T* h = row_scratch<T, kGroups>(hidden(w));
    put_groups(w, x, d, h);
    put_outputs(w, signal, d, h, w.blocks[kV] + before_v(*w.shape, d) * units_, o);
  }

 private:
  enum Block : unsigned char { kV, kW, kC };
  static constexpr int kGroups = 11;  // `user` of row_scratch

  Index hidden(const NetWeights<T>& w) const { return (w.numbers() - 1) * units_; }
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
  void put_groups(const NetWeights<T>& w, const T* x, Index groups, T* h) const {
    put_sums(w, x, groups, h);
    vector_tanh(h, h, groups * units_);
  }
  /// Returns the weights of the next number.
  const T* put_outputs(const NetWeights<T>& w, const T* signal, Index d, const T* h, const T* v, T* o) const {
    for (Index i = 0; i < w.shape->outputs(d); ++i, v += d * units_)
      o[i] = signal[w.first(d) + i] + product(v, h, d * units_);
    return v;
  }

  Index units_;
};

}  // namespace

template <class T>
std::unique_ptr<AutoregressiveNet<T>> group_net(Index units) {
  return std::make_unique<GroupNet<T>>(units);
}

template std::unique_ptr<AutoregressiveNet<float>> group_net(Index);
template std::unique_ptr<AutoregressiveNet<double>> group_net(Index);

}  // namespace unfold
