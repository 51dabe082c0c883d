#pragma once
/// A readout is a distribution on top of a signal: log-probability, gradient, curvature, sampling.
/// All functions work on any block of rows, so a team can divide them; sums over rows are left to the caller, who adds
/// the per-row values in row order. nats are natural logarithms.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "unfold/base/views.h"
#include "unfold/numerics/random.h"

namespace unfold {

/// What was observed at each row. Softmax reads `symbols` (kNoSymbol: this row is not to be predicted);
/// Bernoulli and Gaussian read `values` [rows x size] and, when given, `predicted` (0: this row is not to be
/// predicted).
template <class T>
struct Targets {
  const Symbol* symbols = nullptr;
  Matrix<const T> values;
  const char* predicted = nullptr;
};

template <class T>
class Readout {
 public:
  virtual ~Readout() = default;
  virtual std::string_view name() const = 0;
  /// nats[r] = -log p(target_r | signal_r); 0 for rows that are not predicted.
  virtual void nats(Matrix<const T> signal, const Targets<T>& targets, T* nats) const = 0;
  /// The same, and adjoint[r] = scale * d nats[r] / d signal[r] (0 where not predicted). adjoint may be the signal
  /// itself.
  virtual void gradient(Matrix<const T> signal, const Targets<T>& targets, T scale, T* nats,
                        Matrix<T> adjoint) const = 0;
  /// result[r] = scale * H[r] tangent[r], H the Hessian of nats in the signal (= the Fisher matrix for these readouts).
  virtual void curvature(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> tangent,
                         Matrix<T> result) const = 0;
  /// result[r] = scale * R[r] noise[r], where R R' = H: noise of independent signs becomes a vector whose covariance is
  /// scale^2 H, so that squares of what comes out of the backward pass estimate the diagonal of the Gauss-Newton matrix
  /// (Chapelle & Erhan 2011). noise may be the result itself.
  virtual void curvature_root(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> noise,
                              Matrix<T> result) const = 0;
  /// Seed of the modulus pass at the signal: seed[r] = diagonal of the Fisher matrix of the output distribution.
  virtual void fisher_diagonal(Matrix<const T> signal, const Targets<T>& targets, Matrix<T> seed) const = 0;
  /// Seed of the modulus pass one affine map earlier (signal = a W + b, W [n x size]): seed[r][i] = variance of
  /// sum_x W[i][x] * score_x under the output distribution: the exact Fisher metric at the activities (Riemannian text,
  /// 3-training.md).
  virtual void fisher_through(Matrix<const T> signal, const Targets<T>& targets, Matrix<const T> w,
                              Matrix<T> seed) const = 0;
};

/// p(x) = exp(o_x) / sum_y exp(o_y).
template <class T>
std::unique_ptr<Readout<T>> softmax_readout();
/// Independent bits: p(y_i = 1) = sigmoid(o_i).
template <class T>
std::unique_ptr<Readout<T>> bernoulli_readout();
/// y ~ N(o, I) without its constant: nats = 0.5 |y - o|^2 (squared error).
template <class T>
std::unique_ptr<Readout<T>> gaussian_readout();

/// Draws from the distributions. Softmax: by inversion in symbol order.
template <class T>
Symbol sample_symbol(std::span<const T> log_probabilities, Random& random);
template <class T>
void sample_bits(std::span<const T> signal, Random& random, T* bits);
template <class T>
void sample_gaussian(std::span<const T> mean, Random& random, T* values);

}  // namespace unfold
