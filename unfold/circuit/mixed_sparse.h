#pragma once
/// The sparse operator whose weights are mixed by a vector, for gated networks that read vectors (Ollivier 2015,
/// remark 2). Source: (x, V) of K + n components; with x_0 = 1,
///
///   y_i += [V_i, when leaky] + sum over edges e = (j -> i) of sum over k = 0 .. K of x_k tau_{k e} s(V_j)
///
///   Term{.parameter = "tau", .source = placed_together(c, "xV", {x, v}), .op = mixed_sparse(edges, x.size(), {.leaky =
///   true})}
///
/// With x_1 .. x_K one of which is 1 this is the sparse operator gated by a symbol. Its parameter is [1 x (K + 1)
/// edges]; columns by i, then by k, then by j. The Jacobian by V_j is one entry, [i = j, when leaky] + s'(V_j) sum_k
/// x_k tau_{k e}, that by x_k is sum_j tau_{k e} s(V_j); the squared form squares these.
///
/// Law 2: sums over edges, k and units run upwards, sums over rows from the last to the first.

#include "unfold/circuit/unit_weights.h"

namespace unfold {

struct MixedForm {
  Map activation = Map::tanh;  ///< s
  bool leaky = false;
};

class MixedSparse final : public OperatorOf<MixedSparse>, public UnitWeights {
 public:
  /// Throws UsageError: no edges or no components of x, an activation that is_activation does not know, or edges
  /// between different numbers of units.
  MixedSparse(std::shared_ptr<const Edges> edges, Index inputs, const MixedForm& form);

  const Edges& edges() const { return *edges_; }
  const MixedForm& form() const { return form_; }
  Index mixing() const { return mixing_; }  ///< K
  /// The column of the weight that x_k (k = 0: always) gives to edge e.
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

/// The operator itself if it is one of these, else nullptr.
const MixedSparse* as_mixed_sparse(const Operator* op);

}  // namespace unfold
