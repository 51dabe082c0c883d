#include <algorithm>
#include <cmath>

#include "loss/density/ordered_net.h"
#include "numerics/functions.h"

namespace unfold {
namespace {

/// NADE-k (Raiko, Yao, Cho & Bengio 2014) with a fixed order. The bits that are not yet known are estimated in k rounds
/// from a hidden layer that reads the known bits and the estimates of the previous round. b and c come from the signal.
/// For number d,
///
///   v^0_j = sigmoid(s_j),   h^t = sigmoid(c + sum_{j<d} x_j W_j + sum_{j>=d} v^{t-1}_j W_j),
///   v^t_j = sigmoid(b_j + V_j h^t),   o_d = b_d + V_d h^k
///
/// s is trained; when a model is trained on data, it is initialized to the means of the data. There is no running sum,
/// so the time is O(k D^2 H). Stored per row, by number and by round: h [H] and v [D - d], then the adjoints of their
/// sigmoid inputs.
template <class T>
class RoundsNet final : public RowByRowNet<T> {
 public:
  RoundsNet(Index units, Index rounds) : units_(units), rounds_(rounds) {}

  Index beside_biases() const override { return units_; }

  std::vector<NetBlock> blocks(const VectorShape& shape) const override {
    const Index n = shape.numbers();
    return {{"V", n, units_, Init::normal(1 / std::sqrt(static_cast<double>(units_)))},
            {"W", n, units_, Init::normal(1 / std::sqrt(static_cast<double>(n)))},
            {"s", 1, n, Init::zero()}};
  }

  Index kept(const NetWeights<T>& w, const T*) const override { return 2 * half(w.numbers()); }

  void value(const NetWeights<T>& w, const T* signal, const T* x, T* kept, T* o) const override {
    T* known = row_scratch<T, kSums>(units_);
    std::copy_n(signal + w.all_outputs(), units_, known);
    for (Index d = 0; d < w.numbers(); ++d) {
      put_rounds(w, signal, known, d, kept);
      o[d] = signal[d] + product(row_of(w, kV, d), round(kept, w, d, rounds_).h, units_);
      kept += rounds_ * size(w, d);
      if (x[d] != 0) add_scaled(x[d], row_of(w, kW, d), known, units_);
    }
  }

  void tangent(const NetWeights<T>& w, const NetWeights<T>& direction, const T* signal, const T* x, const T* kept,
               T* out) const override {
    const Index n = w.numbers();
    T* known = row_scratch<T, kSums>(2 * units_ + n);
    T *h = known + units_, *v = h + units_;  // tangents
    std::copy_n(signal + w.all_outputs(), units_, known);
    for (Index d = 0; d < n; ++d) {
      for (Index t = 1; t <= rounds_; ++t) {
        const auto now = round(kept, w, d, t);
        const T* before = t == 1 ? nullptr : round(kept, w, d, t - 1).h;
        for (Index j = d; j < n; ++j) {
          const T moved = t == 1 ? direction.blocks[kS][j]
                                 : signal[j] + (product(row_of(direction, kV, j), before, units_) +
                                                product(row_of(w, kV, j), h, units_));
          v[j] = now.v[j - d] * (1 - now.v[j - d]) * moved;
        }
        std::copy_n(known, units_, h);
        for (Index j = d; j < n; ++j) {
          add_scaled(now.v[j - d], row_of(direction, kW, j), h, units_);
          add_scaled(v[j], row_of(w, kW, j), h, units_);
        }
        for (Index i = 0; i < units_; ++i) h[i] *= now.h[i] * (1 - now.h[i]);
      }
      out[d] = signal[d] + (product(row_of(direction, kV, d), round(kept, w, d, rounds_).h, units_) +
                            product(row_of(w, kV, d), h, units_));
      kept += rounds_ * size(w, d);
      if (x[d] != 0) add_scaled(x[d], row_of(direction, kW, d), known, units_);
    }
  }

  void adjoint(const NetWeights<T>& w, const T*, const T* slopes, T* kept, T* adjoint) const override {
    const Index n = w.numbers(), other = half(n);
    T* of_h = row_scratch<T, kSums>(units_);
    std::copy_n(slopes, n, adjoint);
    T* of_c = adjoint + n;
    std::fill_n(of_c, units_, T{0});
    for (Index d = 0; d < n; ++d) {
      for (Index i = 0; i < units_; ++i) of_h[i] = slopes[d] * row_of(w, kV, d)[i];
      for (Index t = rounds_; t >= 1; --t) {
        const auto now = round(kept, w, d, t);
        T *of_a = now.h + other, *of_v = now.v + other;
        for (Index i = 0; i < units_; ++i) {
          of_a[i] = now.h[i] * (1 - now.h[i]) * of_h[i];
          of_c[i] += of_a[i];
          of_h[i] = 0;
        }
        for (Index j = d; j < n; ++j) {
          const T v = now.v[j - d];
          of_v[j - d] = v * (1 - v) * product(row_of(w, kW, j), of_a, units_);
          if (t == 1) continue;
          adjoint[j] += of_v[j - d];
          add_scaled(of_v[j - d], row_of(w, kV, j), of_h, units_);
        }
      }
      kept += rounds_ * size(w, d);
    }
  }

