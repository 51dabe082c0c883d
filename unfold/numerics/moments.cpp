#include "unfold/numerics/moments.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unfold/numerics/moments.cpp"
#include "unfold/numerics/targets-inl.h"
// The targets before Highway's own headers.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "unfold/numerics/fma-inl.h"
#include "unfold/numerics/loops-inl.h"

#ifndef UNFOLD_NUMERICS_MOMENTS_ONCE
#define UNFOLD_NUMERICS_MOMENTS_ONCE
namespace unfold {

/// What the kernel needs to know of one unit.
struct MomentTables {
  const std::int32_t *gated, *shared;
  Index gated_count, shared_count, padded_gated, padded_shared, alphabet;
  bool full;
  double *by_symbol, *by_all, *u;
};

template <class T>
struct MomentOperations {
  void (*add)(const MomentTables&, Matrix<const double>, const Symbol*, const T*, const T*, Index);
  void (*variances)(Matrix<const T>, Matrix<const T>, Matrix<T>);
};

}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

constexpr Index kPad = 4;
HWY_INLINE Index padded(Index n) { return (n + kPad - 1) / kPad * kPad; }

/// to += q * u over n numbers, a multiple of kPad.
HWY_INLINE void add_scaled(double q, const double* u, double* to, Index n) {
  const hn::CappedTag<double, kPad> d;
  const auto factor = hn::Set(d, q);
  for (Index i = 0; i < n; i += static_cast<Index>(hn::Lanes(d)))
    hn::StoreU(Fma(d, factor, hn::LoadU(d, u + i), hn::LoadU(d, to + i)), d, to + i);
}
/// to += q * u^2.
HWY_INLINE void add_scaled_squares(double q, const double* u, double* to, Index n) {
  const hn::CappedTag<double, kPad> d;
  const auto factor = hn::Set(d, q);
  for (Index i = 0; i < n; i += static_cast<Index>(hn::Lanes(d))) {
    const auto v = hn::LoadU(d, u + i);
    hn::StoreU(Fma(d, factor, hn::Mul(v, v), hn::LoadU(d, to + i)), d, to + i);
  }
}

HWY_INLINE void add_full(const MomentTables& m, double phi, double b, double* block) {
  const Index width = m.padded_gated + m.padded_shared, p = m.gated_count, s = m.shared_count;
  const double *u = m.u, *v = m.u + m.padded_gated;
  for (Index j = 0; j < p; ++j) {
    const double q = phi * u[j];
    double* row = block + j * width;
    add_scaled(q, u, row, padded(j + 1));
    add_scaled(q, v, row + m.padded_gated, m.padded_shared);
  }
  add_scaled(b, u, block + p * width, m.padded_gated);
  for (Index j = 0; j < s; ++j) add_scaled(phi * v[j], v, m.by_all + j * m.padded_shared, padded(j + 1));
  add_scaled(b, v, m.by_all + s * m.padded_shared, m.padded_shared);
}

HWY_INLINE void add_quasi_diagonal(const MomentTables& m, double phi, double b, double* block) {
  const Index width = m.padded_gated + m.padded_shared;
  const double *u = m.u, *v = m.u + m.padded_gated;
  add_scaled(phi, u, block, width);
  add_scaled_squares(phi, u, block + width, m.padded_gated);
  add_scaled(b, u, block + 2 * width, m.padded_gated);
  add_scaled_squares(phi, v, m.by_all, m.padded_shared);
  add_scaled(b, v, m.by_all + m.padded_shared, m.padded_shared);
}

template <class T>
void add_moments(const MomentTables& m, Matrix<const double> inputs, const Symbol* symbols, const T* b, const T* phi,
                 Index stride) {
  const Index rows_of_symbol = m.full ? m.gated_count + 1 : 3;
  const Index block = rows_of_symbol * (m.padded_gated + m.padded_shared);
  for (Index r = 0; r < inputs.rows; ++r) {
    const Symbol x = symbols == nullptr ? kNoSymbol : symbols[r];
    const double adjoint = static_cast<double>(b[r * stride]);
    const double modulus = phi == nullptr ? adjoint * adjoint : static_cast<double>(phi[r * stride]);
    const double* row = inputs.row(r);
    for (Index j = 0; j < m.gated_count; ++j) m.u[j] = x == kNoSymbol ? 0 : row[m.gated[j]];
    for (Index j = 0; j < m.shared_count; ++j) m.u[m.padded_gated + j] = row[m.shared[j]];
    double* const to = m.by_symbol + (x == kNoSymbol ? m.alphabet : x) * block;
    if (m.full)
      add_full(m, modulus, adjoint, to);
    else
      add_quasi_diagonal(m, modulus, adjoint, to);
  }
}

