#pragma once
/// Circuits as JSON, for model cards and Python. The format (docs/model-file.md, "Circuits"):
///
///   {"version": 1,
///    "nodes": [{"kind": "input", "name": "x", "size": 3},
///              {"kind": "link", "size": 5, "along": "previous", "source": 3},
///              {"kind": "affine", "name": "z", "size": 5, "bias": {"kind": "constant"},
///               "terms": [{"name": "W", "source": 0}, {"name": "U", "source": 1, "init": {"kind": "orthogonal"}}]},
///              {"kind": "map", "map": "tanh", "of": [2]}],
///    "outputs": [3]}
///
/// A node reads only earlier nodes, except that a link may read any node. Equal circuits have equal JSON, and reading
/// the JSON of a circuit restores the same circuit.

#include <nlohmann/json_fwd.hpp>

#include "graph/stored/circuit_data.h"

namespace unfold {

/// Bounds on a circuit in a file. They prevent a small file from describing a circuit that takes much time or memory.
inline constexpr Index kMostStoredNodes = 4096;
inline constexpr Index kMostStoredNumbers = Index{1} << 24;  ///< components of all nodes, with the steps of links

/// Throws a UsageError that names the node for an operator that the program defines, a number that is not finite, or a
/// circuit that exceeds the bounds.
nlohmann::json circuit_to_json(const CircuitData& data);
/// Reads JSON from an untrusted source. Throws a UsageError that names the place. Does not repeat the checks of
/// add_circuit.
CircuitData circuit_from_json(const nlohmann::json& json);

nlohmann::json init_to_json(const Init& init);
/// Throws UsageError.
Init init_from_json(const nlohmann::json& json);

}  // namespace unfold
