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

/// The same of scores x: e = exp(x - the largest of the row), and 1 behind the components of x; c = 1 / (the sum of f
/// e), g = f e c; both 0 where that sum is not above 0. fits = 0 where numbers of a row of x lie farther apart than
/// `spread` or are not finite: such a row of e is 1. Rows of f, e and g are of the same length, a whole number of 8.
template <class T>
void see_scores(Matrix<const double> f, Matrix<const T> x, double spread, Matrix<double> e, Matrix<double> g, double* c,
                char* fits);

/// The way back: e = e beta c; and y = factor alpha beta, rounded to T, where there is a y, for the components that it
/// has.
template <class T>
void look_back_at_scores(Matrix<const double> alpha, Matrix<const double> beta, const double* c, double factor,
                         Matrix<double> e, Matrix<T> y);

/// next[j] = max over i of best[i] + a[i][j], and from[j] the smallest i that gives it (Viterbi 1967). No NaN.
void best_origins(const double* best, Matrix<const double> a, double* next, double* from);

}  // namespace unfold
