#include "numerics/hmm/hmm_rows.h"

#include <algorithm>
#include <cassert>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/hmm/hmm_rows.cpp"
#include "numerics/targets-inl.h"
// The list of targets must precede Highway's own headers.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "numerics/functions-inl.h"
#include "numerics/loops-inl.h"

#ifndef UNFOLD_NUMERICS_STATE_ROWS_ONCE
#define UNFOLD_NUMERICS_STATE_ROWS_ONCE
namespace unfold {

/// Kernels for one instruction set (a Highway target).
struct StateRowOperations {
  decltype(forward_symbols)* forward;
  decltype(look_back)* backward;
  decltype(viterbi_step)* best;
};

template <class T>
struct ScoreRowOperations {
  decltype(forward_scores<T>)* forward;
  decltype(backward_scores<T>)* backward;
};

}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

struct ProductSumBody {
  const double *f, *b;
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V add(D d, V sum, Index i) const {
    return hn::Add(sum, hn::Mul(hn::LoadU(d, f + i), hn::LoadU(d, b + i)));
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V add_end(D d, V sum, Index i, size_t count) const {
    return hn::Add(sum, hn::Mul(load_first(d, f + i, count), load_first(d, b + i, count)));
  }
};

/// Recomputes the product, which is cheaper than storing and loading it.
struct ScaledProductRowBody {
  const double *f, *b;
  double* g;
  double factor;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    place.store(hn::Mul(hn::Mul(place.load(d, f + i), place.load(d, b + i)), hn::Set(d, factor)), d, g + i);
  }
};

void see_rows(Matrix<const double> f, Matrix<const double> b, const Symbol* symbols, double least, Matrix<double> g,
              double* c) {
  const Index n = b.cols;
  for (Index m = 0; m < f.rows; ++m) {
    double* const to = g.row(m);
    c[m] = 1;
    if (symbols[m] == kNoSymbol) {
      std::fill_n(to, n, 0.0);
      continue;
    }
    const double* const x = b.row(symbols[m]);
    const double sum = sum_in_lanes<double>(n, ProductSumBody{f.row(m), x});
    c[m] = sum >= least ? sum : 0;
    if (c[m] > 0)
      for_each_vector<double>(n, ScaledProductRowBody{f.row(m), x, to, 1 / sum});
    else if (to != f.row(m))
      std::copy_n(f.row(m), n, to);
  }
}

struct LookBackBody {
  const double *beta, *g, *b;
  double factor;
  double *counts, *w;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const auto later = place.load(d, beta + i);
    const auto expected = hn::Mul(place.load(d, g + i), later);
    place.store(hn::Add(place.load(d, counts + i), expected), d, counts + i);
    place.store(hn::Mul(hn::Mul(place.load(d, b + i), later), hn::Set(d, factor)), d, w + i);
  }
};

void look_back_rows(Matrix<const double> beta, Matrix<const double> g, Matrix<const double> b, const Symbol* symbols,
                    const double* c, Matrix<double> counts, Matrix<double> w) {
  const Index n = b.cols;
  for (Index m = 0; m < g.rows; ++m) {
    const Symbol x = symbols[m];
    if (x == kNoSymbol)
      std::fill_n(w.row(m), n, 0.0);
    else if (c[m] > 0)
      for_each_vector<double>(n, LookBackBody{beta.row(m), g.row(m), b.row(x), 1 / c[m], counts.row(x), w.row(m)});
    else
      std::copy_n(beta.row(m), n, w.row(m));
  }
}

/// Processes one vector of targets at a time with all origins in ascending order; ties keep the first origin.
struct BestOriginsBody {
  const double* best;
  Matrix<const double> a;
  double *next, *from;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index j, Place place) const {
    auto most = hn::Add(hn::Set(d, best[0]), place.load(d, a.row(0) + j));
    auto origin = hn::Zero(d);
    for (Index i = 1; i < a.rows; ++i) {
      const auto way = hn::Add(hn::Set(d, best[i]), place.load(d, a.row(i) + j));
      const auto better = hn::Gt(way, most);
      most = hn::IfThenElse(better, way, most);
      origin = hn::IfThenElse(better, hn::Set(d, static_cast<double>(i)), origin);
    }
    place.store(most, d, next + j);
    place.store(origin, d, from + j);
  }
};

void best_origins_row(const double* best, Matrix<const double> a, double* next, double* from) {
  for_each_vector<double>(a.cols, BestOriginsBody{best, a, next, from});
}

