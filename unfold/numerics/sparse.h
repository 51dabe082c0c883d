#pragma once
/// Products with sparse, gated and leaky matrices: the recurrence of gated leaky networks
/// (docs/riemannian.md). For one row,
///
///   y_i += [x_i, when leaky] + sum over edges e = (j -> i) of w_e s(x_j)
///
/// with an element-wise activation s. `gates` make the term depend on a symbol g per row: the weights are row g of
/// w [alphabet x edges] (with one row of weights every symbol has the same), and where there is no symbol yet
/// (kNoSymbol) the state is kept: y_i += x_i. Without gates all rows of w act together (in general there is one).
///
/// The Jacobian dy_i/dx_j = [i = j, when leaky] + w_ij s'(x_j) is that of one operation, so its squared form squares
/// the sum: (1 + w_ii s'(x_i))^2 on the diagonal of a leaky term.
///
/// Law 2: y_i starts from what it holds, adds x_i, then its edges in the order of `Edges` by fused multiply-adds; sums
/// over leaving edges run in that order too, sums over rows from the last to the first. Vectors are used across units
/// only, so no width changes a bit.

#include <cstdint>
#include <utility>
#include <vector>

#include "unfold/numerics/pointwise.h"

namespace unfold {

/// Which components j of a source reach which components i of a map. Edges are numbered by (i, j), ascending.
class Edges {
 public:
  /// `pairs` of (j, i) in any order. Throws UsageError: outside the sizes, or a pair twice.
  Edges(Index inputs, Index outputs, std::vector<std::pair<std::int32_t, std::int32_t>> pairs);

  Index inputs() const { return inputs_; }
  Index outputs() const { return outputs_; }
  Index count() const { return static_cast<Index>(from_.size()); }
  const std::vector<std::int32_t>& from() const { return from_; }  ///< j of each edge
  const std::vector<std::int32_t>& to() const { return to_; }      ///< i of each edge
  /// Edges into i: [entering()[i], entering()[i + 1]).
  const std::vector<std::int32_t>& entering() const { return entering_; }
  /// Edges out of j: leaving_edges()[k], reaching leaving_to()[k], k in [leaving()[j], leaving()[j + 1]); i ascending.
  const std::vector<std::int32_t>& leaving() const { return leaving_; }
  const std::vector<std::int32_t>& leaving_edges() const { return leaving_edges_; }
  const std::vector<std::int32_t>& leaving_to() const { return leaving_to_; }
  /// The same without the loops.
  const std::vector<std::int32_t>& leaving_others() const { return leaving_others_; }
  const std::vector<std::int32_t>& leaving_others_edges() const { return leaving_others_edges_; }
  const std::vector<std::int32_t>& leaving_others_to() const { return leaving_others_to_; }
  /// The edge i -> i, or -1.
  const std::vector<std::int32_t>& loops() const { return loops_; }

 private:
  Index inputs_, outputs_;
  std::vector<std::int32_t> from_, to_, entering_, leaving_, leaving_edges_, leaving_to_, loops_;
  std::vector<std::int32_t> leaving_others_, leaving_others_edges_, leaving_others_to_;
};

/// Whether the kernels know s: copy (no activation), tanh, sigmoid, relu.
bool is_activation(Map map);

/// One sparse term with its weights.
template <class T>
struct SparseTerm {
  const Edges* edges = nullptr;
  Map activation = Map::copy;
  bool leaky = false;             ///< REQUIRES: as many inputs as outputs
  Matrix<const T> weights = {};   ///< [1 or alphabet x edges]
  const Symbol* gates = nullptr;  ///< per row, or null
};

/// y += term(x); x [rows x inputs], y [rows x outputs]. `scratch`: 3 * max(inputs, outputs) numbers.
template <class T>
void sparse_multiply(const SparseTerm<T>& term, Matrix<const T> x, Matrix<T> y, T* scratch);

/// dx (=|+=) J^T dy, or the same with every entry of J squared.
template <class T>
void sparse_transposed(const SparseTerm<T>& term, Matrix<const T> x, Matrix<const T> dy, Matrix<T> dx, bool sets,
                       bool squared, T* scratch);

/// g [as weights] += d(sum dy y)/dw for the edges given; `squared`: with s(x)^2 for s(x).
template <class T>
void sparse_gradient(const SparseTerm<T>& term, Matrix<const T> x, Matrix<const T> dy, Matrix<T> g, Range edges,
                     bool squared, T* scratch);

/// dy += J dx + (change of weights dw) s(x). dx.data may be null: x does not move.
template <class T>
void sparse_tangent(const SparseTerm<T>& term, Matrix<const T> dw, Matrix<const T> x, Matrix<const T> dx, Matrix<T> dy,
                    T* scratch);

/// s(x) of rows, 0 where there is no symbol: what the weights of the term multiply.
template <class T>
void sparse_activations(const SparseTerm<T>& term, Matrix<const T> x, Matrix<T> s);

/// Rows of a chain whose slopes are computed together.
inline constexpr Index kSparseChainBlock = 64;

/// The recurrence y_t = bias + rows of `lookup` + term(y_{t-1}) over consecutive rows of one sequence: what
/// `add_rows` and `sparse_multiply` give step by step. y.row(-1) is the state before the first row; lookup.data null:
/// no lookup; bias null: zero. term.gates and `symbols` begin at the first row. `scratch` of both passes:
/// (3 + kSparseChainBlock) * y.cols numbers.
template <class T>
void sparse_chain_forward(const SparseTerm<T>& term, Matrix<const T> lookup, const Symbol* symbols, const T* bias,
                          Matrix<T> y, T* scratch);

/// Its backward pass: for t descending, adjoint_t += exit_t, adjoint_{t-1} = J_t^T adjoint_t. On entry adjoint's last
/// row holds what comes from beyond it; adjoint.row(-1) receives what leaves the first row. exit.data may be null.
template <class T>
void sparse_chain_backward(const SparseTerm<T>& term, Matrix<const T> y, Matrix<const T> exit, Matrix<T> adjoint,
                           bool squared, T* scratch);

}  // namespace unfold
