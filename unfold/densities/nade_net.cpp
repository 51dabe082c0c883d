#include <algorithm>
#include <cmath>

#include "unfold/densities/ordered_net.h"
#include "unfold/numerics/functions.h"
#include "unfold/numerics/row_sums.h"

namespace unfold {
namespace {

/// Rows of numbers that are added up, each times a factor.
template <class T>
class ScaledRows {
 public:
  explicit ScaledRows(std::size_t most) {
    factors_.reserve(most);
    rows_.reserve(most);
  }
  void add(T factor, const T* row) {
    factors_.push_back(factor);
    rows_.push_back(row);
  }
  /// y += all of them, in their order; then there are none.
  void add_to(T* y, Index n) {
    add_scaled_rows(factors_.data(), rows_.data(), static_cast<Index>(rows_.size()), y, n);
    factors_.clear();
    rows_.clear();
  }

 private:
  std::vector<T> factors_;
  std::vector<const T*> rows_;
};

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
    const NetPass<T> row{signal, x, kept, o, nullptr, nullptr};
    values(w, {&row, 1});
  }
  void values(const NetWeights<T>& w, std::span<const NetPass<T>> rows) const override {
    T* sums = row_scratch<T, kSums>(units_ * static_cast<Index>(rows.size()));
    std::vector<T*> at_stretch;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      T* a = sums + static_cast<Index>(r) * units_;
      std::copy_n(rows[r].signal + w.all_outputs(), units_, a);
      activate(a, rows[r].kept);
      at_stretch.push_back(rows[r].kept);
    }
    for (Index begin = 0; begin < w.numbers(); begin += kNumbersAtOnce) {
      const Range numbers{begin, std::min(begin + kNumbersAtOnce, w.numbers())};
      for (std::size_t r = 0; r < rows.size(); ++r)
        at_stretch[r] = go_on(w, rows[r], numbers, sums + static_cast<Index>(r) * units_, at_stretch[r]);
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
    const NetPass<T> row{nullptr, x, kept, nullptr, slopes, adjoint};
    adjoints(w, {&row, 1});
  }
  void adjoints(const NetWeights<T>& w, std::span<const NetPass<T>> rows) const override {
    const Index size = 2 * units_;  // the adjoints of a and h
    T* memory = row_scratch<T, kSums>(size * static_cast<Index>(rows.size()));
    std::fill_n(memory, size * static_cast<Index>(rows.size()), T{0});
    ScaledRows<T> terms(at(w.all_outputs()));
    std::vector<T*> at_stretch;
    for (const NetPass<T>& row : rows) at_stretch.push_back(row.kept + kept(w, row.x) - size);
    for (Index end = w.numbers(); end > 0; end -= std::min(kNumbersAtOnce, end)) {
      const Range numbers{std::max<Index>(0, end - kNumbersAtOnce), end};
      for (std::size_t r = 0; r < rows.size(); ++r)
        at_stretch[r] = go_back(w, rows[r], numbers, memory + static_cast<Index>(r) * size, at_stretch[r], terms);
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
      std::copy_n(rows[r].slopes, w.all_outputs(), rows[r].adjoint);
      std::copy_n(memory + static_cast<Index>(r) * size, units_, rows[r].adjoint + w.all_outputs());
    }
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
    ScaledRows<T> terms(rows.size());
    for (Index d = numbers.begin; d < numbers.end; ++d) {
      for (Index j = w.first(d); j < w.first(d + 1); ++j) {
        for (std::size_t r = 0; r < rows.size(); ++r) terms.add(rows[r].slopes[j], at_stretch[r]);
        terms.add_to(out[kV] + j * units_, units_);
      }
      add_input_gradient(w, rows, d, at_stretch, terms, out[kW]);
    }
  }

  void outputs_of(const NetWeights<T>& w, const T* signal, const T* x, Index d, T* o) const override {
    T* a = row_scratch<T, kSums>(2 * units_);
    const T* c = signal + w.all_outputs();
    for (Index i = 0; i < units_; ++i) a[i] = c[i];
    for (Index j = 0; j < d; ++j)
      if (ends_stretch(w, x, j)) add_input(w, j, x, a);
    activate(a, a + units_);
    put_outputs(w, signal, {d, d + 1}, a + units_, o);
  }

 private:
  enum Block : unsigned char { kV, kW };
  static constexpr int kSums = 11;             // whose row_scratch it is
  static constexpr Index kNumbersAtOnce = 32;  // their rows of V stay in the cache while the rows of a batch pass

