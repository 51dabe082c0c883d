#include <algorithm>
#include <cmath>

#include "loss/density/ordered_net.h"
#include "numerics/functions.h"
#include "numerics/row_sums.h"

namespace unfold {
namespace {

/// A list of rows to be summed, each with a factor.
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
  /// Adds all rows to y, in order, then clears the list.
  void add_to(T* y, Index n) {
    add_scaled_rows(factors_.data(), rows_.data(), static_cast<Index>(rows_.size()), y, n);
    factors_.clear();
    rows_.clear();
  }

 private:
  std::vector<T> factors_;
  std::vector<const T*> rows_;
};

/// The neural autoregressive distribution estimator NADE (Larochelle & Murray 2011; for real numbers: Uria, Murray &
/// Larochelle 2013). b and c come from the signal:
///
///   a_1 = c,   a_{d+1} = a_d + x_d W_d,   h_d = s(a_d),   o_d = b_d + V_d h_d
///
/// If number d is a class, its row of W_d replaces x_d W_d. The running sum reduces the time to O(D H). Where x_d is 0,
/// h does not change, so only nonzero numbers need new activations; the numbers between two nonzero numbers form a
/// *stretch* that shares h. Stored per row: h [H] of every stretch.
template <class T>
class NadeNet final : public AutoregressiveNet<T> {
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
    return units_ * stretches;
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
      times_slopes(kept += units_, a, h);
    }
  }

  /// Processes a block of numbers at a time. Their rows of V and of both gradients and the stored values then stay in
  /// the cache while all rows of the batch are processed. Members of a team divide the units, which are independent in
  /// the backward pass.
  void back(const NetWeights<T>& w, std::span<const NetPass<T>> rows, Member& me,
            const std::vector<T*>& out) const override {
    const auto count = static_cast<Index>(rows.size());
    const Range mine = me.share(count);
    for (Index r = mine.begin; r < mine.end; ++r) std::copy_n(rows[at(r)].slopes, w.all_outputs(), rows[at(r)].adjoint);
    const Range units = me.share(units_, kUnitGrain);
    if (units.empty()) return;
    Back way{.w = w,
             .units = units,
             .out = out,
             .memory = row_scratch<T, kSums>((2 * count + 1) * units.size()),
             .terms = ScaledRows<T>(std::max(at(w.all_outputs()), rows.size())),
             .h = {}};
    std::fill_n(way.memory, 2 * count * units.size(), T{0});
    for (const NetPass<T>& row : rows) way.h.push_back(row.kept + kept(w, row.x) - units_ + units.begin);
    for (Index end = w.numbers(); end > 0; end -= std::min(kNumbersAtOnce, end)) {
      const Range numbers{std::max<Index>(0, end - kNumbersAtOnce), end};
      for (Index r = count; r-- > 0;) go_back(way, rows[at(r)], numbers, r);
      add_output_gradient(way, rows, numbers);
    }
    for (Index r = 0; r < count; ++r)
      std::copy_n(way.of_a(r), units.size(), rows[at(r)].adjoint + w.all_outputs() + units.begin);
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
  static constexpr int kSums = 11;  // `user` of row_scratch
  static constexpr Index kNumbersAtOnce =
      32;  // their rows of V stay in the cache while the rows of a batch are processed
  static constexpr Index kUnitGrain = 16;

  /// The backward pass of some units.
  struct Back {
    const NetWeights<T>& w;
    Range units;
    const std::vector<T*>& out;
    T* memory;
    ScaledRows<T> terms;
    std::vector<const T*> h;  ///< for each row: h of its current stretch

    Index n() const { return units.size(); }
    T* of_a(Index row) { return memory + 2 * row * n(); }  ///< the adjoint of a, followed by the adjoint of h
    /// Target for sums that are not needed.
    T* nowhere() { return memory + 2 * static_cast<Index>(h.size()) * n(); }
  };

  /// Returns whether h changes after number d. False for the last number, after which h is not read.
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

  /// Runs forward over some numbers from the position of stored h; returns the position after them.
  T* go_on(const NetWeights<T>& w, const NetPass<T>& row, Range numbers, T* a, T* kept) const {
    for (Index d = numbers.begin; d < numbers.end;) {
      const Index end = std::min(end_of_stretch(w, row.x, d), numbers.end);
      put_outputs(w, row.signal, {d, end}, kept, row.outputs + w.first(d));
      d = end;
      if (!ends_stretch(w, row.x, d - 1)) continue;
      add_input_and_activate(w, d - 1, row.x, a, kept += units_);
    }
    return kept;
  }
  /// Runs backward over some numbers; adds to the gradient of W.
  void go_back(Back& way, const NetPass<T>& row, Range numbers, Index r) const {
    const NetWeights<T>& w = way.w;
    T *of_a = way.of_a(r), *of_h = of_a + way.n();
    for (Index d = numbers.end; d-- > numbers.begin;) {
      for (Index j = w.first(d + 1); j-- > w.first(d);)
        way.terms.add(row.slopes[j], row_of(w, kV, j) + way.units.begin);
      const bool begins_stretch = d == 0 || ends_stretch(w, row.x, d - 1);
      if (begins_stretch || d == numbers.begin) way.terms.add_to(of_h, way.n());
      if (!begins_stretch) continue;
      if (d == 0) return end_stretch(way.h[at(r)], of_h, of_a, T{0}, way.nowhere(), way.n());
      const auto [place, value] = w.shape->input(d - 1, row.x[d - 1]);
      end_stretch(way.h[at(r)], of_h, of_a, value, way.out[kW] + place * units_ + way.units.begin, way.n());
      way.h[at(r)] -= units_;
    }
  }
  /// Adds the gradient of V for numbers that the backward pass of all rows has just finished.
  void add_output_gradient(Back& way, std::span<const NetPass<T>> rows, Range numbers) const {
    const NetWeights<T>& w = way.w;
    std::vector<const T*> h = way.h;
    if (numbers.begin > 0)
      for (std::size_t r = 0; r < rows.size(); ++r) h[r] += ends_stretch(w, rows[r].x, numbers.begin - 1) ? units_ : 0;
    for (Index d = numbers.begin; d < numbers.end; ++d) {
      for (Index j = w.first(d); j < w.first(d + 1); ++j) {
        for (std::size_t r = rows.size(); r-- > 0;) way.terms.add(rows[r].slopes[j], h[r]);
        way.terms.add_to(way.out[kV] + j * units_ + way.units.begin, way.n());
      }
      for (std::size_t r = 0; r < rows.size(); ++r) h[r] += ends_stretch(w, rows[r].x, d) ? units_ : 0;
    }
  }

  /// Computes the outputs of the numbers of one stretch.
  void put_outputs(const NetWeights<T>& w, const T* signal, Range numbers, const T* h, T* o) const {
    const Index first = w.first(numbers.begin), count = w.first(numbers.end) - first;
    row_products(row_of(w, kV, first), count, h, units_, o);
    for (Index j = 0; j < count; ++j) o[j] = signal[first + j] + o[j];
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
  /// Backward through a stretch's h = s(a): of_a += s'(a) of_h, `sum` += x of_a, then of_h is reset to zero.
  void end_stretch(const T* h, T* of_h, T* of_a, T x, T* sum, Index n) const {
    if (activation_ == NadeActivation::sigmoid) return add_sigmoid_slopes(h, of_h, of_a, x, sum, n);
    for (Index i = 0; i < n; ++i) {
      of_a[i] += h[i] > 0 ? of_h[i] : T{0};
      of_h[i] = T{0};
    }
    add_scaled(x, of_a, sum, n);
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
std::unique_ptr<AutoregressiveNet<T>> nade_net(Index units, NadeActivation activation) {
  return std::make_unique<NadeNet<T>>(units, activation);
}

template std::unique_ptr<AutoregressiveNet<float>> nade_net(Index, NadeActivation);
template std::unique_ptr<AutoregressiveNet<double>> nade_net(Index, NadeActivation);

}  // namespace unfold
