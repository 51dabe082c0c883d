#pragma once
/// A loss: the negative log-likelihood of an observation given a signal, in natural logarithms (nats).
///
/// A loss reads the rows of its signal over a whole structure. It may own parameters, which it declares in the circuit.
/// Every loss computes its value and its gradient. Optional functions are capabilities: additional base classes that
/// are looked up by type (`loss.as<LossCurvature<T>>()`, or `need` to throw an error that names the loss):
///
///   - RowLoss: rows are independent, so they may be divided among threads and windows
///   - LossCurvature: products with the Hessian: Gauss-Newton matrices and their diagonals
///   - LossFisher: the Fisher metric of the distribution: seeds of the squared backward pass
///   - Categorical: the signal holds logits: p(x) = exp(o_x) / sum_y exp(o_y)
///   - ValueDistribution (not public): mean, quantiles, score and samples of numbers
///
/// To add a loss, write one class in one file and add one line to registry.def.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "unfold/base/error.h"
#include "unfold/base/threads/team.h"
#include "unfold/graph/circuit/parameters.h"
#include "unfold/graph/structure/structure.h"
#include "unfold/loss/field.h"
#include "unfold/numerics/random.h"

namespace unfold {

/// The observations for each row. Losses for symbols read `symbols` (kNoSymbol: no target at this row). Losses for
/// vectors read `values` [rows x target_size(size)] and, if not null, `predicted` (0: no target at this row).
template <class T>
struct Targets {
  const Symbol* symbols = nullptr;
  Matrix<const T> values;
  const char* predicted = nullptr;

  Targets from_row(Index row, Index rows) const {
    return {symbols == nullptr ? nullptr : symbols + row, values.data == nullptr ? values : values.rows_from(row, rows),
            predicted == nullptr ? nullptr : predicted + row};
  }
};

/// Returns the rows [first, first + rows) of a field.
template <class T>
Targets<T> targets_of(const Field& field, Index first, Index rows) {
  require_range("field: row", first, rows, rows_of(field));
  if (const auto* s = std::get_if<SymbolRows>(&field))
    return {.symbols = s->symbols.data() + first, .values = {}, .predicted = nullptr};
  const auto& v = std::get<ValueRows>(field);
  return {.symbols = nullptr, .values = v.template values<T>(first, rows), .predicted = v.present_flags() + first};
}

/// The input of a loss: its signal and the observations, both with one row per position of the structure, and all
/// parameters of the circuit.
template <class T>
struct Observed {
  const Structure& structure;
  Matrix<const T> signal;  ///< [positions x size]
  Targets<T> targets;
  std::span<const T> parameters;  ///< all parameters of the circuit, including those owned by the loss
};

template <class T>
class Loss {
 public:
  virtual ~Loss() = default;
  virtual std::string_view name() const = 0;
  /// Called once when the network is built: declares the loss's own parameters in the circuit of its signal
  /// (Circuit::parameter). Throws UsageError for a signal that the loss cannot read.
  virtual void declare(Circuit& /*circuit*/, Signal /*signal*/) {}
  /// Returns the number of values (or symbols) that a signal of the given size predicts. Throws UsageError for an
  /// invalid size.
  virtual Index target_size(Index signal_size) const { return signal_size; }
  /// Returns the indices of the circuit parameters that the loss has declared.
  virtual std::span<const int> parameter_indices() const { return {}; }

  /// nats[r]: contribution of row r to the loss; 0 without a target. The loss is their sum in row order.
  virtual void negative_log_likelihood(const Observed<T>& observed, Team& team, T* nats) const = 0;
  /// Like negative_log_likelihood; also sets adjoint[r] = scale * d loss / d signal[r] and adds scale * d loss / d own
  /// parameters to own_gradient [all parameters of the circuit], only at the loss's own parameters. The adjoint may be
  /// the signal itself.
  virtual void gradient(const Observed<T>& observed, T scale, Team& team, T* nats, Matrix<T> adjoint,
                        std::span<T> own_gradient) const = 0;

  /// Returns a capability, or null.
  template <class Capability>
  const Capability* as() const {
    return dynamic_cast<const Capability*>(this);
  }
  /// Returns a capability. If it is missing, throws a UsageError that names the caller, the loss and the capability.
  template <class Capability>
  const Capability& need(std::string_view who) const {
    if (const auto* found = as<Capability>()) return *found;
    throw UsageError(std::string(who) + " requires " + Capability::kWhat + ", which the loss " + std::string(name()) +
                     " does not support");
  }
};

/// A loss with independent rows. Its functions work on any block of rows, and it owns no parameters.
template <class T>
class RowLoss : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "independent rows";

  virtual void row_losses(Matrix<const T> signal, const Targets<T>& targets, T* nats) const = 0;
  virtual void row_gradients(Matrix<const T> signal, const Targets<T>& targets, T scale, T* nats,
                             Matrix<T> adjoint) const = 0;

