// Internal: loops over contiguous arrays for every target (whole vectors, then one partial vector computed by the same
// operations), and sums in kVirtualLanes lanes that do not depend on the vector width. See targets-inl.h for the order
// of inclusion.

#ifndef UNFOLD_NUMERICS_VIRTUAL_LANES
#define UNFOLD_NUMERICS_VIRTUAL_LANES
namespace unfold {
/// Lane j of a sum adds the elements j, j + 16, j + 32, ...; the lanes are then added in a fixed tree.
inline constexpr int kVirtualLanes = 16;
}  // namespace unfold
#endif

#if defined(UNFOLD_NUMERICS_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNFOLD_NUMERICS_LOOPS_INL_H_
#undef UNFOLD_NUMERICS_LOOPS_INL_H_
#else
#define UNFOLD_NUMERICS_LOOPS_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "numerics/fma-inl.h"
#include "unfold/base/types.h"

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Masked loads and stores of these targets never access memory outside the mask.
#define UNFOLD_SAFE_MASKS (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)

/// Loads the first `count` lanes and sets the others to zero; reads nothing beyond them.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_first(D d, const T* from, size_t count) {
#if UNFOLD_SAFE_MASKS
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#else
  HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)] = {};
  for (size_t i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
#endif
}

/// Stores the first `count` lanes and does not touch the memory after them.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_first(hn::Vec<D> v, D d, T* to, size_t count) {
#if UNFOLD_SAFE_MASKS
  hn::BlendedStore(v, hn::FirstN(d, count), d, to);
#else
  HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(v, d, lanes);
  for (size_t i = 0; i < count; ++i) to[i] = lanes[i];
#endif
}

/// Select which lanes of a vector are in the array: all lanes, or the first `count`.
struct Whole {
  template <class D, class T>
  HWY_INLINE hn::Vec<D> load(D d, const T* from) const {
    return hn::LoadU(d, from);
  }
  template <class D, class T>
  HWY_INLINE void store(hn::Vec<D> v, D d, T* to) const {
    hn::StoreU(v, d, to);
  }
};
struct First {
  size_t count;
  template <class D, class T>
  HWY_INLINE hn::Vec<D> load(D d, const T* from) const {
    return load_first(d, from, count);
  }
  template <class D, class T>
  HWY_INLINE void store(hn::Vec<D> v, D d, T* to) const {
    store_first(v, d, to, count);
  }
};

/// Calls body.at(d, i, place) for every vector of the n elements; i is the index of its first element.
template <class T, class Body>
HWY_INLINE void for_each_vector(Index n, const Body& body) {
  const hn::ScalableTag<T> d;
  const Index width = static_cast<Index>(hn::Lanes(d));
  Index i = 0;
  for (; i + width <= n; i += width) body.at(d, i, Whole{});
  if (i < n) body.at(d, i, First{static_cast<size_t>(n - i)});
}

/// Returns ((l0+l8)+(l4+l12)) + ..., adding halves repeatedly.
template <class D, class V>
HWY_INLINE hn::TFromD<D> add_halves(D, V v) {
#if HWY_TARGET != HWY_SCALAR  // HWY_SCALAR vectors have no halves
  if constexpr (hn::MaxLanes(D()) > 1) {
    const hn::Half<D> half;
    return add_halves(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
#endif
  return hn::GetLane(v);
}

/// Returns the sum of the virtual lanes; overwrites `sums`.
template <class D, class V, size_t kVectors>
HWY_INLINE hn::TFromD<D> sum_of_lanes(D d, V (&sums)[kVectors]) {
  for (size_t width = kVectors / 2; width > 0; width /= 2)
    for (size_t v = 0; v < width; ++v) sums[v] = hn::Add(sums[v], sums[v + width]);
  return add_halves(d, sums[0]);
}

/// Sums n elements in virtual lanes of type T, in groups of 16. body.add(d, sum, first) returns `sum` plus the terms of
/// the elements from `first` on; body.add_end does the same for a vector with only `count` elements.
template <class T, class Body>
HWY_INLINE T sum_in_lanes(Index n, const Body& body) {
  const hn::CappedTag<T, kVirtualLanes> d;
  constexpr Index kWidth = static_cast<Index>(hn::MaxLanes(hn::CappedTag<T, kVirtualLanes>()));
  constexpr Index kVectors = kVirtualLanes / kWidth;
  hn::Vec<decltype(d)> sums[kVectors];
  for (Index v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
  Index i = 0;
  for (; i + kVirtualLanes <= n; i += kVirtualLanes) {
    for (Index v = 0; v < kVectors; ++v) sums[v] = body.add(d, sums[v], i + v * kWidth);
  }
  for (Index v = 0; v < kVectors && i + v * kWidth < n; ++v) {
    const Index first = i + v * kWidth;
    const Index count = n - first < kWidth ? n - first : kWidth;
    sums[v] = body.add_end(d, sums[v], first, static_cast<size_t>(count));
  }
  return sum_of_lanes(d, sums);
}

/// Loads float or double elements as doubles.
template <class D>
HWY_INLINE hn::Vec<D> load_double(D d, const double* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> load_double(D d, const float* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), from));
}
/// Loads the first `count` elements as doubles; the other lanes are zero.
template <class D>
HWY_INLINE hn::Vec<D> load_double_first(D d, const double* from, size_t count) {
  return load_first(d, from, count);
}
template <class D>
HWY_INLINE hn::Vec<D> load_double_first(D d, const float* from, size_t count) {
  return hn::PromoteTo(d, load_first(hn::Rebind<float, D>(), from, count));
}

/// Sums in lanes of double. Float elements are promoted first, so their products are exact.
template <class T>
struct SumBody {
  const T* x;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V add(D d, V sum, Index i) const {
    return hn::Add(sum, load_double(d, x + i));
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V add_end(D d, V sum, Index i, size_t count) const {
    return hn::Add(sum, load_double_first(d, x + i, count));
  }
};
template <class T>
struct DotBody {
  const T *x, *y;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V add(D d, V sum, Index i) const {
    return Fma(d, load_double(d, x + i), load_double(d, y + i), sum);
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V add_end(D d, V sum, Index i, size_t count) const {
    return Fma(d, load_double_first(d, x + i, count), load_double_first(d, y + i, count), sum);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#endif  // include guard
