#include "graph/circuit/mixed_sparse.h"

#include <algorithm>
#include <cmath>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr Index kMostWeights = Index{1} << 28;

Edges edges_of_products(const Edges& edges, Index mixing) {
  if (edges.count() > kMostWeights / (mixing + 1))
    throw UsageError("weights of " + std::to_string(edges.count()) + " edges for each of " + std::to_string(mixing) +
                     " components of a vector exceed the limit; use fewer units, edges or components");
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  for (Index k = 0; k <= mixing; ++k)
    for (Index e = 0; e < edges.count(); ++e)
      pairs.emplace_back(static_cast<std::int32_t>(k * edges.inputs()) + edges.from()[at(e)], edges.to()[at(e)]);
  return {(mixing + 1) * edges.inputs(), edges.outputs(), std::move(pairs)};
}

const Edges& checked(const std::shared_ptr<const Edges>& edges, Index inputs, const MixedForm& form) {
  if (edges == nullptr || edges->count() == 0) throw UsageError("a mixed sparse operator has no edges");
  if (inputs < 1) throw UsageError("a mixed sparse operator needs a vector with at least one component");
  if (edges->inputs() != edges->outputs())
    throw UsageError("a mixed sparse operator needs as many outputs as inputs, but its edges connect " +
                     std::to_string(edges->inputs()) + " to " + std::to_string(edges->outputs()) + " components");
  if (!is_activation(form.activation))
    throw UsageError("a mixed sparse operator cannot use " + std::string(map_info(form.activation).name) +
                     "; use tanh, sigmoid, relu or copy");
  return *edges;
}

/// Computes s' from s.
template <class T>
T slope(Map activation, T s) {
  switch (activation) {
    case Map::tanh: return T{1} - s * s;
    case Map::sigmoid: return s * (T{1} - s);
    case Map::relu: return s > 0 ? T{1} : T{0};
    default: return T{1};
  }
}

template <class T>
SparseTerm<T> linear(const Edges& edges, Matrix<const T> weights) {
  return {.edges = &edges, .weights = weights};
}

}  // namespace

MixedSparse::MixedSparse(std::shared_ptr<const Edges> edges, Index inputs, const MixedForm& form)
    : edges_(std::move(edges)),
      mixing_(inputs),
      form_(form),
      unit_edges_(edges_of_products(checked(edges_, inputs, form), inputs)) {}

Index MixedSparse::column(Index k, Index e) const {
  const Index i = edges_->to()[at(e)], first = edges_->entering()[at(i)];
  const Index entering = edges_->entering()[at(i + 1)] - first;
  return (mixing_ + 1) * first + k * entering + (e - first);
}

template <class T>
void MixedSparse::activations(const T* v, T* s) const {
  sparse_activations<T>({.edges = edges_.get(), .activation = form_.activation}, {v, 1, units(), units()},
                        {s, 1, units(), units()});
}

/// Computes, for each row, s(V) followed by x_k s(V).
template <class T>
void MixedSparse::products(const OperatorRows<T>& in, Matrix<T> u) const {
  const Index n = units();
  for (Index r = 0; r < in.x.rows; ++r) {
    const T* x = in.x.row(r);
    T* to = u.row(r);
    activations(x + mixing_, to);
    for (Index k = 0; k < mixing_; ++k)
      for (Index j = 0; j < n; ++j) to[(k + 1) * n + j] = x[k] * to[j];
  }
}

template <class T>
void MixedSparse::apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
  const Index n = units(), m = unit_edges_.inputs();
  const Matrix<T> u{in.scratch, 1, m, m};
  for (Index r = 0; r < y.rows; ++r) {
    products<T>({.x = in.x.rows_from(r, 1)}, u);
    if (form_.leaky)
      for (Index i = 0; i < n; ++i) y(r, i) += in.x(r, mixing_ + i);
    sparse_multiply<T>(linear<T>(unit_edges_, in.w), Matrix<const T>(u), y.rows_from(r, 1), in.scratch + m);
  }
}

template <class T>
void MixedSparse::transposed_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets,
                                  bool squared) const {
  T* d = in.scratch + 5 * unit_edges_.inputs();
  for (Index r = 0; r < dy.rows; ++r) {
    squared ? squares_of_row(in, r, dy.row(r), d) : adjoints_of_row(in, r, dy.row(r), d);
    T* to = dx.row(r);
    for (Index i = 0; i < inputs(); ++i) to[i] = sets ? d[i] : to[i] + d[i];
  }
}