  void negative_log_likelihood(const Observed<T>& observed, Team& team, T* nats) const final;
  void gradient(const Observed<T>& observed, T scale, Team& team, T* nats, Matrix<T> adjoint,
                std::span<T> own_gradient) const final;
};

/// Products with the Hessian H of the loss with respect to its signal and its own parameters, if any. H must be
/// positive semidefinite; if the loss is not convex in the signal, it is the Fisher matrix of the distribution or a
/// different matrix, which the documentation of the loss states.
template <class T>
class LossCurvature : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "a curvature";

  /// result = scale * (H v), where v = (tangent of the signal, direction of the own parameters). Adds to the entries of
  /// own_result [all parameters] that belong to the loss's own parameters.
  virtual void curvature(const Observed<T>& observed, T scale, Team& team, Matrix<const T> tangent,
                         std::span<const T> direction, Matrix<T> result, std::span<T> own_result) const = 0;
  /// Sets the same outputs to a random vector with mean 0 and covariance scale^2 H, a function of (seed, stream). After
  /// a backward pass, the squares of the result estimate the diagonal of the Gauss-Newton matrix (Chapelle & Erhan
  /// 2011).
  virtual void curvature_sample(const Observed<T>& observed, T scale, Team& team, std::uint64_t seed,
                                std::uint64_t stream, Matrix<T> result, std::span<T> own_result) const = 0;
};

/// Curvature computed row by row.
template <class T>
class RowCurvature : public LossCurvature<T> {
 public:
  /// result[r] = scale * H[r] tangent[r].
  virtual void row_curvatures(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> tangent,
                              Matrix<T> result) const = 0;
  /// result[r] = scale * R[r] noise[r], where R R' = H. noise may be the result itself.
  virtual void row_curvature_roots(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> noise,
                                   Matrix<T> result) const = 0;

  void curvature(const Observed<T>& observed, T scale, Team& team, Matrix<const T> tangent,
                 std::span<const T> direction, Matrix<T> result, std::span<T> own_result) const final;
  void curvature_sample(const Observed<T>& observed, T scale, Team& team, std::uint64_t seed, std::uint64_t stream,
                        Matrix<T> result, std::span<T> own_result) const final;
};

/// The Fisher metric of the distribution of a row, for blocks of rows.
template <class T>
class LossFisher : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "a Fisher metric";

  /// Seed of the squared backward pass at the signal: seed[r] = diagonal of the Fisher matrix.
  virtual void fisher_diagonal(Matrix<const T> signal, const Targets<T>& targets, Matrix<T> seed) const = 0;
  /// Seed of the squared backward pass one affine map earlier (signal = a W + b, W [n x size]): seed[r][i] = variance
  /// of sum_x W[i][x] * score_x under the distribution, that is, the exact Fisher metric at the activations
  /// (docs/riemannian.md).
  virtual void fisher_through(Matrix<const T> signal, const Targets<T>& targets, Matrix<const T> w,
                              Matrix<T> seed) const = 0;
};

/// Marks losses whose signal holds logits over symbols.
template <class T>
class Categorical : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "logits of symbols";
};

/// p(x) = exp(o_x) / sum_y exp(o_y).
template <class T>
std::unique_ptr<Loss<T>> softmax_loss();
/// Independent bits: p(y_i = 1) = sigmoid(o_i).
template <class T>
std::unique_ptr<Loss<T>> bernoulli_loss();
/// y ~ N(o, I) without the normalization constant: nats = 0.5 |y - o|^2 (squared error).
template <class T>
std::unique_ptr<Loss<T>> gaussian_loss();
/// Numbers with individual standard deviations, y_i ~ N(m_i, d_i^2), including the normalization constant. The signal
/// is (m, s), 2 n components for n values, where log d = 10 tanh(s / 10).
template <class T>
std::unique_ptr<Loss<T>> normal_loss();
/// Vectors y of n numbers from a mixture of `components` Gaussians with diagonal covariances, including the
/// normalization constant: p(y) = sum_k softmax(a)_k prod_i N(y_i; m_ki, d_ki^2). The signal (a, m, s) has `components`
/// times 1 + 2 n components, m and s by mixture component, log d = 10 tanh(s / 10). Throws UsageError for fewer than
/// one component.
template <class T>
std::unique_ptr<Loss<T>> mixture_loss(Index components);
/// Counts y = 0, 1, ... ~ Poisson(exp(o)) without the constant log y!: nats = exp(o) - y o.
template <class T>
std::unique_ptr<Loss<T>> poisson_loss();
/// p(x) = o_x / sum_y o_y for a positive signal, such as the linear output of a hidden Markov model; NaN if the signal
/// is not positive. The loss is not convex in o; its curvature is the Fisher matrix.
template <class T>
std::unique_ptr<Loss<T>> normalized_loss();

/// Samples from the distributions; softmax by inversion in symbol order.
template <class T>
Symbol sample_symbol(std::span<const T> log_probabilities, Random& random);
template <class T>
void sample_bits(std::span<const T> signal, Random& random, T* bits);
template <class T>
void sample_gaussian(std::span<const T> mean, Random& random, T* values);

}  // namespace unfold
