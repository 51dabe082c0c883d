#pragma once
/// Operators whose parameters are weights of units: y_i += sum over edges e = (j -> i) of w_e u_j(x), where the inputs
/// u depend only on the source. The Riemannian metrics use u.

#include "unfold/graph/circuit/operator.h"
#include "unfold/numerics/sparse.h"

namespace unfold {

class UnitWeights {
 public:
  virtual ~UnitWeights() = default;
  /// Returns the edges from inputs u to outputs; edge e corresponds to column e of the parameter.
  virtual const Edges& unit_edges() const = 0;
  /// Computes u [rows x inputs of the edges]; 0 in rows where the gate of the operator has no symbol.
  virtual void unit_inputs(const OperatorRows<float>& in, Matrix<float> u) const = 0;
  virtual void unit_inputs(const OperatorRows<double>& in, Matrix<double> u) const = 0;
};

/// Returns the operator as UnitWeights, or nullptr if its parameters are not weights of units.
inline const UnitWeights* unit_weights(const Operator* op) { return dynamic_cast<const UnitWeights*>(op); }

}  // namespace unfold
