#pragma once
/// A sparse operator whose weights are mixed by a vector, for gated networks with vector inputs (Ollivier 2015, remark
/// 2). The source is (x, V) with K + n components. With x_0 = 1,
///
///   y_i += [V_i, if leaky] + sum over edges e = (j -> i) of sum over k = 0 .. K of x_k tau_{k e} s(V_j)
///
///   Term{.parameter = "tau", .source = concatenate(c, "xV", {x, v}), .op = mixed_sparse(edges, x.size(), {.leaky =
///   true})}
///
/// If x_1 .. x_K is a one-hot vector, this is the sparse operator gated by a symbol. The parameter is [1 x (K + 1)
/// edges]; its columns are ordered by i, then by k, then by j. The derivative with respect to V_j is [i = j, if leaky]
/// + s'(V_j) sum_k x_k tau_{k e}; the derivative with respect to x_k is sum_j tau_{k e} s(V_j). The squared form uses
/// the squares of these derivatives.
///
/// Determinism (invariant 2): sums over edges, k and units are in ascending order; sums over rows run from the last to
/// the first.

#include "unfold/graph/circuit/unit_weights.h"

namespace unfold {

struct MixedForm {
  Map activation = Map::tanh;  ///< s
  bool leaky = false;
};

class MixedSparse final : public OperatorOf<MixedSparse>, public UnitWeights {
 public:
  /// Throws UsageError if there are no edges or no components of x, if is_activation does not support the activation,
  /// or if the numbers of source and destination units differ.
  MixedSparse(std::shared_ptr<const Edges> edges, Index inputs, const MixedForm& form);

  const Edges& edges() const { return *edges_; }
  const MixedForm& form() const { return form_; }
  Index mixing() const { return mixing_; }  ///< K
  /// Returns the column of the weight with which x_k (k = 0: constant 1) contributes to edge e.
  Index column(Index k, Index e) const;

  std::string_view name() const override { return "mixed sparse"; }
  Index inputs() const override { return mixing_ + units(); }
  Index outputs() const override { return units(); }
  ParameterShape parameter_shape(Index) const override { return {1, unit_edges_.count()}; }
  Index scratch() const override { return 5 * unit_edges_.inputs() + inputs(); }
  double operations() const override { return 3.0 * static_cast<double>(unit_edges_.count()); }
  bool gradient_by_columns() const override { return true; }
  bool has_squared() const override { return true; }

  const Edges& unit_edges() const override { return unit_edges_; }
  void unit_inputs(const OperatorRows<float>& in, Matrix<float> u) const override { products(in, u); }
  void unit_inputs(const OperatorRows<double>& in, Matrix<double> u) const override { products(in, u); }

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const;
  template <class T>
  void transposed_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets, bool squared) const;
  template <class T>
  void gradient_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> g, Range columns, bool squared) const;
  template <class T>
  void tangent_rows(const OperatorRows<T>& in, Matrix<const T> dw, Matrix<const T> dx, Matrix<T> dy) const;

 private:
  Index units() const { return edges_->outputs(); }
  template <class T>
  void activations(const T* v, T* s) const;
  template <class T>
  void products(const OperatorRows<T>& in, Matrix<T> u) const;
  template <class T>
  void adjoints_of_row(const OperatorRows<T>& in, Index r, const T* dy, T* d) const;
  template <class T>
  void squares_of_row(const OperatorRows<T>& in, Index r, const T* dy, T* d) const;

  std::shared_ptr<const Edges> edges_;
  Index mixing_;
  MixedForm form_;
  Edges unit_edges_;  ///< from u_{k n + j} = x_k s(V_j)
};

std::shared_ptr<const Operator> mixed_sparse(std::shared_ptr<const Edges> edges, Index inputs,
                                             const MixedForm& form = {});

/// Returns the operator as MixedSparse, or nullptr if it has a different type.
const MixedSparse* as_mixed_sparse(const Operator* op);

}  // namespace unfold
