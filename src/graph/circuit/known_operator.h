#pragma once
/// Run-time type information about the operators of the library, for code that translates a circuit to another language
/// (interop/c/export_c.h). An operator that does not provide it can be executed but not exported. For sparse operators,
/// see as_sparse.

#include <map>
#include <string>
#include <vector>

#include "unfold/graph/circuit/vector_map.h"

namespace unfold {

/// An operator as data: the name of its kind and its constants (lists of numbers). graph/stored/operator_record.h
/// creates an operator from a record.
struct OperatorRecord {
  std::string kind;
  std::map<std::string, std::vector<double>> constants = {};
};

/// Operators of the library that are not in public headers define their own records.
class RecordedOperator {
 public:
  virtual ~RecordedOperator() = default;
  virtual OperatorRecord record() const = 0;

 protected:
  /// Returns a constant that consists of one number.
  static std::vector<double> one(Index number) { return {static_cast<double>(number)}; }
};

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
/// Returns the unitary map with a given permutation. Throws UsageError if the argument is not a permutation or its size
/// is not a power of two of at least 2.
std::shared_ptr<const VectorMap> unitary_map_of(std::vector<Index> permutation);

}  // namespace unfold
