#include "unfold/numerics/vector.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/vector.cpp"
#include "numerics/targets-inl.h"
// The list of targets must precede Highway's own headers.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "numerics/adam-inl.h"
#include "numerics/fma-inl.h"
#include "numerics/loops-inl.h"

#ifndef UNFOLD_NUMERICS_VECTOR_ONCE
#define UNFOLD_NUMERICS_VECTOR_ONCE
namespace unfold {

/// The settings of an optimizer step, reduced to the factors of its formula in the element type.
template <class T>
struct MomentumFactors {
  T gradient_scale, decay, momentum, rate;
  bool nesterov;
};

template <class T>
struct RmsPropFactors {
  T gradient_scale, decay, rho, rest, epsilon, rate;
};

/// Kernels for one instruction set (a Highway target).
template <class T>
struct VectorOperations {
  double (*sum)(const T*, Index);            // for at most kSumChunk elements
  double (*dot)(const T*, const T*, Index);  // for at most kSumChunk elements
  T (*largest_magnitude)(const T*, Index);   // ignores NaN
  bool (*all_below)(const T*, Index, T);     // whether all magnitudes are below the limit; false if any element is NaN
  void (*axpy)(T, const T*, T*, Index);
  void (*scale)(T, T*, Index);
  void (*interpolate)(T, T, const T*, T*, Index);
  void (*adam)(T*, const T*, T*, T*, Index, const AdamFactors<T>&);
  void (*lazy_adam)(T*, const T*, T*, T*, Index, const AdamFactors<T>&);
  void (*momentum)(T*, const T*, T*, Index, const MomentumFactors<T>&);
  void (*rmsprop)(T*, const T*, T*, Index, const RmsPropFactors<T>&);
};

}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

template <class T>
double sum_chunk(const T* x, Index n) {
  return sum_in_lanes<double>(n, SumBody<T>{x});
}

template <class T>
double dot_chunk(const T* x, const T* y, Index n) {
  return sum_in_lanes<double>(n, DotBody<T>{x, y});
}

template <class T>
struct MagnitudeBody {
  const T* x;
  hn::Vec<hn::ScalableTag<T>>* largest;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const auto magnitude = hn::Abs(place.load(d, x + i));
    *largest = hn::IfThenElse(hn::Gt(magnitude, *largest), magnitude, *largest);
  }
};

template <class T>
T largest_magnitude_of(const T* x, Index n) {
  const hn::ScalableTag<T> d;
  auto largest = hn::Zero(d);
  for_each_vector<T>(n, MagnitudeBody<T>{x, &largest});
  HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(largest, d, lanes);
  return *std::max_element(lanes, lanes + hn::Lanes(d));
}

template <class T>
struct BelowBody {
  const T* x;
  T bound;
  hn::Mask<hn::ScalableTag<T>>* all;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    *all = hn::And(*all, hn::Lt(hn::Abs(place.load(d, x + i)), hn::Set(d, bound)));
  }
};

template <class T>
bool all_below(const T* x, Index n, T bound) {
  const hn::ScalableTag<T> d;
  auto all = hn::Eq(hn::Zero(d), hn::Zero(d));
  for_each_vector<T>(n, BelowBody<T>{x, bound, &all});
  return hn::AllTrue(d, all);
}

template <class T>
struct AxpyBody {
  T a;
  const T* x;
  T* y;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    place.store(Fma(d, hn::Set(d, a), place.load(d, x + i), place.load(d, y + i)), d, y + i);
  }
};

template <class T>
void axpy_array(T a, const T* x, T* y, Index n) {
  for_each_vector<T>(n, AxpyBody<T>{a, x, y});
}

template <class T>
struct ScaleBody {
  T a;
  T* x;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    place.store(hn::Mul(hn::Set(d, a), place.load(d, x + i)), d, x + i);
  }
};

template <class T>
void scale_array(T a, T* x, Index n) {
  for_each_vector<T>(n, ScaleBody<T>{a, x});
}

template <class T>
struct InterpolateBody {
  T a, rest;
  const T* x;
  T* y;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const auto other = hn::Mul(hn::Set(d, rest), place.load(d, x + i));
    place.store(Fma(d, hn::Set(d, a), place.load(d, y + i), other), d, y + i);
  }
};

template <class T>
void interpolate_array(T a, T rest, const T* x, T* y, Index n) {
  for_each_vector<T>(n, InterpolateBody<T>{a, rest, x, y});
}

