#pragma once
/// Softmax predictions of many rows at once, for the softmax loss (loss/softmax.cpp) and for passes over all
/// predictions of a sequence (optim/riemannian/head_metric.h).
///
/// Determinism (invariant 2): the results of a row do not depend on the number of rows. Sums over the alphabet use 16
/// virtual lanes (`log_normalizers`, `softmax_errors`) or run over the symbols in order (`column_variances`).

#include "unfold/base/views.h"

namespace unfold {

/// Sets result[r] = log sum_x exp(logits[r][x]), with the same bits as log_sum_exp (functions.h); 0 in rows whose
/// target is kNoSymbol.
template <class T>
void log_normalizers(Matrix<const T> logits, const Symbol* targets, T* result);

/// Sets result = scale * (pi - 1[x = target]) with pi = exp(logit - normalizer), which may overwrite the logits; 0 in
/// rows whose target is kNoSymbol.
template <class T>
void softmax_gradients(Matrix<const T> logits, const Symbol* targets, const T* normalizers, T scale, Matrix<T> result);

/// Replaces logits by errors, pi - 1[x = target], and sets nats[r] = -log pi(target). Every row has a target. Results
/// are NaN in rows with a logit that is not finite.
template <class T>
void softmax_errors(Matrix<T> logits, const Symbol* targets, T* nats);

/// Computes h = pi (1 - pi) from the errors of `softmax_errors`; accurate near pi = 0 and, at the target, near pi = 1.
template <class T>
void hessian_diagonals(Matrix<const T> errors, const Symbol* targets, Matrix<T> h);

/// Computes result[r][i], the variance of w[x][i] if x is drawn with the probabilities of row r: sum_x p_x (w_x -
/// mean)^2 with the mean means[r][i] + w[targets[r]][i]. p [rows x alphabet], w [alphabet x n], means and result [rows
/// x n]; the result may overwrite the means.
template <class T>
void column_variances(Matrix<const T> p, Matrix<const T> w, const Symbol* targets, Matrix<const T> means,
                      Matrix<T> result);

}  // namespace unfold
