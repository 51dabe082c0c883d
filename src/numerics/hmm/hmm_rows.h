#pragma once
/// Operations on the state rows of several hidden Markov chains side by side (model/hmm/hmm.h), between the products
/// over states. Each row is independent of the others, and sums of a row use the usual virtual lanes, so the number of
/// chains and the vector width do not change a single bit.

#include "unfold/base/views.h"

namespace unfold {

/// Each chain observes its symbol x: g = f * b[x], c = sum of g, and g /= c. If c < `least`, no state can emit x: g = f
/// and c = 0. A row whose symbol is kNoSymbol is inactive: g = 0, c = 1. Rows of f, g and b have `b.cols` elements.
void forward_symbols(Matrix<const double> f, Matrix<const double> b, const Symbol* symbols, double least,
                     Matrix<double> g, double* c);

/// Backward step: counts[x] += g * beta if c > 0, and w = b[x] * beta / c (beta if c = 0; 0 in inactive rows).
void look_back(Matrix<const double> beta, Matrix<const double> g, Matrix<const double> b, const Symbol* symbols,
               const double* c, Matrix<double> counts, Matrix<double> w);

/// Like forward_symbols, for scores x: e = exp(x - the largest of the row), and 1 beyond the components of x; c = 1 /
/// (the sum of f e), g = f e c; both are 0 if the sum is not positive. fits = 0 for rows whose scores differ by more
/// than `spread` or are not finite; such a row of e is 1. Rows of f, e and g have the same length, a multiple of 8.
template <class T>
void forward_scores(Matrix<const double> f, Matrix<const T> x, double spread, Matrix<double> e, Matrix<double> g,
                    double* c, char* fits);

/// Backward step: e = e beta c, and, if y is not empty, y = factor alpha beta rounded to T, for the components of y.
template <class T>
void backward_scores(Matrix<const double> alpha, Matrix<const double> beta, const double* c, double factor,
                     Matrix<double> e, Matrix<T> y);

/// next[j] = max over i of best[i] + a[i][j], and from[j] the smallest i that attains it (Viterbi 1967). REQUIRES: no
/// NaN.
void viterbi_step(const double* best, Matrix<const double> a, double* next, double* from);

}  // namespace unfold