template <class T>
struct AdamBody {
  T* p;
  const T* g;
  T *m, *v;
  const AdamFactors<T>& f;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    auto parameters = place.load(d, p + i), mean = place.load(d, m + i), square = place.load(d, v + i);
    adam_update(d, place.load(d, g + i), parameters, mean, square, f);
    place.store(mean, d, m + i);
    place.store(square, d, v + i);
    place.store(parameters, d, p + i);
  }
};

template <class T>
void adam_array(T* p, const T* g, T* m, T* v, Index n, const AdamFactors<T>& f) {
  for_each_vector<T>(n, AdamBody<T>{p, g, m, v, f});
}

/// Like AdamBody where g is not zero; vectors that are all zero take only one read.
template <class T>
struct LazyAdamBody {
  T* p;
  const T* g;
  T *m, *v;
  const AdamFactors<T>& f;
  /// Store access for the inner body that keeps the old values where the gradient is zero.
  template <class Mask, class Place>
  struct Kept {
    Mask still;
    Place place;
    template <class D, class P>
    HWY_INLINE auto load(D d, P* from) const {
      return place.load(d, from);
    }
    template <class V, class D, class P>
    HWY_INLINE void store(V x, D d, P* to) const {
      place.store(hn::IfThenElse(still, place.load(d, to), x), d, to);
    }
  };
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const auto still = hn::Eq(place.load(d, g + i), hn::Zero(d));
    if (hn::AllTrue(d, still)) return;
    AdamBody<T>{p, g, m, v, f}.at(d, i, Kept<decltype(still), Place>{still, place});
  }
};

template <class T>
void lazy_adam_array(T* p, const T* g, T* m, T* v, Index n, const AdamFactors<T>& f) {
  for_each_vector<T>(n, LazyAdamBody<T>{p, g, m, v, f});
}

/// Returns gradient_scale * g + decay * p.
template <class D, class Place, class T, class Factors>
HWY_INLINE hn::Vec<D> decayed_gradient(D d, Place place, const T* g, hn::Vec<D> p, const Factors& f) {
  return Fma(d, hn::Set(d, f.decay), p, hn::Mul(hn::Set(d, f.gradient_scale), place.load(d, g)));
}

template <class T>
struct MomentumBody {
  T* p;
  const T* g;
  T* velocity;
  const MomentumFactors<T>& f;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const auto old = place.load(d, p + i);
    const auto momentum = hn::Set(d, f.momentum);
    const auto gradient = decayed_gradient(d, place, g + i, old, f);
    const auto speed = Fma(d, momentum, place.load(d, velocity + i), gradient);
    place.store(speed, d, velocity + i);
    const auto step = f.nesterov ? Fma(d, momentum, speed, gradient) : speed;
    place.store(NegFma(d, hn::Set(d, f.rate), step, old), d, p + i);
  }
};

template <class T>
void momentum_array(T* p, const T* g, T* velocity, Index n, const MomentumFactors<T>& f) {
  for_each_vector<T>(n, MomentumBody<T>{p, g, velocity, f});
}

template <class T>
struct RmsPropBody {
  T* p;
  const T* g;
  T* v;
  const RmsPropFactors<T>& f;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const auto old = place.load(d, p + i);
    const auto gradient = decayed_gradient(d, place, g + i, old, f);
    const auto fresh = hn::Mul(hn::Set(d, f.rest), hn::Mul(gradient, gradient));
    const auto power = Fma(d, hn::Set(d, f.rho), place.load(d, v + i), fresh);
    place.store(power, d, v + i);
    const auto step = hn::Div(gradient, hn::Add(hn::Sqrt(power), hn::Set(d, f.epsilon)));
    place.store(NegFma(d, hn::Set(d, f.rate), step, old), d, p + i);
  }
};

template <class T>
void rmsprop_array(T* p, const T* g, T* v, Index n, const RmsPropFactors<T>& f) {
  for_each_vector<T>(n, RmsPropBody<T>{p, g, v, f});
}

template <class T>
constexpr VectorOperations<T> kVectorOperations = {
    sum_chunk<T>,         dot_chunk<T>,  largest_magnitude_of<T>, all_below<T>,      axpy_array<T>,   scale_array<T>,
    interpolate_array<T>, adam_array<T>, lazy_adam_array<T>,      momentum_array<T>, rmsprop_array<T>};
UNFOLD_TARGET_TABLE(VectorOperations, kVectorOperations);

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

UNFOLD_CHOOSE_TABLE(VectorOperations, operations);

template <class T>
Index size_of(std::span<T> x) {
  return static_cast<Index>(x.size());
}

