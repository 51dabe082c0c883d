#include "unfold/numerics/state_rows.h"

#include <algorithm>
#include <cassert>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unfold/numerics/state_rows.cpp"
#include "unfold/numerics/targets-inl.h"
// The targets before Highway's own headers.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "unfold/numerics/functions-inl.h"
#include "unfold/numerics/loops-inl.h"

#ifndef UNFOLD_NUMERICS_STATE_ROWS_ONCE
#define UNFOLD_NUMERICS_STATE_ROWS_ONCE
namespace unfold {

/// What a target provides.
struct StateRowOperations {
  decltype(see_symbols)* forward;
  decltype(look_back)* backward;
  decltype(best_origins)* best;
  decltype(weigh_back)* weigh;
};
template <class T>
struct ScoreRowOperations {
  decltype(exp_below_largest<T>)* exp;
  decltype(scaled_products<T>)* products;
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
/// Multiplies anew: a product is cheaper than a number that is stored and read again.
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

/// A vector of targets at a time, all origins for it in ascending order: the first of equals stays.
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

/// The first `count` numbers as doubles; the others are `otherwise`.
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

template <class T>
HWY_INLINE bool exp_row(const T* x, Index n, double spread, double* y, Index stride) {
  const hn::CappedTag<double, 8> d;
  const auto width = static_cast<Index>(hn::Lanes(d));
  const Index whole = n / width * width;
  const auto first = hn::Set(d, static_cast<double>(x[0]));
  auto most = first, least = first;
  auto no_number = hn::IsNaN(first);
  const auto see = [&](auto v) HWY_ATTR {
    most = hn::Max(most, v);
    least = hn::Min(least, v);
    no_number = hn::Or(no_number, hn::IsNaN(v));
  };
  for (Index i = 0; i < whole; i += width) see(load_double(d, x + i));
  if (whole < n) see(first_doubles(d, x + whole, n - whole, first));
  most = hn::MaxOfLanes(d, most);
  const double extent =
      hn::GetLane(hn::Sub(most, hn::MinOfLanes(d, least)));  // above any spread, or no number, where one is infinite
  const bool fits = extent <= spread && hn::AllFalse(d, no_number);
  if (!fits) {
    std::fill_n(y, stride, 1.0);
    return false;
  }
  for (Index i = 0; i < whole; i += width) hn::StoreU(exp_lanes(d, hn::Sub(load_double(d, x + i), most)), d, y + i);
  if (whole < n) {
    hn::StoreU(exp_lanes(d, hn::Sub(first_doubles(d, x + whole, n - whole, most), most)), d, y + whole);
  }
  std::fill(y + std::min(stride, whole + (whole < n ? width : 0)), y + stride, 1.0);
  return true;
}
template <class T>
void exp_rows(Matrix<const T> x, double spread, Matrix<double> y, char* fits) {
  for (Index m = 0; m < x.rows; ++m) fits[m] = exp_row(x.row(m), x.cols, spread, y.row(m), y.cols) ? 1 : 0;
}

template <class T>
struct ScaledProductBody {
  const double *a, *b;
  T* y;
  double factor;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    const auto v = hn::Mul(hn::Set(d, factor), hn::Mul(place.load(d, a + i), place.load(d, b + i)));
    if constexpr (sizeof(T) == sizeof(double)) {
      place.store(v, d, y + i);
    } else {
      const hn::Rebind<T, D> narrow;
      place.store(hn::DemoteTo(narrow, v), narrow, y + i);
    }
  }
};
template <class T>
void product_rows(Matrix<const double> a, Matrix<const double> b, double factor, Matrix<T> y) {
  for (Index m = 0; m < a.rows; ++m)
    for_each_vector<double>(a.cols, ScaledProductBody<T>{a.row(m), b.row(m), y.row(m), factor});
}

struct WeighBackBody {
  const double *beta, *b;
  double factor;
  double* w;
  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    place.store(hn::Mul(hn::Mul(place.load(d, b + i), place.load(d, beta + i)), hn::Set(d, factor)), d, w + i);
  }
};
void weigh_back_rows(Matrix<const double> beta, Matrix<const double> b, const double* c, Matrix<double> w) {
  for (Index m = 0; m < b.rows; ++m) {
    if (c[m] > 0)
      for_each_vector<double>(b.cols, WeighBackBody{beta.row(m), b.row(m), 1 / c[m], w.row(m)});
    else
      std::copy_n(beta.row(m), b.cols, w.row(m));
  }
}

template <class T>
constexpr ScoreRowOperations<T> kScoreRowOperations = {exp_rows<T>, product_rows<T>};
UNFOLD_TARGET_TABLE(ScoreRowOperations, kScoreRowOperations);

constexpr StateRowOperations kStateRowOperations = {see_rows, look_back_rows, best_origins_row, weigh_back_rows};
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

void see_symbols(Matrix<const double> f, Matrix<const double> b, const Symbol* symbols, double least, Matrix<double> g,
                 double* c) {
  state_rows().forward(f, b, symbols, least, g, c);
}

void look_back(Matrix<const double> beta, Matrix<const double> g, Matrix<const double> b, const Symbol* symbols,
               const double* c, Matrix<double> counts, Matrix<double> w) {
  state_rows().backward(beta, g, b, symbols, c, counts, w);
}

template <class T>
void exp_below_largest(Matrix<const T> x, double spread, Matrix<double> y, char* fits) {
  assert(x.cols > 0 && x.cols <= y.cols && y.cols % 8 == 0);
  score_rows<T>().exp(x, spread, y, fits);
}
template <class T>
void scaled_products(Matrix<const double> a, Matrix<const double> b, double factor, Matrix<T> y) {
  score_rows<T>().products(a, b, factor, y);
}
template void exp_below_largest(Matrix<const float>, double, Matrix<double>, char*);
template void exp_below_largest(Matrix<const double>, double, Matrix<double>, char*);
template void scaled_products(Matrix<const double>, Matrix<const double>, double, Matrix<float>);
template void scaled_products(Matrix<const double>, Matrix<const double>, double, Matrix<double>);

void weigh_back(Matrix<const double> beta, Matrix<const double> b, const double* c, Matrix<double> w) {
  state_rows().weigh(beta, b, c, w);
}

void best_origins(const double* best, Matrix<const double> a, double* next, double* from) {
  assert(a.rows > 0);
  state_rows().best(best, a, next, from);
}

}  // namespace unfold
#endif  // HWY_ONCE
