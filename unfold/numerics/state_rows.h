#pragma once
/// Rows of states of several hidden Markov chains side by side (classical/hmm.h), between the products over states.
/// Every number of a row depends on that row alone, so neither the number of chains nor the vector width changes a bit;
/// sums of a row run in the virtual lanes of all sums.

#include "unfold/base/views.h"

namespace unfold {

/// Each chain sees its symbol x: g = f * b[x], c = sum of g, and g /= c. Where c < `least`, no state can emit x: g = f
/// and c = 0. A row whose symbol is kNoSymbol rests: g = 0, c = 1. Rows of f, g and b are `b.cols` long.
void see_symbols(Matrix<const double> f, Matrix<const double> b, const Symbol* symbols, double least, Matrix<double> g,
                 double* c);

/// The way back: counts[x] += g * beta where c > 0, and w = b[x] * beta / c (beta where c = 0; 0 where a row rests).
void look_back(Matrix<const double> beta, Matrix<const double> g, Matrix<const double> b, const Symbol* symbols,
               const double* c, Matrix<double> counts, Matrix<double> w);

/// y = exp(x - the largest of the row), and 1 behind the components of x; y.cols is a whole number of 8. fits = 0 where
/// numbers of a row lie farther apart than `spread` or are not finite: such a row of y is 1.
template <class T>
void exp_below_largest(Matrix<const T> x, double spread, Matrix<double> y, char* fits);

/// y = factor (a b), component by component, rounded to T.
template <class T>
void scaled_products(Matrix<const double> a, Matrix<const double> b, double factor, Matrix<T> y);

/// w = b beta / c, row by row; beta where c = 0. w may be b.
void weigh_back(Matrix<const double> beta, Matrix<const double> b, const double* c, Matrix<double> w);

/// next[j] = max over i of best[i] + a[i][j], and from[j] the smallest i that gives it (Viterbi 1967). No NaN.
void best_origins(const double* best, Matrix<const double> a, double* next, double* from);

}  // namespace unfold
