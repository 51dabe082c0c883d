#pragma once
/// A circuit opened at its delays: one step becomes a function of the parameters *and the state*,
///
///   s_t = F(theta, s_{t-1}, x_t),   o_t = O(theta, s_{t-1}, x_t)
///
/// The values read by links along `previous` become parameters of the opened circuit, appended to the parameters of the
/// original circuit in the order of State (graph/engine/unfolding.h): one vector [theta | s_{t-1}]. A backward pass
/// over one position then gives both parts of a row of the Jacobian, dF/dtheta and dF/ds, and a tangent pass can take a
/// direction in either. Operations need no additional rules, and the opened circuit contains no loop.

#include <memory>
#include <vector>

#include "unfold/graph/plan/plan.h"
#include "unfold/loss/network.h"

namespace unfold {

/// A part of the state: components [offset, offset + size).
struct StateBlock {
  Index offset = 0, size = 0;
  Index initial = -1;  ///< position of its trained initial value in theta; -1: the initial value is zero
  Signal before = {};  ///< its value at the previous position, in the opened circuit
  Signal after = {};   ///< its value at this position, an output
};

/// For a circuit over trees: the value read by a link toward the leaves is an input of the opened circuit.
struct ChildLink {
  Delay delay;
  Signal before = {};  ///< the input
  Signal after = {};   ///< the value of this node that the links of its parent read; an output of the opened circuit
};

struct OpenCircuit {
  Circuit circuit;
  std::vector<Signal> of;           ///< the opened circuit's signal for each node of the original circuit
  std::vector<StateBlock> blocks;   ///< sorted by offset, without gaps
  std::vector<ChildLink> children;  ///< child links of a circuit over trees
  Signal always;                    ///< a symbol input that must be set to 0; it looks up the state
  Index parameters = 0;             ///< theta: number of parameters of the original circuit
  Index state = 0;                  ///< number of state components, appended to theta
};

/// Opens the circuit of a network. Throws a UsageError that names the node and the caller `who` for links other than
/// `previous` and for nodes of other parts.
template <class T>
std::unique_ptr<OpenCircuit> open_circuit(const Network<T>& network, std::string_view who);

/// Opens the circuit of a network that builds trees (Network::merges) at one node, as a function of its children. The
/// outputs are the merge signal and the values that the node provides to its parent. All links must lead to a child
/// with a fixed index; for any other link, throws a UsageError that names the node.
template <class T>
std::unique_ptr<OpenCircuit> open_tree_circuit(const Network<T>& network);

/// Returns the network over an opened circuit, with the same fields and losses. The circuit must outlive it.
template <class T>
Network<T> open_network(const Network<T>& network, const OpenCircuit& open);

}  // namespace unfold