  void gradient(const NetWeights<T>& w, std::span<const NetPass<T>> rows, Range numbers,
                const std::vector<T*>& out) const override {
    for (const NetPass<T>& row : rows)
      for (Index j = numbers.begin; j < numbers.end; ++j)
        add_row(w, row, j, out[kV] + j * units_, out[kW] + j * units_, out[kS] + j);
  }

  void outputs_of(const NetWeights<T>& w, const T* signal, const T* x, Index d, T* o) const override {
    T* known = row_scratch<T, kSums>(units_ + rounds_ * size(w, d));
    T* rounds = known + units_;
    std::copy_n(signal + w.all_outputs(), units_, known);
    for (Index j = 0; j < d; ++j)
      if (x[j] != 0) add_scaled(x[j], row_of(w, kW, j), known, units_);
    put_rounds(w, signal, known, d, rounds);
    *o = signal[d] + product(row_of(w, kV, d), round(rounds, w, d, rounds_).h, units_);
  }

 private:
  enum Block : unsigned char { kV, kW, kS };
  static constexpr int kSums = 11;  // `user` of row_scratch

  /// Data of one number and round t: its hidden layer and the estimates that it reads, v^{t-1}.
  template <class P>
  struct Round {
    P h, v;
  };
  Index size(const NetWeights<T>& w, Index d) const { return units_ + w.numbers() - d; }
  Index half(Index n) const { return rounds_ * (n * units_ + n * (n + 1) / 2); }
  template <class P>
  Round<P> round(P of_number, const NetWeights<T>& w, Index d, Index t) const {
    const P first = of_number + (t - 1) * size(w, d);
    return {first, first + units_};
  }
  const T* row_of(const NetWeights<T>& w, Block block, Index row) const { return w.blocks[block] + row * units_; }

  /// `known`: c + sum_{j<d} x_j W_j.
  void put_rounds(const NetWeights<T>& w, const T* signal, const T* known, Index d, T* rounds) const {
    const Index left = w.numbers() - d;
    for (Index t = 1; t <= rounds_; ++t) {
      const auto now = round(rounds, w, d, t);
      for (Index j = d; j < w.numbers(); ++j)
        now.v[j - d] =
            t == 1 ? w.blocks[kS][j] : signal[j] + product(row_of(w, kV, j), round(rounds, w, d, t - 1).h, units_);
      vector_sigmoid(now.v, now.v, left);
      std::copy_n(known, units_, now.h);
      for (Index j = d; j < w.numbers(); ++j) add_scaled(now.v[j - d], row_of(w, kW, j), now.h, units_);
      vector_sigmoid(now.h, now.h, units_);
    }
  }

  /// Adds the gradient of one row for the weights of number j, which is known for later numbers and estimated for
  /// itself and for earlier numbers.
  void add_row(const NetWeights<T>& w, const NetPass<T>& row, Index j, T* of_v, T* of_w, T* of_s) const {
    const Index other = half(w.numbers());
    const T* kept = row.kept;
    for (Index d = 0; d < w.numbers(); ++d, kept += rounds_ * size(w, d - 1))
      for (Index t = 1; t <= rounds_; ++t) {
        const auto now = round(kept, w, d, t);
        if (j < d) {
          if (row.x[j] != 0) add_scaled(row.x[j], now.h + other, of_w, units_);
          continue;
        }
        add_scaled(now.v[j - d], now.h + other, of_w, units_);
        const T slope = now.v[j - d + other];
        if (t == 1)
          *of_s += slope;
        else
          add_scaled(slope, round(kept, w, d, t - 1).h, of_v, units_);
        if (j == d && t == rounds_) add_scaled(row.slopes[d], now.h, of_v, units_);
      }
  }

  Index units_, rounds_;
};

}  // namespace

template <class T>
std::unique_ptr<AutoregressiveNet<T>> nade_k_net(Index units, Index rounds) {
  return std::make_unique<RoundsNet<T>>(units, rounds);
}

template std::unique_ptr<AutoregressiveNet<float>> nade_k_net(Index, Index);
template std::unique_ptr<AutoregressiveNet<double>> nade_k_net(Index, Index);

}  // namespace unfold
