#include "numerics/softmax_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

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
  void (*normalizers)(Matrix<const T>, const Symbol*, T*);
  void (*gradients)(Matrix<const T>, const Symbol*, const T*, T, Matrix<T>);
  void (*hessians)(Matrix<const T>, Matrix<T>);
  void (*variances)(Matrix<const T>, Matrix<const T>, const Symbol*, Matrix<const T>, Matrix<T>);
};

}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

/// Rows are processed in blocks, one operation at a time: the reductions of neighboring rows then overlap, the
/// logarithms of a block are computed together, and no row is read while its stores are still pending. A block of
/// several rows stays in the first-level cache.
constexpr Index kRowBlock = 16;
HWY_INLINE Index rows_of_block(Index cols) { return std::clamp<Index>(4096 / std::max<Index>(1, cols), 1, kRowBlock); }

/// Returns the largest element that is not NaN; minus infinity if there is none.
template <class T>
HWY_INLINE T largest_of_row(const T* x, Index n) {
  const hn::ScalableTag<T> d;
  const auto width = static_cast<Index>(hn::Lanes(d));
  auto largest = hn::Set(d, -std::numeric_limits<T>::infinity());
  Index i = 0;
  for (; i + width <= n; i += width) {
    const auto v = hn::LoadU(d, x + i);
    largest = hn::IfThenElse(hn::Gt(v, largest), v, largest);
  }
  if (i < n) {
    const auto count = static_cast<size_t>(n - i);
    const auto v = hn::IfThenElse(hn::FirstN(d, count), load_first(d, x + i, count), largest);
    largest = hn::IfThenElse(hn::Gt(v, largest), v, largest);
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

/// Returns the sum of exp(x - top); if kStore, replaces x by the terms.
template <class T, bool kStore>
struct RowExpBody {
  std::conditional_t<kStore, T, const T>* x;
  T top;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V add(D d, V sum, Index i) const {
    const V e = exp_lanes(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, top)));
    if constexpr (kStore) hn::StoreU(e, d, x + i);
    return hn::Add(sum, e);
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V add_end(D d, V sum, Index i, size_t count) const {
    const V e = exp_lanes(d, hn::Sub(load_first(d, x + i, count), hn::Set(d, top)));
    if constexpr (kStore) store_first(e, d, x + i, count);
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

/// sums += log(totals)
template <class T>
struct AddLogBody {
  const T* totals;
  T* sums;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    place.store(hn::Add(place.load(d, sums + i), log_lanes(d, place.load(d, totals + i))), d, sums + i);
  }
};

template <class T>
void errors(Matrix<T> logits, const Symbol* targets, T* nats) {
  T tops[kRowBlock], totals[kRowBlock];
  const Index block = rows_of_block(logits.cols);
  for (Index begin = 0; begin < logits.rows; begin += block) {
    const Index rows = std::min(block, logits.rows - begin);
    for (Index r = 0; r < rows; ++r) {
      const T* x = logits.row(begin + r);
      tops[r] = largest_of_row(x, logits.cols);
      nats[begin + r] = tops[r] - x[targets[begin + r]];
    }
    for (Index r = 0; r < rows; ++r)
      totals[r] = sum_in_lanes<T>(logits.cols, RowExpBody<T, true>{logits.row(begin + r), tops[r]});
    for (Index r = 0; r < rows; ++r) {
      T* x = logits.row(begin + r);
      for_each_vector<T>(logits.cols, TimesBody<T>{x, 1 / totals[r]});
      x[targets[begin + r]] -= 1;
    }
    for_each_vector<T>(rows, AddLogBody<T>{totals, nats + begin});
  }
}

template <class T>
void normalizers(Matrix<const T> x, const Symbol* targets, T* result) {
  T totals[kRowBlock];
  const Index block = rows_of_block(x.cols);
  for (Index begin = 0; begin < x.rows; begin += block) {
    const Index rows = std::min(block, x.rows - begin);
    T* const tops = result + begin;
    for (Index r = 0; r < rows; ++r)
      tops[r] = targets[begin + r] == kNoSymbol ? T{0} : largest_of_row(x.row(begin + r), x.cols);
    for (Index r = 0; r < rows; ++r)
      totals[r] = targets[begin + r] == kNoSymbol
                      ? T{1}
                      : sum_in_lanes<T>(x.cols, RowExpBody<T, false>{x.row(begin + r), tops[r]});
    for (Index r = 0; r < rows; ++r) {
      if (!std::isinf(tops[r])) continue;
      totals[r] = 1;  // the result is infinite, or NaN if an element is NaN
      const T* const row = x.row(begin + r);
      const T* const nan = std::find_if(row, row + x.cols, [](T v) { return std::isnan(v); });
      if (nan != row + x.cols) tops[r] = *nan;
    }
    for_each_vector<T>(rows, AddLogBody<T>{totals, tops});
  }
}

/// y = scale exp(x - normalizer)
template <class T>
struct ScaledExpBody {
  const T* x;
  T* y;
  T normalizer, scale;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const auto p = exp_lanes(d, hn::Sub(place.load(d, x + i), hn::Set(d, normalizer)));
    place.store(hn::Mul(p, hn::Set(d, scale)), d, y + i);
  }
};

template <class T>
struct ExpInPlaceBody {
  T* x;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    place.store(exp_lanes(d, place.load(d, x + i)), d, x + i);
  }
};