/// Sums chunk(begin, count) over the chunks of n elements, in order.
template <class Chunk>
double sum_of_chunks(Index n, Chunk chunk) {
  double total = 0;
  for (Index i = 0; i < n; i += kSumChunk) total += chunk(i, std::min(kSumChunk, n - i));
  return total;
}

}  // namespace

template <class T>
double sum(std::span<const T> x) {
  const auto& table = operations<T>();
  return sum_of_chunks(size_of(x), [&](Index i, Index count) { return table.sum(x.data() + i, count); });
}

template <class T>
double dot(std::span<const T> x, std::span<const T> y) {
  const auto& table = operations<T>();
  return sum_of_chunks(size_of(x), [&](Index i, Index count) { return table.dot(x.data() + i, y.data() + i, count); });
}

template <class T>
double sum_of_squares(std::span<const T> x) {
  return dot(x, x);
}

template <class T>
T largest_magnitude(std::span<const T> x) {
  const T largest = operations<T>().largest_magnitude(x.data(), size_of(x));
  if (std::isfinite(largest) && all_finite(x)) return largest;
  return std::any_of(x.begin(), x.end(), [](T v) { return std::isnan(v); }) ? std::numeric_limits<T>::quiet_NaN()
                                                                            : largest;
}

template <class T>
bool all_finite(std::span<const T> x) {
  return operations<T>().all_below(x.data(), size_of(x), std::numeric_limits<T>::infinity());
}

template <class T>
void axpy(T a, std::span<const T> x, std::span<T> y) {
  operations<T>().axpy(a, x.data(), y.data(), size_of(x));
}

template <class T>
void scale(T a, std::span<T> x) {
  operations<T>().scale(a, x.data(), size_of(x));
}

template <class T>
void interpolate(T a, std::span<const T> x, std::span<T> y) {
  operations<T>().interpolate(a, T{1} - a, x.data(), y.data(), size_of(x));
}

template <class T>
void adam_step(std::span<T> p, std::span<const T> g, std::span<T> m, std::span<T> v, const AdamStep& step) {
  const auto update = step.lazy ? operations<T>().lazy_adam : operations<T>().adam;
  update(p.data(), g.data(), m.data(), v.data(), size_of(p), AdamFactors<T>::of(step));
}

template <class T>
void momentum_step(std::span<T> p, std::span<const T> g, std::span<T> velocity, const MomentumStep& step) {
  const MomentumFactors<T> factors = {.gradient_scale = static_cast<T>(step.gradient_scale),
                                      .decay = static_cast<T>(step.decay),
                                      .momentum = static_cast<T>(step.momentum),
                                      .rate = static_cast<T>(step.rate),
                                      .nesterov = step.nesterov};
  operations<T>().momentum(p.data(), g.data(), velocity.data(), size_of(p), factors);
}

template <class T>
void rmsprop_step(std::span<T> p, std::span<const T> g, std::span<T> v, const RmsPropStep& step) {
  const RmsPropFactors<T> factors = {.gradient_scale = static_cast<T>(step.gradient_scale),
                                     .decay = static_cast<T>(step.decay),
                                     .rho = static_cast<T>(step.rho),
                                     .rest = static_cast<T>(1 - step.rho),
                                     .epsilon = static_cast<T>(step.epsilon),
                                     .rate = static_cast<T>(step.rate)};
  operations<T>().rmsprop(p.data(), g.data(), v.data(), size_of(p), factors);
}

#define UNFOLD_INSTANTIATE(T)                                                                                \
  template double sum<T>(std::span<const T>);                                                                \
  template double dot<T>(std::span<const T>, std::span<const T>);                                            \
  template double sum_of_squares<T>(std::span<const T>);                                                     \
  template T largest_magnitude<T>(std::span<const T>);                                                       \
  template bool all_finite<T>(std::span<const T>);                                                           \
  template void axpy<T>(T, std::span<const T>, std::span<T>);                                                \
  template void scale<T>(T, std::span<T>);                                                                   \
  template void interpolate<T>(T, std::span<const T>, std::span<T>);                                         \
  template void adam_step<T>(std::span<T>, std::span<const T>, std::span<T>, std::span<T>, const AdamStep&); \
  template void momentum_step<T>(std::span<T>, std::span<const T>, std::span<T>, const MomentumStep&);       \
  template void rmsprop_step<T>(std::span<T>, std::span<const T>, std::span<T>, const RmsPropStep&);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
#endif  // HWY_ONCE