  /// Whether h changes behind number d. Nobody reads what comes behind the last one.
  static bool ends_stretch(const NetWeights<T>& w, const T* x, Index d) {
    return d + 1 < w.numbers() && w.shape->input(d, x[d]).second != 0;
  }
  static Index end_of_stretch(const NetWeights<T>& w, const T* x, Index d) {
    while (d + 1 < w.numbers() && !ends_stretch(w, x, d)) ++d;
    return d + 1;
  }
  const T* row_of(const NetWeights<T>& w, Block block, Index row) const { return w.blocks[block] + row * units_; }
  void add_input(const NetWeights<T>& w, Index d, const T* x, T* a) const {
    const auto [place, value] = w.shape->input(d, x[d]);
    add_scaled(value, row_of(w, kW, place), a, units_);
  }

  /// Through some numbers, from where h is kept; returns where it is behind them.
  T* go_on(const NetWeights<T>& w, const NetPass<T>& row, Range numbers, T* a, T* kept) const {
    for (Index d = numbers.begin; d < numbers.end;) {
      const Index end = std::min(end_of_stretch(w, row.x, d), numbers.end);
      put_outputs(w, row.signal, {d, end}, kept, row.outputs + w.first(d));
      d = end;
      if (!ends_stretch(w, row.x, d - 1)) continue;
      add_input_and_activate(w, d - 1, row.x, a, kept += 2 * units_);
    }
    return kept;
  }
  /// The way back; of_a: the adjoints of a and of h so far.
  T* go_back(const NetWeights<T>& w, const NetPass<T>& row, Range numbers, T* of_a, T* kept,
             ScaledRows<T>& terms) const {
    T* of_h = of_a + units_;
    for (Index d = numbers.end; d-- > numbers.begin;) {
      for (Index j = w.first(d + 1); j-- > w.first(d);) terms.add(row.slopes[j], row_of(w, kV, j));
      const bool begins_stretch = d == 0 || ends_stretch(w, row.x, d - 1);
      if (begins_stretch || d == numbers.begin) terms.add_to(of_h, units_);
      if (!begins_stretch) continue;
      end_stretch(kept, of_h, of_a);
      kept -= 2 * units_;
    }
    return kept;
  }

  /// Of the numbers of one stretch.
  void put_outputs(const NetWeights<T>& w, const T* signal, Range numbers, const T* h, T* o) const {
    const Index first = w.first(numbers.begin), count = w.first(numbers.end) - first;
    row_products(row_of(w, kV, first), count, h, units_, o);
    for (Index j = 0; j < count; ++j) o[j] = signal[first + j] + o[j];
  }
  /// Of the weights that read number d; moves on the rows whose stretch it ends.
  void add_input_gradient(const NetWeights<T>& w, std::span<const NetRow<T>> rows, Index d,
                          std::vector<const T*>& at_stretch, ScaledRows<T>& terms, T* out) const {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (!ends_stretch(w, rows[r].x, d)) continue;
      at_stretch[r] += 2 * units_;
      const auto [place, value] = w.shape->input(d, rows[r].x[d]);
      if (w.shape->is_class(d))
        add_scaled(value, at_stretch[r] + units_, out + place * units_, units_);
      else
        terms.add(value, at_stretch[r] + units_);
    }
    if (!w.shape->is_class(d)) terms.add_to(out + w.shape->first_input(d) * units_, units_);
  }
  void activate(const T* a, T* h) const {
    if (activation_ == NadeActivation::sigmoid) return vector_sigmoid(a, h, units_);
    for (Index i = 0; i < units_; ++i) h[i] = a[i] > 0 ? a[i] : T{0};
  }
  void add_input_and_activate(const NetWeights<T>& w, Index d, const T* x, T* a, T* h) const {
    if (activation_ == NadeActivation::sigmoid) {
      const auto [place, value] = w.shape->input(d, x[d]);
      return add_row_and_sigmoid(value, row_of(w, kW, place), a, h, units_);
    }
    add_input(w, d, x, a);
    activate(a, h);
  }
  /// Back through a stretch's h = s(a): of_a += s'(a) of_h, which is kept behind h, and of_h begins anew.
  void end_stretch(T* h, T* of_h, T* of_a) const {
    T* kept = h + units_;
    if (activation_ == NadeActivation::sigmoid) return add_sigmoid_slopes(h, of_h, of_a, kept, units_);
    for (Index i = 0; i < units_; ++i) {
      kept[i] = of_a[i] += h[i] > 0 ? of_h[i] : T{0};
      of_h[i] = T{0};
    }
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
