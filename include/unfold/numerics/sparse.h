#pragma once
/// Products with sparse, gated and leaky matrices: the recurrence of gated leaky networks (docs/riemannian.md). For one
/// row,
///
///   y_i += [x_i, if leaky] + sum over edges e = (j -> i) of w_e s(x_j)
///
/// with an element-wise activation s. With `gates`, the term depends on one symbol g per row: the weights are row g of
/// w [alphabet x edges] (if w has a single row, all symbols share it). In rows without a symbol (kNoSymbol) the state
/// is kept: y_i += x_i. Without gates, all rows of w act together (usually there is only one).
///
/// The term is a single operation with the Jacobian dy_i/dx_j = [i = j, if leaky] + w_ij s'(x_j), so its squared form
/// squares the sum: (1 + w_ii s'(x_i))^2 on the diagonal of a leaky term.
///
/// Determinism (invariant 2): y_i starts from its current value, adds x_i, then adds its edges in the order of `Edges`
/// by fused multiply-adds. Sums over outgoing edges use the same order, and sums over rows run from the last to the
/// first. Vectors are used only across units, so results do not depend on the vector width.

#include <cstdint>
#include <utility>
#include <vector>

#include "unfold/numerics/pointwise.h"

namespace unfold {

/// Connectivity of a sparse matrix: which components j of a source are connected to which components i of a map. Edges
/// are numbered by (i, j) in ascending order.
class Edges {
 public:
  /// The pairs (j, i) may be in any order. Throws UsageError if a pair is out of range or occurs twice.
  Edges(Index inputs, Index outputs, std::vector<std::pair<std::int32_t, std::int32_t>> pairs);

  Index inputs() const { return inputs_; }
  Index outputs() const { return outputs_; }
  Index count() const { return static_cast<Index>(from_.size()); }
  const std::vector<std::int32_t>& from() const { return from_; }  ///< source j of each edge
  const std::vector<std::int32_t>& to() const { return to_; }      ///< destination i of each edge
  /// The edges into i are [entering()[i], entering()[i + 1]).
  const std::vector<std::int32_t>& entering() const { return entering_; }
  /// The edges out of j are leaving_edges()[k], with destinations leaving_to()[k], for k in [leaving()[j], leaving()[j
  /// + 1]), in ascending order of i.
  const std::vector<std::int32_t>& leaving() const { return leaving_; }
  const std::vector<std::int32_t>& leaving_edges() const { return leaving_edges_; }
  const std::vector<std::int32_t>& leaving_to() const { return leaving_to_; }
  /// Like leaving_edges(), without self-loops.
  const std::vector<std::int32_t>& outgoing_without_loops() const { return leaving_others_; }
  const std::vector<std::int32_t>& leaving_others_edges() const { return leaving_others_edges_; }
  const std::vector<std::int32_t>& leaving_others_to() const { return leaving_others_to_; }
  /// The edge i -> i, or -1 if there is none.
  const std::vector<std::int32_t>& loops() const { return loops_; }

 private:
  Index inputs_, outputs_;
  std::vector<std::int32_t> from_, to_, entering_, leaving_, leaving_edges_, leaving_to_, loops_;
  std::vector<std::int32_t> leaving_others_, leaving_others_edges_, leaving_others_to_;
};

/// Returns whether the kernels support s: copy (no activation), tanh, sigmoid, relu.
bool is_activation(Map map);

/// One sparse term with its weights.
template <class T>
struct SparseTerm {
  const Edges* edges = nullptr;
  Map activation = Map::copy;
  bool leaky = false;             ///< REQUIRES: the number of inputs equals the number of outputs
  Matrix<const T> weights = {};   ///< [1 or alphabet x edges]
  const Symbol* gates = nullptr;  ///< one symbol per row, or null
};

/// y += term(x); x [rows x inputs], y [rows x outputs]. `scratch`: 3 * max(inputs, outputs) elements.
template <class T>
void sparse_multiply(const SparseTerm<T>& term, Matrix<const T> x, Matrix<T> y, T* scratch);

/// dx (=|+=) J^T dy, or with every entry of J squared.
template <class T>
void sparse_transposed(const SparseTerm<T>& term, Matrix<const T> x, Matrix<const T> dy, Matrix<T> dx, bool sets,
                       bool squared, T* scratch);

/// g [same shape as weights] += d(sum dy y)/dw for the given edges; if `squared`, with s(x)^2 instead of s(x).
template <class T>
void sparse_gradient(const SparseTerm<T>& term, Matrix<const T> x, Matrix<const T> dy, Matrix<T> g, Range edges,
                     bool squared, T* scratch);

/// dy += J dx + term with weights dw applied to x. If dx.data is null, dx is 0.
template <class T>
void sparse_tangent(const SparseTerm<T>& term, Matrix<const T> dw, Matrix<const T> x, Matrix<const T> dx, Matrix<T> dy,
                    T* scratch);

/// Computes s(x) for the given rows (0 in rows without a symbol), by which the weights of the term are multiplied.
template <class T>
void sparse_activations(const SparseTerm<T>& term, Matrix<const T> x, Matrix<T> s);

/// Number of rows of a chain whose derivatives are computed together.
inline constexpr Index kSparseChainBlock = 64;

/// Runs the recurrence y_t = bias + rows of `lookup` + term(y_{t-1}) over consecutive rows of one sequence, with the
/// same results as `add_rows` and `sparse_multiply` step by step. y.row(-1) is the state before the first row. If
/// lookup.data is null, there is no lookup; if bias is null, it is zero. term.gates and `symbols` begin at the first
/// row. Both passes need (3 + kSparseChainBlock) * y.cols elements of `scratch`.
template <class T>
void sparse_chain_forward(const SparseTerm<T>& term, Matrix<const T> lookup, const Symbol* symbols, const T* bias,
                          Matrix<T> y, T* scratch);

/// Backward pass of the recurrence: for t descending, adjoint_t += exit_t and adjoint_{t-1} = J_t^T adjoint_t. On
/// entry, the last row of adjoint holds the contribution from later rows; adjoint.row(-1) receives the adjoint of the
/// initial state. exit.data may be null.
template <class T>
void sparse_chain_backward(const SparseTerm<T>& term, Matrix<const T> y, Matrix<const T> exit, Matrix<T> adjoint,
                           bool squared, T* scratch);

}  // namespace unfold
