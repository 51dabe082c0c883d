#include "numerics/functions.h"

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/functions.cpp"
#include "numerics/targets-inl.h"
// The list of targets must precede Highway's own headers.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "numerics/functions-inl.h"
#include "numerics/loops-inl.h"

#ifndef UNFOLD_NUMERICS_FUNCTIONS_ONCE
#define UNFOLD_NUMERICS_FUNCTIONS_ONCE
namespace unfold {
/// Kernels for one instruction set (a Highway target).
template <class T>
struct Functions {
  void (*exp)(const T*, T*, Index);
  void (*log)(const T*, T*, Index);
  void (*tanh)(const T*, T*, Index);
  void (*sigmoid)(const T*, T*, Index);
  void (*softplus)(const T*, T*, Index);
  T (*log_sum_exp)(const T*, Index);
  void (*log_softmax)(const T*, T*, Index);
  void (*softmax)(const T*, T*, Index);
};
}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

#define UNFOLD_FUNCTION(name)                                       \
  template <class T>                                                \
  struct name##_body {                                              \
    const T* x;                                                     \
    T* y;                                                           \
    template <class D, class Place>                                 \
    HWY_INLINE void at(D d, Index i, Place place) const {           \
      place.store(name##_lanes(d, place.load(d, x + i)), d, y + i); \
    }                                                               \
  };                                                                \
  template <class T>                                                \
  void name##_array(const T* x, T* y, Index n) {                    \
    for_each_vector<T>(n, name##_body<T>{x, y});                    \
  }
UNFOLD_FUNCTION(exp)
UNFOLD_FUNCTION(log)
UNFOLD_FUNCTION(tanh)
UNFOLD_FUNCTION(sigmoid)
UNFOLD_FUNCTION(softplus)
#undef UNFOLD_FUNCTION

template <class T>
HWY_INLINE T log_of(T x) {
  log_array(&x, &x, 1);
  return x;
}

/// Returns the largest element that is not NaN; minus infinity if there is none.
template <class T>
struct LargestBody {
  const T* x;
  hn::Vec<hn::ScalableTag<T>>* largest;
  template <class V>
  HWY_INLINE void take(V v) const {
    *largest = hn::IfThenElse(hn::Gt(v, *largest), v, *largest);
  }
  template <class D>
  HWY_INLINE void at(D d, Index i, Whole) const {
    take(hn::LoadU(d, x + i));
  }
  template <class D>
  HWY_INLINE void at(D d, Index i, First end) const {
    take(hn::IfThenElse(hn::FirstN(d, end.count), end.load(d, x + i), *largest));
  }
};

template <class T>
T largest_of(const T* x, Index n) {
  const hn::ScalableTag<T> d;
  auto largest = hn::Set(d, -std::numeric_limits<T>::infinity());
  for_each_vector<T>(n, LargestBody<T>{x, &largest});
  HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(largest, d, lanes);
  T result = lanes[0];
  for (size_t i = 1; i < hn::Lanes(d); ++i) {
    if (lanes[i] > result) result = lanes[i];
  }
  return result;
}

/// Sums the terms exp(x - shift); if kStore, stores each term in y.
template <class T, bool kStore>
struct ExpSumBody {
  const T* x;
  T* y;
  T shift;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V add(D d, V sum, Index i) const {
    const V e = exp_lanes(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, shift)));
    if constexpr (kStore) hn::StoreU(e, d, y + i);
    return hn::Add(sum, e);
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V add_end(D d, V sum, Index i, size_t count) const {
    const V e = exp_lanes(d, hn::Sub(load_first(d, x + i, count), hn::Set(d, shift)));
    if constexpr (kStore) store_first(e, d, y + i, count);
    return hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, count), e));
  }
};

template <class T>
HWY_INLINE T exp_sum(const T* x, T shift, Index n) {
  return sum_in_lanes<T>(n, ExpSumBody<T, false>{x, nullptr, shift});
}

template <class T>
T log_sum_exp_array(const T* x, Index n) {
  const T top = largest_of(x, n);
  if (!std::isinf(top)) return top + log_of(exp_sum(x, top, n));
  for (Index i = 0; i < n; ++i) {
    if (std::isnan(x[i])) return x[i];
  }
  return top;
}

/// y = (x - shift) - offset: rounded twice, but exact for x near the largest element.
template <class T>
struct ShiftBody {
  const T* x;
  T* y;
  T shift, offset;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const auto shifted = hn::Sub(place.load(d, x + i), hn::Set(d, shift));
    place.store(hn::Sub(shifted, hn::Set(d, offset)), d, y + i);
  }
};

template <class T>
void log_softmax_array(const T* x, T* y, Index n) {
  const T top = largest_of(x, n);
  const T offset = log_of(exp_sum(x, top, n));
  for_each_vector<T>(n, ShiftBody<T>{x, y, top, offset});
}

template <class T>
struct MultiplyBody {
  T* y;
  T factor;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    place.store(hn::Mul(place.load(d, y + i), hn::Set(d, factor)), d, y + i);
  }
};

template <class T>
void softmax_array(const T* x, T* y, Index n) {
  const T total = sum_in_lanes<T>(n, ExpSumBody<T, true>{x, y, largest_of(x, n)});
  for_each_vector<T>(n, MultiplyBody<T>{y, 1 / total});
}

template <class T>
constexpr Functions<T> kFunctions = {exp_array<T>,      log_array<T>,         tanh_array<T>,        sigmoid_array<T>,
                                     softplus_array<T>, log_sum_exp_array<T>, log_softmax_array<T>, softmax_array<T>};
UNFOLD_TARGET_TABLE(Functions, kFunctions);

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

UNFOLD_CHOOSE_TABLE(Functions, functions);

}  // namespace

template <class T>
void vector_exp(const T* x, T* y, Index n) {
  functions<T>().exp(x, y, n);
}

template <class T>
void vector_log(const T* x, T* y, Index n) {
  functions<T>().log(x, y, n);
}

template <class T>
void vector_tanh(const T* x, T* y, Index n) {
  functions<T>().tanh(x, y, n);
}

template <class T>
void vector_sigmoid(const T* x, T* y, Index n) {
  functions<T>().sigmoid(x, y, n);
}

template <class T>
void vector_softplus(const T* x, T* y, Index n) {
  functions<T>().softplus(x, y, n);
}

template <class T>
T log_sum_exp(const T* x, Index n) {
  return functions<T>().log_sum_exp(x, n);
}

template <class T>
void log_softmax(const T* x, T* y, Index n) {
  functions<T>().log_softmax(x, y, n);
}

template <class T>
void softmax(const T* x, T* y, Index n) {
  functions<T>().softmax(x, y, n);
}

#define UNFOLD_INSTANTIATE(T)                            \
  template void vector_exp<T>(const T*, T*, Index);      \
  template void vector_log<T>(const T*, T*, Index);      \
  template void vector_tanh<T>(const T*, T*, Index);     \
  template void vector_sigmoid<T>(const T*, T*, Index);  \
  template void vector_softplus<T>(const T*, T*, Index); \
  template T log_sum_exp<T>(const T*, Index);            \
  template void log_softmax<T>(const T*, T*, Index);     \
  template void softmax<T>(const T*, T*, Index);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
#endif  // HWY_ONCE
