#pragma once
/// Operators as data, for circuits that are stored in files.
///
///   const std::optional<OperatorRecord> record = record_of(*term.op);          // nothing: an operator of a program
///   std::shared_ptr<const Operator> same = operator_of(*record);
///
/// Kinds and constants: `leak` (size, rates; no rates: learned), `layer-norm`, `share`, `modulus-relu`,
/// `complex-decay`, `complex-gain` (size), `placed` (inputs, outputs, offset), `unitary` (permutation),
/// `quadratic-form` (inputs, outputs, scale), `listed` (alphabets, outputs, begin, outputs-of), `additive-attention`
/// and `multiplicative-attention` (keys, values), `random-kernels` (features, channels, length, standardized), `sparse`
/// (inputs, outputs, from, to, activation, leaky, gating, weight-rows) and `mixed-sparse` (inputs, units, from, to,
/// activation, leaky). Activations and gatings are numbers of their enumerations, which never change.

#include <memory>
#include <optional>
#include <span>

#include "graph/circuit/known_operator.h"
#include "unfold/graph/circuit/operator.h"

namespace unfold {

/// Returns nothing for an operator that is not in the library.
std::optional<OperatorRecord> record_of(const Operator& op);

/// The sizes that the operator must have. They bound the memory of an operator that a file describes.
struct OperatorSizes {
  Index inputs = 0, outputs = 0;          ///< sizes of the source and of the affine map
  std::span<const Index> alphabets = {};  ///< alphabet sizes, for an operator that reads symbols
};

/// Throws a UsageError that names the kind if the kind is unknown, constants are missing or superfluous, values are out
/// of range, or the sizes differ from the given sizes. Takes time and memory proportional to the sizes and the
/// constants.
std::shared_ptr<const Operator> operator_of(const OperatorRecord& record, const OperatorSizes& sizes);

}  // namespace unfold
