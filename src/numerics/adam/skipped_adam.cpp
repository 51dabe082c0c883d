#include "numerics/adam/skipped_adam.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/adam/skipped_adam.cpp"
#include "numerics/targets-inl.h"
// The list of targets must precede Highway's own headers.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "numerics/adam-inl.h"
#include "numerics/loops-inl.h"

#ifndef UNFOLD_NUMERICS_SKIPPED_ADAM_ONCE
#define UNFOLD_NUMERICS_SKIPPED_ADAM_ONCE
namespace unfold {

/// Kernels for one instruction set (a Highway target).
template <class T>
struct SkippedAdamOperations {
  void (*steps)(T*, T*, T*, Index, std::span<const AdamFactors<T>>);
  double (*squares)(const T*, std::span<const Range>);
};

}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

/// Several adjacent vectors, whose steps are independent of each other, hide the latency of one step.
constexpr int kTogether = 4;

template <class T, int kVectors>
struct SkippedSteps {
  T *p, *m, *v;
  std::span<const AdamFactors<T>> steps;

  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const Index width = static_cast<Index>(hn::Lanes(d));
    hn::Vec<D> parameters[kVectors], means[kVectors], squares[kVectors];
    auto rests = hn::Eq(hn::Zero(d), hn::Zero(d));
    const auto limit = hn::Set(d, std::numeric_limits<T>::infinity());
    for (int k = 0; k < kVectors; ++k) {
      const Index first = i + k * width;
      parameters[k] = place.load(d, p + first);
      means[k] = place.load(d, m + first);
      squares[k] = place.load(d, v + first);
      rests = hn::And(rests, hn::And(hn::And(hn::Eq(means[k], hn::Zero(d)), hn::Eq(squares[k], hn::Zero(d))),
                                     hn::Lt(hn::Abs(parameters[k]), limit)));
    }
    if (hn::AllTrue(d, rests) && steps.front().epsilon > 0) {
      if (!decay(d, parameters)) return;
    } else {
      for (const AdamFactors<T>& f : steps)
        for (int k = 0; k < kVectors; ++k) adam_update(d, hn::Zero(d), parameters[k], means[k], squares[k], f);
    }
    for (int k = 0; k < kVectors; ++k) {
      const Index first = i + k * width;
      place.store(parameters[k], d, p + first);
      place.store(means[k], d, m + first);
      place.store(squares[k], d, v + first);
    }
  }

  /// The steps of parameters whose moments are zero. Returns false if nothing changes.
  template <class D>
  HWY_INLINE bool decay(D d, hn::Vec<D> (&parameters)[kVectors]) const {
    if (steps.front().decay == 0) return false;
    for (const AdamFactors<T>& f : steps)
      for (int k = 0; k < kVectors; ++k) {
        const auto step = hn::Add(hn::Mul(hn::Set(d, f.decay), parameters[k]), hn::Zero(d));
        parameters[k] = NegFma(d, hn::Set(d, f.rate), step, parameters[k]);
      }
    return true;
  }
};

template <class T>
void skipped_steps(T* p, T* m, T* v, Index n, std::span<const AdamFactors<T>> steps) {
  const hn::ScalableTag<T> d;
  const Index together = kTogether * static_cast<Index>(hn::Lanes(d));
  const SkippedSteps<T, kTogether> several{p, m, v, steps};
  Index i = 0;
  for (; i + together <= n; i += together) several.at(d, i, Whole{});
  for_each_vector<T>(n - i, SkippedSteps<T, 1>{p + i, m + i, v + i, steps});
}

/// Adds the elements in the order of sum_in_lanes; elements outside the ranges would add zero.
template <class T>
double squares_within(const T* x, std::span<const Range> ranges) {
  const hn::CappedTag<double, kVirtualLanes> d;
  constexpr Index kWidth = static_cast<Index>(hn::MaxLanes(hn::CappedTag<double, kVirtualLanes>()));
  constexpr Index kVectors = kVirtualLanes / kWidth;
  hn::Vec<decltype(d)> sums[kVectors];
  for (Index v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
  const DotBody<T> body{x, x};
  for (const Range r : ranges) {
    Index i = r.begin;
    for (; i + kVirtualLanes <= r.end; i += kVirtualLanes)
      for (Index v = 0; v < kVectors; ++v) sums[v] = body.add(d, sums[v], i + v * kWidth);
    for (Index v = 0; v < kVectors && i + v * kWidth < r.end; ++v) {
      const Index first = i + v * kWidth;
      const Index count = r.end - first < kWidth ? r.end - first : kWidth;
      sums[v] = body.add_end(d, sums[v], first, static_cast<size_t>(count));
    }
  }
  return sum_of_lanes(d, sums);
}

template <class T>
constexpr SkippedAdamOperations<T> kSkippedAdamOperations = {skipped_steps<T>, squares_within<T>};
UNFOLD_TARGET_TABLE(SkippedAdamOperations, kSkippedAdamOperations);

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

UNFOLD_CHOOSE_TABLE(SkippedAdamOperations, skipped_adam_operations);

}  // namespace

template <class T>
void skipped_adam_steps(std::span<T> p, std::span<T> m, std::span<T> v, std::span<const AdamFactors<T>> steps) {
  if (steps.empty()) return;
  skipped_adam_operations<T>().steps(p.data(), m.data(), v.data(), static_cast<Index>(p.size()), steps);
}

template <class T>
double sum_of_squares_within(std::span<const T> x, std::span<const Range> ranges) {
  return skipped_adam_operations<T>().squares(x.data(), ranges);
}

#define UNFOLD_INSTANTIATE(T)                                                                                     \
  template void skipped_adam_steps<T>(std::span<T>, std::span<T>, std::span<T>, std::span<const AdamFactors<T>>); \
  template double sum_of_squares_within<T>(std::span<const T>, std::span<const Range>);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
#endif  // HWY_ONCE
