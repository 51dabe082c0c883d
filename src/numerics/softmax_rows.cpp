#include "numerics/softmax_rows.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/softmax_rows.cpp"
#include "numerics/targets-inl.h"
// The list of targets must precede Highway's own headers.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "numerics/functions-inl.h"
#include "numerics/loops-inl.h"

#ifndef UNFOLD_NUMERICS_PREDICTION_ROWS_ONCE
#define UNFOLD_NUMERICS_PREDICTION_ROWS_ONCE
namespace unfold {

/// Kernels for one instruction set (a Highway target).
template <class T>
struct PredictionOperations {
  void (*errors)(Matrix<T>, const Symbol*, T*);
  void (*hessians)(Matrix<const T>, Matrix<T>);
  void (*variances)(Matrix<const T>, Matrix<const T>, Matrix<const T>, Matrix<T>);
};

}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

template <class T>
T largest_of_row(const T* x, Index n) {
  const hn::ScalableTag<T> d;
  const auto width = static_cast<Index>(hn::Lanes(d));
  T result = x[0];
  Index i = 0;
  if (n >= width) {
    auto largest = hn::LoadU(d, x);
    for (i = width; i + width <= n; i += width) largest = hn::Max(largest, hn::LoadU(d, x + i));
    result = hn::GetLane(hn::MaxOfLanes(d, largest));
  }
  for (; i < n; ++i) result = std::max(result, x[i]);
  return result;
}

/// Replaces x by exp(x - top); returns the sum.
template <class T>
struct ExpBody {
  T* x;
  T top;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V add(D d, V sum, Index i) const {
    const V e = exp_lanes(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, top)));
    hn::StoreU(e, d, x + i);
    return hn::Add(sum, e);
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V add_end(D d, V sum, Index i, size_t count) const {
    const V e = exp_lanes(d, hn::Sub(load_first(d, x + i, count), hn::Set(d, top)));
    store_first(e, d, x + i, count);
    return hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, count), e));
  }
};

template <class T>
struct TimesBody {
  T* x;
  T factor;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    place.store(hn::Mul(place.load(d, x + i), hn::Set(d, factor)), d, x + i);
  }
};

/// nats += log(totals)
template <class T>
struct AddLogBody {
  const T* totals;
  T* nats;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    place.store(hn::Add(place.load(d, nats + i), log_lanes(d, place.load(d, totals + i))), d, nats + i);
  }
};

template <class T>
void errors(Matrix<T> logits, const Symbol* targets, T* nats) {
  constexpr Index kRows = 64;  // their logarithms are computed together
  T totals[kRows];
  for (Index begin = 0; begin < logits.rows; begin += kRows) {
    const Index end = std::min(logits.rows, begin + kRows);
    for (Index r = begin; r < end; ++r) {
      T* x = logits.row(r);
      const T top = largest_of_row(x, logits.cols);
      nats[r] = top - x[targets[r]];
      const T total = totals[r - begin] = sum_in_lanes<T>(logits.cols, ExpBody<T>{x, top});
      for_each_vector<T>(logits.cols, TimesBody<T>{x, 1 / total});
      x[targets[r]] -= 1;
    }
    for_each_vector<T>(end - begin, AddLogBody<T>{totals, nats + begin});
  }
}

template <class T>
struct HessianBody {
  const T* errors;
  T* h;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const auto e = place.load(d, errors + i);
    place.store(hn::Mul(e, hn::Sub(hn::Set(d, T{1}), e)), d, h + i);
  }
};

template <class T>
void hessians(Matrix<const T> errors, Matrix<T> h) {
  for (Index r = 0; r < errors.rows; ++r) for_each_vector<T>(errors.cols, HessianBody<T>{errors.row(r), h.row(r)});
}

/// Number of rows that are summed in parallel, because each sum is a chain of dependent additions.
constexpr Index kSideBySide = 8;

template <class T, Index kRows>
struct VarianceBody {
  Matrix<const T> p, w, means;
  Matrix<T> result;
  Index row;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    hn::Vec<D> mean[kRows], sum[kRows];
    const T* probabilities[kRows];
#pragma GCC unroll 8
    for (Index r = 0; r < kRows; ++r) {
      mean[r] = place.load(d, means.row(row + r) + i);
      sum[r] = hn::Zero(d);
      probabilities[r] = p.row(row + r);
    }
    for (Index x = 0; x < w.rows; ++x) {
      const auto weight = place.load(d, w.row(x) + i);
#pragma GCC unroll 8
      for (Index r = 0; r < kRows; ++r) {
        const auto off = hn::Sub(weight, mean[r]);
        sum[r] = Fma(d, hn::Mul(hn::Set(d, probabilities[r][x]), off), off, sum[r]);
      }
    }
#pragma GCC unroll 8
    for (Index r = 0; r < kRows; ++r) place.store(sum[r], d, result.row(row + r) + i);
  }
};

template <class T>
void variances(Matrix<const T> p, Matrix<const T> w, Matrix<const T> means, Matrix<T> result) {
  Index r = 0;
  for (; r + kSideBySide <= p.rows; r += kSideBySide)
    for_each_vector<T>(w.cols, VarianceBody<T, kSideBySide>{p, w, means, result, r});
  for (; r < p.rows; ++r) for_each_vector<T>(w.cols, VarianceBody<T, 1>{p, w, means, result, r});
}

template <class T>
constexpr PredictionOperations<T> kPredictionOperations = {errors<T>, hessians<T>, variances<T>};
UNFOLD_TARGET_TABLE(PredictionOperations, kPredictionOperations);

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

UNFOLD_CHOOSE_TABLE(PredictionOperations, operations);

}  // namespace

template <class T>
void softmax_errors(Matrix<T> logits, const Symbol* targets, T* nats) {
  operations<T>().errors(logits, targets, nats);
}

template <class T>
void hessian_diagonals(Matrix<const T> errors, const Symbol* targets, Matrix<T> h) {
  operations<T>().hessians(errors, h);
  for (Index r = 0; r < errors.rows; ++r) {  // pi = 1 + d at the target, so pi (1 - pi) = -d (1 + d)
    const T d = errors(r, targets[r]);
    h(r, targets[r]) = -d * (1 + d);
  }
}

template <class T>
void column_variances(Matrix<const T> p, Matrix<const T> w, Matrix<const T> means, Matrix<T> result) {
  operations<T>().variances(p, w, means, result);
}

#define UNFOLD_INSTANTIATE(T)                                                 \
  template void softmax_errors(Matrix<T>, const Symbol*, T*);                 \
  template void hessian_diagonals(Matrix<const T>, const Symbol*, Matrix<T>); \
  template void column_variances(Matrix<const T>, Matrix<const T>, Matrix<const T>, Matrix<T>);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
#endif
