#pragma once
/// Softmax predictions of many rows at once, for passes over all predictions of a sequence
/// (optim/riemannian/head_metric.h).
///
/// Determinism (invariant 2): the results of a row do not depend on the number of rows. Sums over the alphabet use 16
/// virtual lanes (`softmax_errors`) or run over the symbols in order (`column_variances`).

#include "unfold/base/views.h"

namespace unfold {

/// Replaces logits by errors, pi - 1[x = target], and sets nats[r] = -log pi(target). Every row has a target. Results
/// are NaN in rows with a logit that is not finite.
template <class T>
void softmax_errors(Matrix<T> logits, const Symbol* targets, T* nats);

/// Computes h = pi (1 - pi) from the errors of `softmax_errors`; accurate near pi = 0 and, at the target, near pi = 1.
template <class T>
void hessian_diagonals(Matrix<const T> errors, const Symbol* targets, Matrix<T> h);

/// Computes result[r][i], the variance of w[x][i] if x is drawn with the probabilities of row r: sum_x p_x (w_x -
/// mean)^2 for the given means. p [rows x alphabet], w [alphabet x n], means and result [rows x n]; the result may
/// overwrite the means.
template <class T>
void column_variances(Matrix<const T> p, Matrix<const T> w, Matrix<const T> means, Matrix<T> result);

}  // namespace unfold