template <class T>
void gradients(Matrix<const T> x, const Symbol* targets, const T* normalizers, T scale, Matrix<T> result) {
  T at_targets[kRowBlock];
  const Index block = rows_of_block(x.cols);
  for (Index begin = 0; begin < x.rows; begin += block) {
    const Index rows = std::min(block, x.rows - begin);
    for (Index r = 0; r < rows; ++r) {
      const Symbol target = targets[begin + r];
      at_targets[r] = target == kNoSymbol ? T{0} : x(begin + r, target) - normalizers[begin + r];
    }
    for (Index r = 0; r < rows; ++r) {
      T* y = result.row(begin + r);
      if (targets[begin + r] == kNoSymbol)
        std::fill_n(y, x.cols, T{0});
      else
        for_each_vector<T>(x.cols, ScaledExpBody<T>{x.row(begin + r), y, normalizers[begin + r], scale});
    }
    for_each_vector<T>(rows, ExpInPlaceBody<T>{at_targets});
    for (Index r = 0; r < rows; ++r)
      if (targets[begin + r] != kNoSymbol) result(begin + r, targets[begin + r]) = scale * (at_targets[r] - 1);
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
  Matrix<const T> p, w;
  const Symbol* targets;
  Matrix<const T> means;
  Matrix<T> result;
  Index row;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    hn::Vec<D> mean[kRows], sum[kRows];
    const T* probabilities[kRows];
#pragma GCC unroll 8
    for (Index r = 0; r < kRows; ++r) {
      mean[r] = hn::Add(place.load(d, means.row(row + r) + i), place.load(d, w.row(targets[row + r]) + i));
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
void variances(Matrix<const T> p, Matrix<const T> w, const Symbol* targets, Matrix<const T> means, Matrix<T> result) {
  Index r = 0;
  for (; r + kSideBySide <= p.rows; r += kSideBySide)
    for_each_vector<T>(w.cols, VarianceBody<T, kSideBySide>{p, w, targets, means, result, r});
  for (; r < p.rows; ++r) for_each_vector<T>(w.cols, VarianceBody<T, 1>{p, w, targets, means, result, r});
}

template <class T>
constexpr PredictionOperations<T> kPredictionOperations = {errors<T>, normalizers<T>, gradients<T>, hessians<T>,
                                                           variances<T>};
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
void log_normalizers(Matrix<const T> logits, const Symbol* targets, T* result) {
  operations<T>().normalizers(logits, targets, result);
}

template <class T>
void softmax_gradients(Matrix<const T> logits, const Symbol* targets, const T* normalizers, T scale, Matrix<T> result) {
  operations<T>().gradients(logits, targets, normalizers, scale, result);
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
void column_variances(Matrix<const T> p, Matrix<const T> w, const Symbol* targets, Matrix<const T> means,
                      Matrix<T> result) {
  operations<T>().variances(p, w, targets, means, result);
}

#define UNFOLD_INSTANTIATE(T)                                                              \
  template void softmax_errors(Matrix<T>, const Symbol*, T*);                              \
  template void log_normalizers(Matrix<const T>, const Symbol*, T*);                       \
  template void softmax_gradients(Matrix<const T>, const Symbol*, const T*, T, Matrix<T>); \
  template void hessian_diagonals(Matrix<const T>, const Symbol*, Matrix<T>);              \
  template void column_variances(Matrix<const T>, Matrix<const T>, const Symbol*, Matrix<const T>, Matrix<T>);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
#endif
