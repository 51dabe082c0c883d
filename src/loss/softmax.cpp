#include <algorithm>
#include <cmath>
#include <memory>

#include "graph/circuit/cell_maps.h"
#include "loss/expected_target.h"
#include "loss/symbol_probabilities.h"
#include "numerics/functions.h"
#include "numerics/softmax_rows.h"
#include "unfold/graph/circuit/circuit.h"
#include "unfold/loss/registry.h"
#include "unfold/loss/rows.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

template <class T>
class SoftmaxLoss final : public RowLoss<T>,
                          public RowCurvature<T>,
                          public LossFisher<T>,
                          public Categorical<T>,
                          public SymbolProbabilities<T>,
                          public ExpectedTarget<T> {
 public:
  std::string_view name() const override { return "softmax"; }

  Signal expected_target(Circuit& circuit, Signal signal) const override {
    const Term softmax{
        .parameter = "softmax", .source = signal, .init = Init::zero(), .op = softmax_operator(signal.size())};
    return circuit.affine("expected", signal.size(), {softmax}, Init::zero(), false);
  }

  void log_probabilities(std::span<const T> signal, std::span<const T>, std::span<T> log_p) const override {
    require_same(name(), "symbols", static_cast<Index>(log_p.size()), static_cast<Index>(signal.size()));
    const T normalizer = log_sum_exp(signal.data(), static_cast<Index>(signal.size()));
    for (std::size_t x = 0; x < signal.size(); ++x) log_p[x] = signal[x] - normalizer;
  }
  T log_probability(std::span<const T> signal, std::span<const T>, Symbol symbol) const override {
    return signal[at(symbol)] - log_sum_exp(signal.data(), static_cast<Index>(signal.size()));
  }

  void row_losses(Matrix<const T> signal, const Targets<T>& targets, T* nats) const override {
    find_losses(signal, targets, nats, [](Matrix<const T>, const Symbol*, const T*, Index) {});
  }

  void row_gradients(Matrix<const T> signal, const Targets<T>& targets, T scale, T* nats,
                     Matrix<T> adjoint) const override {
    find_losses(signal, targets, nats,
                [&](Matrix<const T> logits, const Symbol* symbols, const T* normalizers, Index begin) {
                  softmax_gradients<T>(logits, symbols, normalizers, scale, adjoint.rows_from(begin, logits.rows));
                });
  }

  /// H = diag(p) - p p^T.
  void row_curvatures(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> tangent,
                      Matrix<T> result) const override {
    const Index n = signal.cols;
    for (Index r = 0; r < signal.rows; ++r) {
      T* out = result.row(r);
      if (target_of(signal, targets, r) == kNoSymbol) {
        set_row(out, n, T{0});
        continue;
      }
      const T* t = tangent.row(r);
      probabilities(signal.row(r), n, out);
      const T mean = static_cast<T>(dot(span_of<T>(out, n), span_of(t, n)));
      for (Index i = 0; i < n; ++i) out[i] = scale * (out[i] * (t[i] - mean));
    }
  }

  /// R = diag(r) - p r' with r = sqrt(p).
  void row_curvature_roots(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> noise,
                           Matrix<T> result) const override {
    const Index n = signal.cols;
    T* p = row_scratch<T>(2 * n);
    T* root = p + n;
    for (Index r = 0; r < signal.rows; ++r) {
      T* out = result.row(r);
      if (target_of(signal, targets, r) == kNoSymbol) {
        set_row(out, n, T{0});
        continue;
      }
      const T* z = noise.row(r);
      probabilities(signal.row(r), n, p);
      for (Index i = 0; i < n; ++i) root[i] = std::sqrt(p[i]);
      const T along = static_cast<T>(dot(span_of<T>(root, n), span_of(z, n)));
      for (Index i = 0; i < n; ++i) out[i] = scale * (root[i] * z[i] - p[i] * along);
    }
  }

  void fisher_diagonal(Matrix<const T> signal, const Targets<T>& targets, Matrix<T> seed) const override {
    const Index n = signal.cols;
    for (Index r = 0; r < signal.rows; ++r) {
      T* out = seed.row(r);
      if (target_of(signal, targets, r) == kNoSymbol) {
        set_row(out, n, T{0});
        continue;
      }
      probabilities(signal.row(r), n, out);
      for (Index i = 0; i < n; ++i) out[i] *= 1 - out[i];
    }
  }

  void fisher_through(Matrix<const T> signal, const Targets<T>& targets, Matrix<const T> w,
                      Matrix<T> seed) const override {
    const Index n = signal.cols;
    require_same(name(), "weight columns", w.cols, n);
    T* p = row_scratch<T>(2 * n);
    T* squares = p + n;
    for (Index r = 0; r < signal.rows; ++r) {
      T* out = seed.row(r);
      if (target_of(signal, targets, r) == kNoSymbol) {
        set_row(out, w.rows, T{0});
        continue;
      }
      probabilities(signal.row(r), n, p);
      for (Index i = 0; i < w.rows; ++i) {
        // Centered at the mean, because the difference of two moments would suffer from cancellation if the
        // distribution is nearly certain.
        const T* wi = w.row(i);
        const T mean = static_cast<T>(dot(span_of<T>(p, n), span_of(wi, n)));
        for (Index x = 0; x < n; ++x) squares[x] = (wi[x] - mean) * (wi[x] - mean);
        out[i] = static_cast<T>(dot(span_of<T>(p, n), span_of<T>(squares, n)));
      }
    }
  }

 private:
  /// Sets the nats of blocks of rows; after each block, calls then(logits, symbols, normalizers, first row).
  template <class Then>
  void find_losses(Matrix<const T> signal, const Targets<T>& targets, T* nats, const Then& then) const {
    constexpr Index kMostRows = 64, kElements = 8192;  // the rows stay in the first- or second-level cache
    T normalizers[kMostRows];
    Symbol symbols[kMostRows];
    const Index block = std::clamp<Index>(kElements / std::max<Index>(1, signal.cols), 1, kMostRows);
    for (Index begin = 0; begin < signal.rows; begin += block) {
      const Matrix<const T> logits = signal.rows_from(begin, std::min(block, signal.rows - begin));
      for (Index r = 0; r < logits.rows; ++r) symbols[r] = target_of(signal, targets, begin + r);
      log_normalizers(logits, symbols, normalizers);
      for (Index r = 0; r < logits.rows; ++r)
        nats[begin + r] = symbols[r] == kNoSymbol ? T{0} : normalizers[r] - logits(r, symbols[r]);
      then(logits, symbols, normalizers, begin);
    }
  }

  Symbol target_of(Matrix<const T> signal, const Targets<T>& targets, Index row) const {
    return target_symbol(name(), signal, targets, row);
  }

  // Computes exp(log p), so probabilities and nats use the same normalizer.
  static void probabilities(const T* x, Index n, T normalizer, T* p) {
    for (Index i = 0; i < n; ++i) p[i] = x[i] - normalizer;
    vector_exp(p, p, n);
  }
  static void probabilities(const T* x, Index n, T* p) { probabilities(x, n, log_sum_exp(x, n), p); }
};

}  // namespace

template <class T>
std::unique_ptr<Loss<T>> softmax_loss() {
  return std::make_unique<SoftmaxLoss<T>>();
}

template std::unique_ptr<Loss<float>> softmax_loss<float>();
template std::unique_ptr<Loss<double>> softmax_loss<double>();

LossEntry softmax_entry() {
  return {.name = "softmax",
          .help = "symbols: p(x) = exp(o_x) / sum_y exp(o_y)",
          .of_symbols = true,
          .make_float = softmax_loss<float>,
          .make_double = softmax_loss<double>};
}

}  // namespace unfold