/// Loads the first `count` elements as doubles; the other lanes are `otherwise`.
template <class D, class T>
HWY_INLINE hn::Vec<D> first_doubles(D d, const T* from, Index count, hn::Vec<D> otherwise) {
  if (count >= static_cast<Index>(hn::Lanes(d))) return load_double(d, from);
  const auto some = static_cast<size_t>(std::max<Index>(count, 0));
  hn::Vec<D> v;
  if constexpr (sizeof(T) == sizeof(double)) {
    v = load_first(d, from, some);
  } else {
    v = hn::PromoteTo(d, load_first(hn::Rebind<T, D>(), from, some));
  }
  return hn::IfThenElse(hn::FirstN(d, some), v, otherwise);
}

using Eight = hn::CappedTag<double, 8>;
inline constexpr Index kEight = static_cast<Index>(hn::MaxLanes(Eight()));

template <class T>
HWY_INLINE double largest_of_row(const T* x, Index n) {
  const hn::CappedTag<T, 8> d;
  constexpr Index kWidth = static_cast<Index>(hn::MaxLanes(hn::CappedTag<T, 8>()));
  const auto first = hn::Set(d, x[0]);
  auto most = first;
  Index i = 0;
  for (; i + kWidth <= n; i += kWidth) most = hn::Max(most, hn::LoadU(d, x + i));
  if (i < n) {
    const auto some = static_cast<size_t>(n - i);
    most = hn::Max(most, hn::IfThenElse(hn::FirstN(d, some), load_first(d, x + i, some), first));
  }
  return static_cast<double>(hn::GetLane(hn::MaxOfLanes(d, most)));
}

/// Sets y = x - the largest element of the row, and 0 beyond x. Returns the minimum of `least` and y in each lane.
template <class T>
HWY_INLINE hn::Vec<Eight> row_below_largest(const T* x, Index n, double* y, Index stride, hn::Vec<Eight> least) {
  const Eight d;
  const auto most = hn::Set(d, largest_of_row(x, n));
  const auto put = [&](hn::Vec<Eight> v, Index i) HWY_ATTR {
    const auto below = hn::Sub(v, most);
    least = hn::Min(least, below);
    hn::StoreU(below, d, y + i);
  };
  Index i = 0;
  for (; i + kEight <= n; i += kEight) put(load_double(d, x + i), i);
  if (i < n) put(first_doubles(d, x + i, n - i, most), i), i += kEight;
  for (; i < stride; i += kEight) hn::StoreU(hn::Zero(d), d, y + i);
  return least;
}

/// Applies row_below_largest to all rows; rows that do not fit are set to 0.
template <class T>
void rows_below_largest(Matrix<const T> x, double spread, Matrix<double> y, char* fits) {
  const Eight d;
  auto least = hn::Zero(d);
  for (Index m = 0; m < x.rows; ++m) least = row_below_largest(x.row(m), x.cols, y.row(m), y.cols, least);
  std::fill_n(fits, x.rows, 1);
  if (hn::AllTrue(d, hn::Ge(least, hn::Set(d, -spread)))) return;
  for (Index m = 0; m < x.rows; ++m) {
    double* const row = y.row(m);
    if (std::all_of(row, row + y.cols, [&](double below) { return below >= -spread; })) continue;
    fits[m] = 0;
    std::fill_n(row, y.cols, 0.0);
  }
}

/// Returns exp of numbers from -700 to 0, or NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_of_moderate(D d, V x) {
  const auto e = reduce_exp(d, x);
  return scale_by_power(d, hn::Add(hn::Set(d, hn::TFromD<D>{1}), e.q), e.n);
}

/// Like sum_in_lanes, for the sum of f e; n is a multiple of 8.
HWY_INLINE double sum_of_products(const double* f, const double* e, Index n) {
  const Eight d;
  constexpr Index kSums = kVirtualLanes / kEight;
  hn::Vec<Eight> sums[kSums];
  for (Index v = 0; v < kSums; ++v) sums[v] = hn::Zero(d);
  const auto add = [&](Index v, Index i)
                       HWY_ATTR { sums[v] = hn::Add(sums[v], hn::Mul(hn::LoadU(d, f + i), hn::LoadU(d, e + i))); };
  Index i = 0;
  for (; i + kVirtualLanes <= n; i += kVirtualLanes)
    for (Index v = 0; v < kSums; ++v) add(v, i + v * kEight);
  if (i < n)
    for (Index v = 0; v < kSums / 2; ++v) add(v, i + v * kEight);
  for (Index width = kSums / 2; width > 0; width /= 2)
    for (Index v = 0; v < width; ++v) sums[v] = hn::Add(sums[v], sums[v + width]);
  return add_halves(d, sums[0]);
}

