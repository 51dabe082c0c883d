// Performance bound: the fused multiply-adds. row_products promotes floats to double, whose vectors have half as many
// lanes. add_scaled_rows loads one element per multiply-add; row_products does the same, but loads one element of h for
// several multiply-adds.

#include "numerics/row_sums.h"

#include "unfold/numerics/vector.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/row_sums.cpp"
#include "numerics/targets-inl.h"
// The list of targets must precede Highway's own headers.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "numerics/fma-inl.h"
#include "numerics/functions-inl.h"
#include "numerics/loops-inl.h"

#ifndef UNFOLD_NUMERICS_ROW_SUMS_ONCE
#define UNFOLD_NUMERICS_ROW_SUMS_ONCE
namespace unfold {

template <class T>
struct RowSumOperations {
  void (*products)(const T* rows, Index count, const T* h, Index n, T* out);  // n at most kSumChunk
  void (*add_scaled_rows)(const T* a, const T* const* rows, Index count, T* y, Index n);
  void (*add_row_and_sigmoid)(T a, const T* row, T* y, T* out, Index n);
  void (*add_sigmoid_slopes)(const T* h, T* v, T* y, T a, T* sum, Index n);
};

}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

/// Computes sum_in_lanes of the products of kRows rows with h, promoting each element of h once.
template <int kRows, class T>
HWY_INLINE void products_of_rows(const T* rows, const T* h, Index n, T* out) {
  const hn::CappedTag<double, kVirtualLanes> d;
  constexpr Index kWidth = static_cast<Index>(hn::MaxLanes(hn::CappedTag<double, kVirtualLanes>()));
  constexpr Index kVectors = kVirtualLanes / kWidth;
  hn::Vec<decltype(d)> sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (Index v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  Index i = 0;
  for (; i + kVirtualLanes <= n; i += kVirtualLanes)
    for (Index v = 0; v < kVectors; ++v) {
      const auto x = load_double(d, h + i + v * kWidth);
      for (int r = 0; r < kRows; ++r) sums[r][v] = Fma(d, load_double(d, rows + r * n + i + v * kWidth), x, sums[r][v]);
    }
  for (Index v = 0; v < kVectors && i + v * kWidth < n; ++v) {
    const Index first = i + v * kWidth;
    const auto count = static_cast<size_t>(n - first < kWidth ? n - first : kWidth);
    const auto x = load_double_first(d, h + first, count);
    for (int r = 0; r < kRows; ++r)
      sums[r][v] = Fma(d, load_double_first(d, rows + r * n + first, count), x, sums[r][v]);
  }
  for (int r = 0; r < kRows; ++r) out[r] = static_cast<T>(sum_of_lanes(d, sums[r]));
}

template <class T>
void row_products(const T* rows, Index count, const T* h, Index n, T* out) {
  // Number of concurrent sums: enough to hide the latency of an addition, and few enough for the registers.
  constexpr int kAtOnce = static_cast<int>(hn::MaxLanes(hn::CappedTag<double, kVirtualLanes>())) / 2;
  Index j = 0;
  if constexpr (kAtOnce > 1)
    for (; j + kAtOnce <= count; j += kAtOnce) products_of_rows<kAtOnce>(rows + j * n, h, n, out + j);
  for (; j < count; ++j) products_of_rows<1>(rows + j * n, h, n, out + j);
}

/// Adds the scaled rows to kVectors vectors of y from element i on, which stay in registers.
template <int kVectors, class T>
HWY_INLINE void add_strip(const T* a, const T* const* rows, Index count, T* y, Index i) {
  const hn::ScalableTag<T> d;
  const auto width = static_cast<Index>(hn::Lanes(d));
  hn::Vec<decltype(d)> sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::LoadU(d, y + i + v * width);
  for (Index r = 0; r < count; ++r) {
    const auto factor = hn::Set(d, a[r]);
    const T* row = rows[r] + i;
    for (int v = 0; v < kVectors; ++v) sums[v] = Fma(d, factor, hn::LoadU(d, row + v * width), sums[v]);
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, y + i + v * width);
}

template <class T>
void add_scaled_rows(const T* a, const T* const* rows, Index count, T* y, Index n) {
  const hn::ScalableTag<T> d;
  const auto width = static_cast<Index>(hn::Lanes(d));
  Index i = 0;
  for (; i + 8 * width <= n; i += 8 * width) add_strip<8>(a, rows, count, y, i);
  for (; i + 4 * width <= n; i += 4 * width) add_strip<4>(a, rows, count, y, i);
  for (; i + width <= n; i += width) add_strip<1>(a, rows, count, y, i);
  if (i == n) return;
  const auto rest = static_cast<size_t>(n - i);
  auto sum = load_first(d, y + i, rest);
  for (Index r = 0; r < count; ++r) sum = Fma(d, hn::Set(d, a[r]), load_first(d, rows[r] + i, rest), sum);
  store_first(sum, d, y + i, rest);
}

template <class T>
struct RowAndSigmoidBody {
  T a;
  const T* row;
  T *y, *out;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const auto sum = Fma(d, hn::Set(d, a), place.load(d, row + i), place.load(d, y + i));
    place.store(sum, d, y + i);
    place.store(sigmoid_lanes(d, sum), d, out + i);
  }
};

