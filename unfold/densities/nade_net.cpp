#include <cmath>

#include "unfold/densities/ordered_net.h"
#include "unfold/numerics/functions.h"

namespace unfold {
namespace {

/// The neural autoregressive distribution estimator (Larochelle & Murray 2011; of real numbers: Uria, Murray &
/// Larochelle 2013). With b and c from the signal,
///
///   a_1 = c,   a_{d+1} = a_d + x_d W_d,   h_d = s(a_d),   o_d = b_d + V_d h_d
///
/// and where number d is a class, its row of W_d in place of x_d W_d. The running sum makes it O(D H). Where x_d is 0,
/// h stays what it was: only numbers that are not cost an activation, and between two of them is a *stretch* of numbers
/// that share h. What is kept of a row, stretch by stretch: h [H], and the adjoint of a [H].
template <class T>
class NadeNet final : public OrderedNet<T> {
 public:
  NadeNet(Index units, NadeActivation activation) : units_(units), activation_(activation) {}

  Index beside_biases() const override { return units_; }

  std::vector<NetBlock> blocks(const VectorShape& shape) const override {
    return {{"V", shape.all_outputs(), units_, Init::normal(1 / std::sqrt(static_cast<double>(units_)))},
            {"W", shape.all_inputs(), units_, Init::normal(1 / std::sqrt(static_cast<double>(shape.numbers())))}};
  }

  Index kept(const NetWeights<T>& w, const T* x) const override {
    Index stretches = 1;
    for (Index d = 0; d + 1 < w.numbers(); ++d) stretches += ends_stretch(w, x, d) ? 1 : 0;
    return 2 * units_ * stretches;
  }

  void value(const NetWeights<T>& w, const T* signal, const T* x, T* kept, T* o) const override {
    T* a = row_scratch<T, kSums>(units_);
    const T* c = signal + w.all_outputs();
    for (Index i = 0; i < units_; ++i) a[i] = c[i];
    activate(a, kept);
    for (Index d = 0; d < w.numbers(); ++d) {
      put_outputs(w, signal, d, kept, o + w.first(d));
      if (!ends_stretch(w, x, d)) continue;
      add_input(w, d, x, a);
      activate(a, kept += 2 * units_);
    }
  }

  void tangent(const NetWeights<T>& w, const NetWeights<T>& direction, const T* signal, const T* x, const T* kept,
               T* out) const override {
    T* a = row_scratch<T, kSums>(2 * units_);
    T* h = a + units_;
    const T* c = signal + w.all_outputs();
    for (Index i = 0; i < units_; ++i) a[i] = c[i];
    times_slopes(kept, a, h);
    for (Index d = 0; d < w.numbers(); ++d) {
      for (Index j = w.first(d); j < w.first(d + 1); ++j)
        out[j] = signal[j] + (product(row_of(direction, kV, j), kept, units_) + product(row_of(w, kV, j), h, units_));
      if (!ends_stretch(w, x, d)) continue;
      add_input(direction, d, x, a);
      times_slopes(kept += 2 * units_, a, h);
    }
  }

  void adjoint(const NetWeights<T>& w, const T* x, const T* slopes, T* kept, T* adjoint) const override {
    T* of_a = row_scratch<T, kSums>(3 * units_);
    T *of_h = of_a + units_, *moved = of_h + units_;
    for (Index i = 0; i < 2 * units_; ++i) of_a[i] = 0;
    kept += this->kept(w, x) - 2 * units_;
    for (Index d = w.numbers() - 1; d >= 0; --d) {
      for (Index j = w.first(d + 1) - 1; j >= w.first(d); --j) add_scaled(slopes[j], row_of(w, kV, j), of_h, units_);
      if (d > 0 && !ends_stretch(w, x, d - 1)) continue;
      times_slopes(kept, of_h, moved);
      for (Index i = 0; i < units_; ++i) {
        of_a[i] += moved[i];
        kept[units_ + i] = of_a[i];
        of_h[i] = 0;
      }
      kept -= 2 * units_;
    }
    for (Index j = 0; j < w.all_outputs(); ++j) adjoint[j] = slopes[j];
    for (Index i = 0; i < units_; ++i) adjoint[w.all_outputs() + i] = of_a[i];
  }

