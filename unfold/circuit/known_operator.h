#pragma once
/// Which of the library's operators one is, for those who write a circuit down as a program of another language
/// (programs/export_c.h): an operator that says nothing here can be run, but not written. Sparse ones: as_sparse.

#include <vector>

#include "unfold/circuit/vector_map.h"

namespace unfold {

class KnownOperator {
 public:
  enum class Kind { layer_norm, leak, complex_decay, complex_gain, modulus_relu, unitary, share, placed };
  virtual ~KnownOperator() = default;
  virtual Kind known_kind() const = 0;
};

inline bool is_known(const Operator* op, KnownOperator::Kind kind) {
  const auto* known = dynamic_cast<const KnownOperator*>(op);
  return known != nullptr && known->known_kind() == kind;
}

/// What of a unitary map is fixed.
struct UnitaryShape {
  Index n;                         ///< complex numbers
  std::vector<Index> permutation;  ///< (P x)_k = x_permutation[k]
  std::vector<CosSin> twiddles;    ///< e^(-2 pi i k / n) for k below n / 2
};
/// Null: it is none.
const UnitaryShape* unitary_shape(const Operator& op);

}  // namespace unfold