template <class T>
void MixedSparse::adjoints_of_row(const OperatorRows<T>& in, Index r, const T* dy, T* d) const {
  const Index n = units(), m = unit_edges_.inputs();
  const T* x = in.x.row(r);
  const Matrix<T> u{in.scratch, 1, m, m}, du{in.scratch + m, 1, m, m};
  products<T>({.x = in.x.rows_from(r, 1)}, u);
  sparse_transposed<T>(linear<T>(unit_edges_, in.w), Matrix<const T>(u), {dy, 1, n, n}, du, true, false,
                       in.scratch + 2 * m);
  for (Index k = 0; k < mixing_; ++k) {
    T sum = 0;
    for (Index j = 0; j < n; ++j) sum += u(0, j) * du(0, (k + 1) * n + j);
    d[k] = sum;
  }
  for (Index j = 0; j < n; ++j) {
    T sum = du(0, j);
    for (Index k = 0; k < mixing_; ++k) sum += x[k] * du(0, (k + 1) * n + j);
    d[mixing_ + j] = slope(form_.activation, u(0, j)) * sum + (form_.leaky ? dy[j] : T{0});
  }
}

template <class T>
void MixedSparse::squares_of_row(const OperatorRows<T>& in, Index r, const T* dy, T* d) const {
  const Index n = units();
  const T* x = in.x.row(r);
  T *s = in.scratch, *by_unit = d + mixing_;
  activations(x + mixing_, s);
  std::fill_n(d, inputs(), T{0});
  for (Index i = 0; i < n; ++i) {
    const Index first = edges_->entering()[at(i)], last = edges_->entering()[at(i + 1)];
    for (Index e = first; e < last; ++e) {
      const Index j = edges_->from()[at(e)];
      T weight = in.w(0, column(0, e));
      for (Index k = 0; k < mixing_; ++k) weight += x[k] * in.w(0, column(k + 1, e));
      const T entry = slope(form_.activation, s[j]) * weight + (form_.leaky && i == j ? T{1} : T{0});
      by_unit[j] += entry * entry * dy[i];
    }
    if (form_.leaky && edges_->loops()[at(i)] < 0) by_unit[i] += dy[i];
    for (Index k = 0; k < mixing_; ++k) {
      T entry = 0;
      for (Index e = first; e < last; ++e) entry += in.w(0, column(k + 1, e)) * s[edges_->from()[at(e)]];
      d[k] += entry * entry * dy[i];
    }
  }
}

template <class T>
void MixedSparse::gradient_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> g, Range columns,
                                bool squared) const {
  const Index m = unit_edges_.inputs();
  const Matrix<T> u{in.scratch, 1, m, m};
  for (Index r = dy.rows; r-- > 0;) {
    products<T>({.x = in.x.rows_from(r, 1)}, u);
    sparse_gradient<T>(linear<T>(unit_edges_, in.w), Matrix<const T>(u), dy.rows_from(r, 1), g, columns, squared,
                       in.scratch + m);
  }
}

template <class T>
void MixedSparse::tangent_rows(const OperatorRows<T>& in, Matrix<const T> dw, Matrix<const T> dx, Matrix<T> dy) const {
  const Index n = units(), m = unit_edges_.inputs();
  const Matrix<T> u{in.scratch, 1, m, m}, du{in.scratch + m, 1, m, m};
  T* room = in.scratch + 2 * m;
  for (Index r = 0; r < dy.rows; ++r) {
    products<T>({.x = in.x.rows_from(r, 1)}, u);
    sparse_multiply<T>(linear<T>(unit_edges_, dw), Matrix<const T>(u), dy.rows_from(r, 1), room);
    if (dx.data == nullptr) continue;
    const T *x = in.x.row(r), *moved = dx.row(r);
    for (Index j = 0; j < n; ++j) {
      du(0, j) = slope(form_.activation, u(0, j)) * moved[mixing_ + j];
      for (Index k = 0; k < mixing_; ++k) du(0, (k + 1) * n + j) = x[k] * du(0, j) + moved[k] * u(0, j);
      if (form_.leaky) dy(r, j) += moved[mixing_ + j];
    }
    sparse_multiply<T>(linear<T>(unit_edges_, in.w), Matrix<const T>(du), dy.rows_from(r, 1), room);
  }
}

#define UNFOLD_INSTANTIATE(T)                                                                                         \
  template void MixedSparse::apply_rows(const OperatorRows<T>&, Matrix<T>) const;                                     \
  template void MixedSparse::transposed_rows(const OperatorRows<T>&, Matrix<const T>, Matrix<T>, bool, bool) const;   \
  template void MixedSparse::gradient_rows(const OperatorRows<T>&, Matrix<const T>, Matrix<T>, Range, bool) const;    \
  template void MixedSparse::tangent_rows(const OperatorRows<T>&, Matrix<const T>, Matrix<const T>, Matrix<T>) const; \
  template void MixedSparse::products(const OperatorRows<T>&, Matrix<T>) const;
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

std::shared_ptr<const Operator> mixed_sparse(std::shared_ptr<const Edges> edges, Index inputs, const MixedForm& form) {
  return std::make_shared<const MixedSparse>(std::move(edges), inputs, form);
}

const MixedSparse* as_mixed_sparse(const Operator* op) { return dynamic_cast<const MixedSparse*>(op); }

}  // namespace unfold