template <class T>
void add_row_and_sigmoid(T a, const T* row, T* y, T* out, Index n) {
  for_each_vector<T>(n, RowAndSigmoidBody<T>{a, row, y, out});
}

template <class T>
struct SigmoidSlopesBody {
  const T* h;
  T *v, *y;
  T a;
  T* sum;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const auto s = place.load(d, h + i);
    const auto slope = hn::Mul(s, hn::Sub(hn::Set(d, T{1}), s));
    const auto back = hn::Add(place.load(d, y + i), hn::Mul(slope, place.load(d, v + i)));
    place.store(back, d, y + i);
    place.store(Fma(d, hn::Set(d, a), back, place.load(d, sum + i)), d, sum + i);
    place.store(hn::Zero(d), d, v + i);
  }
};

template <class T>
void add_sigmoid_slopes(const T* h, T* v, T* y, T a, T* sum, Index n) {
  for_each_vector<T>(n, SigmoidSlopesBody<T>{h, v, y, a, sum});
}

template <class T>
constexpr RowSumOperations<T> kRowSumOperations = {row_products<T>, add_scaled_rows<T>, add_row_and_sigmoid<T>,
                                                   add_sigmoid_slopes<T>};
UNFOLD_TARGET_TABLE(RowSumOperations, kRowSumOperations);

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

UNFOLD_CHOOSE_TABLE(RowSumOperations, operations);

}  // namespace

template <class T>
void row_products(const T* rows, Index count, const T* h, Index n, T* out) {
  if (n <= kSumChunk) return operations<T>().products(rows, count, h, n, out);
  const auto size = static_cast<std::size_t>(n);
  for (Index j = 0; j < count; ++j) out[j] = static_cast<T>(dot<T>({rows + j * n, size}, {h, size}));
}

template <class T>
void add_scaled_rows(const T* a, const T* const* rows, Index count, T* y, Index n) {
  operations<T>().add_scaled_rows(a, rows, count, y, n);
}

template <class T>
void add_row_and_sigmoid(T a, const T* row, T* y, T* out, Index n) {
  operations<T>().add_row_and_sigmoid(a, row, y, out, n);
}

template <class T>
void add_sigmoid_slopes(const T* h, T* v, T* y, T a, T* sum, Index n) {
  operations<T>().add_sigmoid_slopes(h, v, y, a, sum, n);
}

#define UNFOLD_INSTANTIATE(T)                                                 \
  template void row_products(const T*, Index, const T*, Index, T*);           \
  template void add_scaled_rows(const T*, const T* const*, Index, T*, Index); \
  template void add_row_and_sigmoid(T, const T*, T*, T*, Index);              \
  template void add_sigmoid_slopes(const T*, T*, T*, T, T*, Index);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
#endif  // HWY_ONCE
