#include <algorithm>
#include <cmath>
#include <memory>

#include "unfold/losses/ordered_density.h"
#include "unfold/losses/registry.h"
#include "unfold/numerics/functions.h"

namespace unfold {
namespace {

/// Bengio & Bengio 2000: behind every number a group of H units that read it and those before it, and outputs that read
/// all groups before their number:
///
///   h_g = tanh(c_g + sum_{j<=g} x_j W_gj),   o_d = b_d + sum_{g<d} V_dg h_g
///
/// O(D^2 H). What is kept of a row: h [D - 1 groups of H], and the adjoint of what tanh reads.
template <class T>
class GroupNet final : public OrderedNet<T> {
 public:
  explicit GroupNet(Index units) : units_(units) {}

  Index beside_biases() const override { return 0; }
  std::vector<NetBlock> blocks(Index numbers, Index outputs) const override {
    const auto inputs = static_cast<double>(numbers);
    const Index pairs = std::max<Index>(1, before(numbers)), groups = std::max<Index>(1, numbers - 1);
    return {{"V", 1, outputs * pairs * units_, Init::normal(1 / std::sqrt(inputs * static_cast<double>(units_)))},
            {"W", 1, pairs * units_, Init::normal(1 / std::sqrt(inputs))},
            {"c", 1, groups * units_, Init::zero()}};
  }
  Index kept(const NetWeights<T>& w, const T*) const override { return 2 * hidden(w); }

  void value(const NetWeights<T>& w, const T* signal, const T* x, T* kept, T* o) const override {
    put_groups(w, x, w.numbers - 1, kept);
    for (Index d = 0; d < w.numbers; ++d) put_outputs(w, signal, d, kept, o + d * w.outputs);
  }

  void tangent(const NetWeights<T>& w, const NetWeights<T>& direction, const T* signal, const T* x, const T* kept,
               T* out) const override {
    const Index all = hidden(w);
    T* h = row_scratch<T, kGroups>(all);
    put_sums(direction, x, w.numbers - 1, h);
    for (Index i = 0; i < all; ++i) h[i] *= (1 - kept[i]) * (1 + kept[i]);
    for (Index d = 0; d < w.numbers; ++d)
      for (Index i = 0; i < w.outputs; ++i)
        out[d * w.outputs + i] = signal[d * w.outputs + i] + (product(row_of_v(direction, d, i), kept, d * units_) +
                                                              product(row_of_v(w, d, i), h, d * units_));
  }

  void adjoint(const NetWeights<T>& w, const T*, const T* slopes, T* kept, T* adjoint) const override {
    const Index all = hidden(w);
    T* of_sums = kept + all;
    std::fill_n(of_sums, all, T{0});
    for (Index d = w.numbers - 1; d >= 0; --d)
      for (Index i = 0; i < w.outputs; ++i)
        add_scaled(slopes[d * w.outputs + i], row_of_v(w, d, i), of_sums, d * units_);
    for (Index i = 0; i < all; ++i) of_sums[i] *= (1 - kept[i]) * (1 + kept[i]);
    std::copy_n(slopes, w.all_outputs(), adjoint);
  }

  void gradient(const NetWeights<T>& w, std::span<const NetRow<T>> rows, Range numbers,
                const std::vector<T*>& out) const override {
    const Index all = hidden(w);
    for (Index d = numbers.begin; d < numbers.end; ++d)
      for (const NetRow<T>& row : rows) {
        for (Index i = 0; i < w.outputs; ++i)
          add_scaled(row.slopes[d * w.outputs + i], row.kept, out[kV] + place_of_v(w, d, i), d * units_);
        if (d + 1 == w.numbers) continue;
        const T* of_sums = row.kept + all + d * units_;
        for (Index j = 0; j <= d; ++j)
          if (row.x[j] != 0) add_scaled(row.x[j], of_sums, out[kW] + (before(d + 1) + j) * units_, units_);
        add_scaled(T{1}, of_sums, out[kC] + d * units_, units_);
      }
  }

  void outputs_of(const NetWeights<T>& w, const T* signal, const T* x, Index d, T* o) const override {
    T* h = row_scratch<T, kGroups>(hidden(w));
    put_groups(w, x, d, h);
    put_outputs(w, signal, d, h, o);
  }

 private:
  enum Block : unsigned char { kV, kW, kC };
  static constexpr int kGroups = 11;  // whose row_scratch it is

  static Index before(Index d) { return d * (d - 1) / 2; }
  Index hidden(const NetWeights<T>& w) const { return (w.numbers - 1) * units_; }
  Index place_of_v(const NetWeights<T>& w, Index d, Index output) const {
    return (w.outputs * before(d) + output * d) * units_;
  }
  const T* row_of_v(const NetWeights<T>& w, Index d, Index output) const {
    return w.blocks[kV] + place_of_v(w, d, output);
  }

  /// What tanh reads, of the first groups.
  void put_sums(const NetWeights<T>& w, const T* x, Index groups, T* sums) const {
    std::copy_n(w.blocks[kC], groups * units_, sums);
    for (Index g = 0; g < groups; ++g)
      for (Index j = 0; j <= g; ++j)
        if (x[j] != 0) add_scaled(x[j], w.blocks[kW] + (before(g + 1) + j) * units_, sums + g * units_, units_);
  }
  void put_groups(const NetWeights<T>& w, const T* x, Index groups, T* h) const {
    put_sums(w, x, groups, h);
    vector_tanh(h, h, groups * units_);
  }
  void put_outputs(const NetWeights<T>& w, const T* signal, Index d, const T* h, T* o) const {
    for (Index i = 0; i < w.outputs; ++i) o[i] = signal[d * w.outputs + i] + product(row_of_v(w, d, i), h, d * units_);
  }

  Index units_;
};

constexpr double kMostGroupUnits = 4096;

struct NeuralArOptions {
  Index units = 5;
};
template <class Visitor>
void describe(Visitor& v, NeuralArOptions& o) {
  v("units", o.units, "of the group behind each bit", range(1, kMostGroupUnits));
}

template <class T>
std::unique_ptr<Loss<T>> neural_ar(const AnyOptions& any) {
  return ordered_density<T>("neural-ar", std::make_unique<GroupNet<T>>(any.as<NeuralArOptions>().units), bit_law<T>());
}

}  // namespace

LossEntry neural_ar_entry() {
  return {.name = "neural-ar",
          .help = "bits in their order, each by a network on those before it, with units of its own",
          .of_symbols = false,
          .make_float = neural_ar<float>,
          .make_double = neural_ar<double>,
          .options = NeuralArOptions(),
          .main_option = "units",
          .density = Density::bits};
}

}  // namespace unfold
