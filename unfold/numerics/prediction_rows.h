#pragma once
/// Softmax predictions of many rows at once, as the sweeps over the predictions of a text need them
/// (metrics/head_metric.h).
///
/// Law 2: a row has the same bits whatever the number of rows: sums over the alphabet run in 16 virtual lanes
/// (`softmax_errors`) or over its symbols in order (`column_variances`).

#include "unfold/base/views.h"

namespace unfold {

/// Logits become errors, pi - 1[x = target]; nats[r] = -log pi(target). Every row has a target. NaN where a logit is
/// not finite.
template <class T>
void softmax_errors(Matrix<T> logits, const Symbol* targets, T* nats);

/// h = pi (1 - pi) from the errors of `softmax_errors`: exact near pi = 0 and near pi = 1 at the target.
template <class T>
void hessian_diagonals(Matrix<const T> errors, const Symbol* targets, Matrix<T> h);

/// result[r][i] = variance of w[x][i] when x is drawn with the probabilities of row r, sum_x p_x (w_x - mean)^2, given
/// the means. p [rows x alphabet], w [alphabet x n], means and result [rows x n]; the result may be the means.
template <class T>
void column_variances(Matrix<const T> p, Matrix<const T> w, Matrix<const T> means, Matrix<T> result);

}  // namespace unfold
