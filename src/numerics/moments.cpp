#include "numerics/moments.h"

#include <algorithm>
#include <cmath>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/moments.cpp"
#include "numerics/targets-inl.h"
// The list of targets must precede Highway's own headers.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "numerics/fma-inl.h"
#include "numerics/loops-inl.h"

#ifndef UNFOLD_NUMERICS_MOMENTS_ONCE
#define UNFOLD_NUMERICS_MOMENTS_ONCE
namespace unfold {

/// Properties of one unit that the kernels need.
struct MomentTables {
  const std::int32_t *gated, *shared;
  Index gated_count, shared_count, padded_gated, padded_shared, alphabet;
  bool full;
  double *by_symbol, *by_all, *u;
};

template <class T>
struct MomentOperations {
  void (*add)(const MomentTables&, Matrix<const double>, const Symbol*, const T*, const T*, Index);
  void (*add_sorted)(const T* const*, Index, bool, std::span<const SymbolRange>, const T*, const T*, double*, Index);
};

}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

constexpr Index kPad = 4;
HWY_INLINE Index padded(Index n) { return (n + kPad - 1) / kPad * kPad; }

/// to += q * u for n elements, a multiple of kPad.
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

// ------------------------------------------------------------------------------------- positions sorted by symbol

/// lanes[c][l] += the sum of q u v[c] over the slots begin + l, begin + l + kMomentLanes, ...; if u is null, of q v[c].
template <class T, int kCount>
HWY_INLINE void add_products(const T* q, const T* u, const T* const* v, Index begin, Index end, double* lanes) {
  const hn::CappedTag<double, kMomentLanes> d;
  for (Index part = 0; part < kMomentLanes; part += static_cast<Index>(hn::Lanes(d))) {
    hn::Vec<decltype(d)> sums[kCount];
#pragma GCC unroll 4
    for (int c = 0; c < kCount; ++c) sums[c] = hn::LoadU(d, lanes + c * kMomentLanes + part);
    for (Index i = begin + part; i < end; i += kMomentLanes) {
      auto factor = load_double(d, q + i);
      if (u != nullptr) factor = hn::Mul(factor, load_double(d, u + i));
#pragma GCC unroll 4
      for (int c = 0; c < kCount; ++c) sums[c] = Fma(d, factor, load_double(d, v[c] + i), sums[c]);
    }
#pragma GCC unroll 4
    for (int c = 0; c < kCount; ++c) hn::StoreU(sums[c], d, lanes + c * kMomentLanes + part);
  }
}

template <class T>
HWY_INLINE void add_products(const T* q, const T* u, const T* const* v, Index count, Index begin, Index end,
                             double* lanes) {
  for (; count > 0; count -= 4, v += 4, lanes += 4 * kMomentLanes) {
    switch (count) {
      case 1: add_products<T, 1>(q, u, v, begin, end, lanes); break;
      case 2: add_products<T, 2>(q, u, v, begin, end, lanes); break;
      case 3: add_products<T, 3>(q, u, v, begin, end, lanes); break;
      default: add_products<T, 4>(q, u, v, begin, end, lanes);
    }
  }
}

template <class T>
void add_sorted(const T* const* u, Index count, bool full, std::span<const SymbolRange> runs, const T* b, const T* phi,
                double* lanes, Index block) {
  for (const SymbolRange& run : runs) {
    double* to = lanes + run.symbol * block;
    for (Index j = 0; full && j < count; to += ++j * kMomentLanes)
      add_products(phi, u[j], u, j + 1, run.begin, run.end, to);
    if (!full) {
      add_products<T>(phi, nullptr, u, count, run.begin, run.end, to);
      to += count * kMomentLanes;
      for (Index j = 0; j < count; ++j, to += kMomentLanes) add_products(phi, u[j], u + j, 1, run.begin, run.end, to);
    }
    add_products<T>(b, nullptr, u, count, run.begin, run.end, to);
  }
}

template <class T>
constexpr MomentOperations<T> kMomentOperations = {add_moments<T>, add_sorted<T>};
UNFOLD_TARGET_TABLE(MomentOperations, kMomentOperations);

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

UNFOLD_CHOOSE_TABLE(MomentOperations, operations);

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
LaneMoments<T>::LaneMoments(const UnitMoments& moments)
    : columns_(moments.gated_),
      full_(moments.full_),
      lanes_((moments.alphabet() + 1) * block()),
      seen_(static_cast<std::size_t>(moments.alphabet())) {}

template <class T>
void LaneMoments<T>::add(Matrix<const T> columns, std::span<const SymbolRange> runs, const T* b, const T* phi) {
  inputs_.clear();
  for (const std::int32_t c : columns_) inputs_.push_back(columns.row(c));
  for (const SymbolRange& run : runs) seen_[static_cast<std::size_t>(run.symbol)] = 1;
  operations<T>().add_sorted(inputs_.data(), static_cast<Index>(inputs_.size()), full_, runs, b, phi, lanes_.data(),
                             block());
}

template <class T>
void LaneMoments<T>::move_to(UnitMoments& moments) {
  const auto count = static_cast<Index>(columns_.size());
  for (Index x = 0; x < moments.alphabet(); ++x) {
    if (!seen_[static_cast<std::size_t>(x)]) continue;
    seen_[static_cast<std::size_t>(x)] = 0;
    double* lanes = lanes_.data() + x * block();
    const auto add_row = [&](Index row, Index numbers) {
      for (Index j = 0; j < numbers; ++j, lanes += kMomentLanes) {
        double sum = 0;
        for (Index l = 0; l < kMomentLanes; ++l) sum += std::exchange(lanes[l], 0.0);
        moments.by_symbol_[x * moments.symbol_block() + row * moments.width_ + j] += sum;
      }
    };
    for (Index row = 0; row + 1 < moments.symbol_rows(); ++row) add_row(row, full_ ? row + 1 : count);
    add_row(moments.symbol_rows() - 1, count);
  }
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
template class LaneMoments<float>;
template class LaneMoments<double>;

}  // namespace unfold
#endif