/// Works in short passes over all rows, because operations within a row depend on each other and the processor overlaps
/// several rows in a short pass.
template <class T>
void see_score_rows(Matrix<const double> f, Matrix<const T> x, double spread, Matrix<double> e, Matrix<double> g,
                    double* c, char* fits) {
  const Eight d;
  const Index n = e.cols;
  rows_below_largest(x, spread, e, fits);
  for (Index m = 0; m < x.rows; ++m) {
    double* const row = e.row(m);
    for (Index i = 0; i < n; i += kEight) hn::StoreU(exp_of_moderate(d, hn::LoadU(d, row + i)), d, row + i);
  }
  for (Index m = 0; m < x.rows; ++m) {
    const double sum = sum_of_products(f.row(m), e.row(m), n);
    c[m] = sum > 0 ? 1 / sum : 0;
  }
  for (Index m = 0; m < x.rows; ++m) {
    const double *const before = f.row(m), *const seen = e.row(m);
    double* const row = g.row(m);
    const auto factor = hn::Set(d, c[m]);
    for (Index i = 0; i < n; i += kEight) {
      const auto product = hn::Mul(hn::LoadU(d, before + i), hn::LoadU(d, seen + i));
      hn::StoreU(hn::Mul(product, factor), d, row + i);
    }
  }
}

struct WeighBackBody {
  const double* beta;
  double* e;
  double c;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const auto weighed = hn::Mul(place.load(d, e + i), place.load(d, beta + i));
    place.store(hn::Mul(weighed, hn::Set(d, c)), d, e + i);
  }
};

template <class T>
struct ExpectedBody {
  const double *alpha, *beta;
  double factor;
  T* y;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const auto v = hn::Mul(hn::Set(d, factor), hn::Mul(place.load(d, alpha + i), place.load(d, beta + i)));
    if constexpr (sizeof(T) == sizeof(double)) {
      place.store(v, d, y + i);
    } else {
      const hn::Rebind<T, D> narrow;
      place.store(hn::DemoteTo(narrow, v), narrow, y + i);
    }
  }
};

template <class T>
void look_back_at_score_rows(Matrix<const double> alpha, Matrix<const double> beta, const double* c, double factor,
                             Matrix<double> e, Matrix<T> y) {
  for (Index m = 0; m < e.rows; ++m) for_each_vector<double>(e.cols, WeighBackBody{beta.row(m), e.row(m), c[m]});
  for (Index m = 0; m < y.rows; ++m)
    for_each_vector<double>(y.cols, ExpectedBody<T>{alpha.row(m), beta.row(m), factor, y.row(m)});
}

template <class T>
constexpr ScoreRowOperations<T> kScoreRowOperations = {see_score_rows<T>, look_back_at_score_rows<T>};
UNFOLD_TARGET_TABLE(ScoreRowOperations, kScoreRowOperations);

constexpr StateRowOperations kStateRowOperations = {see_rows, look_back_rows, best_origins_row};
const StateRowOperations* StateRowTable() { return &kStateRowOperations; }

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

HWY_EXPORT(StateRowTable);
const StateRowOperations& state_rows() { return *HWY_DYNAMIC_DISPATCH(StateRowTable)(); }
UNFOLD_CHOOSE_TABLE(ScoreRowOperations, score_rows);

}  // namespace

void forward_symbols(Matrix<const double> f, Matrix<const double> b, const Symbol* symbols, double least,
                     Matrix<double> g, double* c) {
  state_rows().forward(f, b, symbols, least, g, c);
}

void look_back(Matrix<const double> beta, Matrix<const double> g, Matrix<const double> b, const Symbol* symbols,
               const double* c, Matrix<double> counts, Matrix<double> w) {
  state_rows().backward(beta, g, b, symbols, c, counts, w);
}

template <class T>
void forward_scores(Matrix<const double> f, Matrix<const T> x, double spread, Matrix<double> e, Matrix<double> g,
                    double* c, char* fits) {
  assert(x.cols > 0 && x.cols <= e.cols && e.cols % 8 == 0);
  score_rows<T>().forward(f, x, spread, e, g, c, fits);
}

template <class T>
void backward_scores(Matrix<const double> alpha, Matrix<const double> beta, const double* c, double factor,
                     Matrix<double> e, Matrix<T> y) {
  score_rows<T>().backward(alpha, beta, c, factor, e, y);
}
#define UNFOLD_INSTANTIATE(T)                                                                                          \
  template void forward_scores(Matrix<const double>, Matrix<const T>, double, Matrix<double>, Matrix<double>, double*, \
                               char*);                                                                                 \
  template void backward_scores(Matrix<const double>, Matrix<const double>, const double*, double, Matrix<double>,     \
                                Matrix<T>);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

void viterbi_step(const double* best, Matrix<const double> a, double* next, double* from) {
  assert(a.rows > 0);
  state_rows().best(best, a, next, from);
}

}  // namespace unfold
#endif  // HWY_ONCE
