#pragma once
/// Concatenation of signals into one materialized signal, for readers that need a contiguous vector (Circuit::join is
/// only symbolic):
///
///   const Signal all = concatenate(c, "all", {x, v});      // [x.size() + v.size()], no parameters

#include "graph/circuit/known_operator.h"
#include "unfold/graph/circuit/circuit.h"

namespace unfold {

/// y_{offset + i} += x_i. No parameters.
class Placed final : public OperatorOf<Placed>, public ExportableOperator, public RecordedOperator {
 public:
  /// Throws UsageError if x does not fit.
  Placed(Index inputs, Index outputs, Index offset);

  Index offset() const { return offset_; }

  std::string_view name() const override { return "placed"; }
  Kind known_kind() const override { return Kind::placed; }
  OperatorRecord record() const override {
    return {"placed", {{"inputs", one(inputs_)}, {"outputs", one(outputs_)}, {"offset", one(offset_)}}};
  }
  Index inputs() const override { return inputs_; }
  Index outputs() const override { return outputs_; }
  ParameterShape parameter_shape(Index) const override { return {0, inputs_}; }
  double operations() const override { return static_cast<double>(inputs_); }
  bool has_squared() const override { return true; }
  std::shared_ptr<const Operator> path_reading(std::string_view parameter, Index rows) const override;

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    for (Index r = 0; r < y.rows; ++r)
      for (Index i = 0; i < inputs_; ++i) y(r, offset_ + i) += in.x(r, i);
  }
  template <class T>
  void transposed_rows(const OperatorRows<T>&, Matrix<const T> dy, Matrix<T> dx, bool sets, bool) const {
    for (Index r = 0; r < dy.rows; ++r)
      for (Index i = 0; i < inputs_; ++i) dx(r, i) = sets ? dy(r, offset_ + i) : dx(r, i) + dy(r, offset_ + i);
  }
  template <class T>
  void gradient_rows(const OperatorRows<T>&, Matrix<const T>, Matrix<T>, Range, bool) const {}
  template <class T>
  void tangent_rows(const OperatorRows<T>&, Matrix<const T>, Matrix<const T> dx, Matrix<T> dy) const {
    if (dx.data != nullptr) apply_rows<T>({.x = dx}, dy);
  }

 private:
  Index inputs_, outputs_, offset_;
};

/// Returns the operator as Placed, or nullptr if it has a different type.
const Placed* as_concatenation(const Operator* op);

Signal concatenate(Circuit& c, std::string_view name, const std::vector<Signal>& parts);

}  // namespace unfold