template <class T>
struct VarianceBody {
  Matrix<const T> w;
  const T* p;
  T* result;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    auto mean = hn::Zero(d), variance = hn::Zero(d);
    for (Index x = 0; x < w.rows; ++x) mean = Fma(d, hn::Set(d, p[x]), place.load(d, w.row(x) + i), mean);
    for (Index x = 0; x < w.rows; ++x) {
      const auto off = hn::Sub(place.load(d, w.row(x) + i), mean);
      variance = Fma(d, hn::Mul(hn::Set(d, p[x]), off), off, variance);
    }
    place.store(variance, d, result + i);
  }
};
template <class T>
void variances(Matrix<const T> p, Matrix<const T> w, Matrix<T> result) {
  for (Index r = 0; r < p.rows; ++r) for_each_vector<T>(w.cols, VarianceBody<T>{w, p.row(r), result.row(r)});
}

template <class T>
constexpr MomentOperations<T> kMomentOperations = {add_moments<T>, variances<T>};
const MomentOperations<float>* moment_operations_float() { return &kMomentOperations<float>; }
const MomentOperations<double>* moment_operations_double() { return &kMomentOperations<double>; }

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

HWY_EXPORT(moment_operations_float);
HWY_EXPORT(moment_operations_double);

template <class T>
const MomentOperations<T>& operations() {
  if constexpr (sizeof(T) == sizeof(float)) {
    return *HWY_DYNAMIC_DISPATCH(moment_operations_float)();
  } else {
    return *HWY_DYNAMIC_DISPATCH(moment_operations_double)();
  }
}

Index round_up(Index n) { return (n + 3) / 4 * 4; }

}  // namespace

UnitMoments::UnitMoments(std::vector<std::int32_t> gated, std::vector<std::int32_t> shared, Index alphabet, bool full)
    : gated_(std::move(gated)),
      shared_(std::move(shared)),
      alphabet_(alphabet),
      padded_gated_(round_up(this->gated())),
      padded_shared_(round_up(this->shared())),
      width_(padded_gated_ + padded_shared_),
      full_(full),
      by_symbol_((alphabet + 1) * symbol_block()),
      by_all_((full ? this->shared() + 1 : 2) * padded_shared_),
      u_(width_) {}

void UnitMoments::clear() {
  by_symbol_.fill_zero();
  by_all_.fill_zero();
}

template <class T>
void UnitMoments::add(Matrix<const double> inputs, const Symbol* symbols, const T* b, const T* phi, Index stride) {
  const MomentTables tables{.gated = gated_.data(),
                            .shared = shared_.data(),
                            .gated_count = gated(),
                            .shared_count = shared(),
                            .padded_gated = padded_gated_,
                            .padded_shared = padded_shared_,
                            .alphabet = alphabet_,
                            .full = full_,
                            .by_symbol = by_symbol_.data(),
                            .by_all = by_all_.data(),
                            .u = u_.data()};
  operations<T>().add(tables, inputs, symbols, b, phi, stride);
}

template <class T>
void column_variances(Matrix<const T> p, Matrix<const T> w, Matrix<T> result) {
  operations<T>().variances(p, w, result);
}

bool cholesky(double* a, Index n, Index stride) {
  for (Index j = 0; j < n; ++j) {
    double pivot = a[j * stride + j];
    for (Index k = 0; k < j; ++k) pivot -= a[j * stride + k] * a[j * stride + k];
    if (!(pivot > 0) || !std::isfinite(pivot)) return false;
    const double root = std::sqrt(pivot);
    a[j * stride + j] = root;
    for (Index i = j + 1; i < n; ++i) {
      double sum = a[i * stride + j];
      for (Index k = 0; k < j; ++k) sum -= a[i * stride + k] * a[j * stride + k];
      a[i * stride + j] = sum / root;
    }
  }
  return true;
}

void solve_lower(const double* l, Index n, Index stride, double* b) {
  for (Index i = 0; i < n; ++i) {
    double sum = b[i];
    for (Index k = 0; k < i; ++k) sum -= l[i * stride + k] * b[k];
    b[i] = sum / l[i * stride + i];
  }
}

void solve_upper(const double* l, Index n, Index stride, double* b) {
  for (Index i = n; i-- > 0;) {
    double sum = b[i];
    for (Index k = i + 1; k < n; ++k) sum -= l[k * stride + i] * b[k];
    b[i] = sum / l[i * stride + i];
  }
}

template void UnitMoments::add(Matrix<const double>, const Symbol*, const float*, const float*, Index);
template void UnitMoments::add(Matrix<const double>, const Symbol*, const double*, const double*, Index);
template void column_variances(Matrix<const float>, Matrix<const float>, Matrix<float>);
template void column_variances(Matrix<const double>, Matrix<const double>, Matrix<double>);

}  // namespace unfold
#endif
