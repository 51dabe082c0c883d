#pragma once
/// Run-time type information about the operators of the library, for code that translates a circuit to another language
/// (interop/c/export_c.h). An operator that does not provide it can be executed but not exported. For sparse operators,
/// see as_sparse.

#include <vector>

#include "unfold/graph/circuit/vector_map.h"

namespace unfold {

class ExportableOperator {
 public:
  enum class Kind { layer_norm, leak, complex_decay, complex_gain, modulus_relu, unitary, share, placed };
  virtual ~ExportableOperator() = default;
  virtual Kind known_kind() const = 0;
};

inline bool is_known(const Operator* op, ExportableOperator::Kind kind) {
  const auto* known = dynamic_cast<const ExportableOperator*>(op);
  return known != nullptr && known->known_kind() == kind;
}

/// The constants of a unitary map.
struct UnitaryShape {
  Index n;                         ///< number of complex components
  std::vector<Index> permutation;  ///< (P x)_k = x_permutation[k]
  std::vector<CosSin> twiddles;    ///< e^(-2 pi i k / n) for k below n / 2
};
/// Returns nullptr if the operator is not a unitary map.
const UnitaryShape* unitary_shape(const Operator& op);

}  // namespace unfold