  /// Number by number, so that its rows of V and W stay at hand while the rows of the batch pass.
  void gradient(const NetWeights<T>& w, std::span<const NetRow<T>> rows, Range numbers,
                const std::vector<T*>& out) const override {
    std::vector<const T*> at_stretch;  // of each row, the stretch that the number is in
    at_stretch.reserve(rows.size());
    for (const NetRow<T>& row : rows) {
      const T* kept = row.kept;
      for (Index d = 0; d < numbers.begin; ++d) kept += ends_stretch(w, row.x, d) ? 2 * units_ : 0;
      at_stretch.push_back(kept);
    }
    for (Index d = numbers.begin; d < numbers.end; ++d)
      for (std::size_t r = 0; r < rows.size(); ++r) {
        for (Index j = w.first(d); j < w.first(d + 1); ++j)
          add_scaled(rows[r].slopes[j], at_stretch[r], out[kV] + j * units_, units_);
        if (!ends_stretch(w, rows[r].x, d)) continue;
        at_stretch[r] += 2 * units_;
        const auto [place, value] = w.shape->input(d, rows[r].x[d]);
        add_scaled(value, at_stretch[r] + units_, out[kW] + place * units_, units_);
      }
  }

  void outputs_of(const NetWeights<T>& w, const T* signal, const T* x, Index d, T* o) const override {
    T* a = row_scratch<T, kSums>(2 * units_);
    const T* c = signal + w.all_outputs();
    for (Index i = 0; i < units_; ++i) a[i] = c[i];
    for (Index j = 0; j < d; ++j)
      if (ends_stretch(w, x, j)) add_input(w, j, x, a);
    activate(a, a + units_);
    put_outputs(w, signal, d, a + units_, o);
  }

 private:
  enum Block : unsigned char { kV, kW };
  static constexpr int kSums = 11;  // whose row_scratch it is

  /// Whether h changes behind number d. Nobody reads what comes behind the last one.
  static bool ends_stretch(const NetWeights<T>& w, const T* x, Index d) {
    return d + 1 < w.numbers() && w.shape->input(d, x[d]).second != 0;
  }
  const T* row_of(const NetWeights<T>& w, Block block, Index row) const { return w.blocks[block] + row * units_; }
  void add_input(const NetWeights<T>& w, Index d, const T* x, T* a) const {
    const auto [place, value] = w.shape->input(d, x[d]);
    add_scaled(value, row_of(w, kW, place), a, units_);
  }

  void put_outputs(const NetWeights<T>& w, const T* signal, Index d, const T* h, T* o) const {
    for (Index j = w.first(d); j < w.first(d + 1); ++j) *o++ = signal[j] + product(row_of(w, kV, j), h, units_);
  }
  void activate(const T* a, T* h) const {
    if (activation_ == NadeActivation::sigmoid) return vector_sigmoid(a, h, units_);
    for (Index i = 0; i < units_; ++i) h[i] = a[i] > 0 ? a[i] : T{0};
  }
  /// out = s'(a) v, from h = s(a).
  void times_slopes(const T* h, const T* v, T* out) const {
    for (Index i = 0; i < units_; ++i)
      out[i] = activation_ == NadeActivation::sigmoid ? h[i] * (1 - h[i]) * v[i] : h[i] > 0 ? v[i] : T{0};
  }

  Index units_;
  NadeActivation activation_;
};

}  // namespace

template <class T>
std::unique_ptr<OrderedNet<T>> nade_net(Index units, NadeActivation activation) {
  return std::make_unique<NadeNet<T>>(units, activation);
}
template std::unique_ptr<OrderedNet<float>> nade_net(Index, NadeActivation);
template std::unique_ptr<OrderedNet<double>> nade_net(Index, NadeActivation);

}  // namespace unfold
