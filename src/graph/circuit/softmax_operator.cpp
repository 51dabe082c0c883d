/// Softmax and the mean of a mixture, of cell_maps.h.
///   p = softmax(x):                             d p_i / d x_j = p_i ([i = j] - p_j)
///   m = sum over k of p_k m_k, p = softmax(a):  d m / d m_k = p_k,  d m / d a_k = p_k (m_k - m)

#include <algorithm>

#include "graph/circuit/cell_maps.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

/// Sets p to the softmax of the n numbers x.
template <class T>
void probabilities_of(const T* x, Index n, T* p) {
  const T largest = *std::max_element(x, x + n);
  for (Index i = 0; i < n; ++i) p[i] = x[i] - largest;
  vector_exp(p, p, n);
  const T inverse = 1 / static_cast<T>(sum(std::span<const T>(p, at(n))));
  for (Index i = 0; i < n; ++i) p[i] *= inverse;
}

template <class T>
T inner_product(const T* x, const T* y, Index n) {
  return static_cast<T>(dot(std::span<const T>(x, at(n)), std::span<const T>(y, at(n))));
}

class Softmax final : public OperatorOf<Softmax> {
 public:
  explicit Softmax(Index n) : n_(n) {
    if (n < 1) throw UsageError("softmax needs at least one component");
  }

  std::string_view name() const override { return "softmax"; }
  Index inputs() const override { return n_; }
  Index outputs() const override { return n_; }
  ParameterShape parameter_shape(Index) const override { return {0, n_}; }
  Index scratch() const override { return n_; }
  double operations() const override { return 6.0 * static_cast<double>(n_); }
  bool has_squared() const override { return true; }

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    for (Index r = 0; r < in.x.rows; ++r) {
      probabilities_of(in.x.row(r), n_, in.scratch);
      for (Index i = 0; i < n_; ++i) y(r, i) += in.scratch[i];
    }
  }

  /// Squared: sum over i of J_ij^2 dy_i = p_j^2 ((1 - 2 p_j) dy_j + sum over i of p_i^2 dy_i).
  template <class T>
  void transposed_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets, bool squared) const {
    T* p = in.scratch;
    for (Index r = 0; r < in.x.rows; ++r) {
      probabilities_of(in.x.row(r), n_, p);
      T along = 0;
      for (Index i = 0; i < n_; ++i) along += squared ? p[i] * p[i] * dy(r, i) : p[i] * dy(r, i);
      for (Index i = 0; i < n_; ++i) {
        const T d = squared ? p[i] * p[i] * ((1 - 2 * p[i]) * dy(r, i) + along) : p[i] * (dy(r, i) - along);
        dx(r, i) = sets ? d : dx(r, i) + d;
      }
    }
  }

  template <class T>
  void gradient_rows(const OperatorRows<T>&, Matrix<const T>, Matrix<T>, Range, bool) const {}

  template <class T>
  void tangent_rows(const OperatorRows<T>& in, Matrix<const T>, Matrix<const T> dx, Matrix<T> dy) const {
    if (dx.data == nullptr) return;
    for (Index r = 0; r < in.x.rows; ++r) {
      probabilities_of(in.x.row(r), n_, in.scratch);
      const T along = inner_product<T>(in.scratch, dx.row(r), n_);
      for (Index i = 0; i < n_; ++i) dy(r, i) += in.scratch[i] * (dx(r, i) - along);
    }
  }

 private:
  Index n_;
};

/// The input is a, the logits of the K components, followed by their means m_1, ..., m_K, n numbers each.
class MixtureMean final : public OperatorOf<MixtureMean> {
 public:
  MixtureMean(Index components, Index n) : k_(components), n_(n) {
    if (components < 1 || n < 1) throw UsageError("the mean of a mixture needs at least one component and one number");
  }

  std::string_view name() const override { return "mean of a mixture"; }
  Index inputs() const override { return k_ * (1 + n_); }
  Index outputs() const override { return n_; }
  ParameterShape parameter_shape(Index) const override { return {0, n_}; }
  Index scratch() const override { return k_ + n_; }
  double operations() const override { return static_cast<double>(k_ * (6 + 2 * n_)); }

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    for (Index r = 0; r < in.x.rows; ++r) {
      const T* mean = mean_of(in.x.row(r), in.scratch);
      for (Index i = 0; i < n_; ++i) y(r, i) += mean[i];
    }
  }

  template <class T>
  void transposed_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets, bool) const {
    for (Index r = 0; r < in.x.rows; ++r) {
      const T* x = in.x.row(r);
      const T *mean = mean_of(x, in.scratch), *p = in.scratch;
      T* out = dx.row(r);
      const auto put = [&](Index j, T value) { out[j] = sets ? value : out[j] + value; };
      for (Index k = 0; k < k_; ++k) {
        T slope = 0;
        for (Index i = 0; i < n_; ++i) slope += dy(r, i) * (component(x, k)[i] - mean[i]);
        put(k, p[k] * slope);
        for (Index i = 0; i < n_; ++i) put(k_ + k * n_ + i, p[k] * dy(r, i));
      }
    }
  }

  template <class T>
  void gradient_rows(const OperatorRows<T>&, Matrix<const T>, Matrix<T>, Range, bool) const {}

  template <class T>
  void tangent_rows(const OperatorRows<T>& in, Matrix<const T>, Matrix<const T> dx, Matrix<T> dy) const {
    if (dx.data == nullptr) return;
    for (Index r = 0; r < in.x.rows; ++r) {
      const T *x = in.x.row(r), *v = dx.row(r);
      const T *mean = mean_of(x, in.scratch), *p = in.scratch;
      for (Index k = 0; k < k_; ++k)
        for (Index i = 0; i < n_; ++i) dy(r, i) += p[k] * (component(v, k)[i] + v[k] * (component(x, k)[i] - mean[i]));
    }
  }

 private:
  template <class T>
  const T* component(const T* x, Index k) const {
    return x + k_ + k * n_;
  }
  /// Sets the first K numbers of `scratch` to the weights; returns the mean, which follows them.
  template <class T>
  const T* mean_of(const T* x, T* scratch) const {
    probabilities_of(x, k_, scratch);
    T* mean = scratch + k_;
    std::fill_n(mean, n_, T{0});
    for (Index k = 0; k < k_; ++k)
      for (Index i = 0; i < n_; ++i) mean[i] += scratch[k] * component(x, k)[i];
    return mean;
  }

  Index k_, n_;
};

}  // namespace

std::shared_ptr<const Operator> softmax_operator(Index n) { return std::make_shared<Softmax>(n); }

std::shared_ptr<const Operator> mixture_mean(Index components, Index n) {
  return std::make_shared<MixtureMean>(components, n);
}

}  // namespace unfold
