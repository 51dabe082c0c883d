#pragma once
/// The sparse, gated and leaky operator (see sparse.h for its equations):
///
///   Term{.parameter = "tau", .source = v,
///        .op = sparse_operator(edges, {.activation = Map::tanh, .gating = Gating::weights}), .gate = symbols}
///
/// The parameter is [1 x edges], or [alphabet x edges] if a gate selects the weights. The weights are on edges between
/// units, so the operator has a squared form and a path form.

#include "unfold/graph/circuit/unit_weights.h"

namespace unfold {

/// Effect of the gate of a sparse operator.
enum class Gating {
  none,    ///< no gate
  state,   ///< in rows without a symbol the state is kept: y += x
  weights  ///< like state, and the symbol selects the weights
};

struct SparseForm {
  Map activation = Map::copy;  ///< s: copy, tanh, sigmoid or relu
  bool leaky = false;
  Gating gating = Gating::none;
  Index weight_rows = 1;  ///< without a gate that selects the weights: the number of rows of weights that act together
};

class SparseOperator final : public OperatorOf<SparseOperator>, public UnitWeights, private RecurrenceKernel {
 public:
  /// Throws UsageError if there are no edges, if is_activation does not support the activation, or if a leaky or gated
  /// operator (which keeps x) has different numbers of inputs and outputs.
  SparseOperator(std::shared_ptr<const Edges> edges, const SparseForm& form);

  const Edges& edges() const { return *edges_; }
  const SparseForm& form() const { return form_; }
  const Edges& unit_edges() const override { return *edges_; }
  /// Computes s(x).
  void unit_inputs(const OperatorRows<float>& in, Matrix<float> u) const override {
    sparse_activations<float>(term(in.w, in.gates), in.x, u);
  }
  void unit_inputs(const OperatorRows<double>& in, Matrix<double> u) const override {
    sparse_activations<double>(term(in.w, in.gates), in.x, u);
  }

  std::string_view name() const override { return "sparse"; }
  Index inputs() const override { return edges_->inputs(); }
  Index outputs() const override { return edges_->outputs(); }
  ParameterShape parameter_shape(Index alphabet) const override;
  Index scratch() const override;
  double operations() const override { return 2.0 * static_cast<double>(edges_->count()); }
  bool reads_gate() const override { return form_.gating != Gating::none; }
  bool gradient_by_columns() const override { return true; }
  bool has_squared() const override { return true; }
  std::shared_ptr<const Operator> path_reading(std::string_view parameter, Index rows) const override;
  const RecurrenceKernel* recurrence() const override { return this; }

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    sparse_multiply<T>(term(in.w, in.gates), in.x, y, in.scratch);
  }
  template <class T>
  void transposed_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets, bool squared) const {
    sparse_transposed<T>(term(in.w, in.gates), in.x, dy, dx, sets, squared, in.scratch);
  }
  template <class T>
  void gradient_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> g, Range columns, bool squared) const {
    sparse_gradient<T>(term(in.w, in.gates), in.x, dy, g, columns, squared, in.scratch);
  }
  template <class T>
  void tangent_rows(const OperatorRows<T>& in, Matrix<const T> dw, Matrix<const T> dx, Matrix<T> dy) const {
    sparse_tangent<T>(term(in.w, in.gates), dw, in.x, dx, dy, in.scratch);
  }

  // RecurrenceKernel
  void forward(const Recurrence<float>& in, Matrix<float> y) const override;
  void forward(const Recurrence<double>& in, Matrix<double> y) const override;
  void backward(const Recurrence<float>& in, Matrix<const float> y, Matrix<const float> exit, Matrix<float> adjoint,
                bool squared) const override;
  void backward(const Recurrence<double>& in, Matrix<const double> y, Matrix<const double> exit, Matrix<double> adjoint,
                bool squared) const override;

 private:
  template <class T>
  SparseTerm<T> term(Matrix<const T> w, const Symbol* gates) const {
    return {.edges = edges_.get(), .activation = form_.activation, .leaky = form_.leaky, .weights = w, .gates = gates};
  }

  std::shared_ptr<const Edges> edges_;
  SparseForm form_;
};

std::shared_ptr<const Operator> sparse_operator(std::shared_ptr<const Edges> edges, const SparseForm& form = {});

/// Returns the operator as SparseOperator, or nullptr if it has a different type; for code that works on edges between
/// units.
const SparseOperator* as_sparse(const Operator* op);

}  // namespace unfold
