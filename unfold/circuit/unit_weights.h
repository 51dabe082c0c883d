#pragma once
/// Operators whose parameters are weights of units: y_i += sum over edges e = (j -> i) of w_e u_j(x), with inputs u
/// that depend on the source alone. Riemannian metrics are built on u (metrics/unit_metric.h).

#include "unfold/circuit/operator.h"
#include "unfold/numerics/sparse.h"

namespace unfold {

class UnitWeights {
 public:
  virtual ~UnitWeights() = default;
  /// From inputs u to outputs; edge e has column e of the parameter.
  virtual const Edges& unit_edges() const = 0;
  /// u [rows x inputs of the edges]; 0 where the operator's gate holds no symbol.
  virtual void unit_inputs(const OperatorRows<float>& in, Matrix<float> u) const = 0;
  virtual void unit_inputs(const OperatorRows<double>& in, Matrix<double> u) const = 0;
};

/// The operator itself if its parameters are weights of units, else nullptr.
inline const UnitWeights* unit_weights(const Operator* op) { return dynamic_cast<const UnitWeights*>(op); }

}  // namespace unfold
