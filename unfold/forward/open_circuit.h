#pragma once
/// A circuit opened at its delays: one step as a function of parameters *and state*,
///
///   s_t = F(theta, s_{t-1}, x_t),   o_t = O(theta, s_{t-1}, x_t)
///
/// What links along `previous` saw are parameters of the opened circuit, behind those of the circuit itself, in the
/// order of State (engine/unfolding.h): one vector [theta | s_{t-1}]. So a backward pass over one position gives both
/// halves of a row of the Jacobian, dF/dtheta and dF/ds, and a tangent pass moves either; no operation needs another
/// rule, and there is no loop left.

#include <memory>
#include <vector>

#include "unfold/engine/plan.h"
#include "unfold/losses/network.h"

namespace unfold {

/// A part of the state: components [offset, offset + size).
struct StateBlock {
  Index offset = 0, size = 0;
  Index initial = -1;  ///< where its trained start lies in theta; -1: it starts from zero
  Signal before = {};  ///< in the opened circuit: what it was at the position before
  Signal after = {};   ///< an output: what it is at this one
};

/// Of a circuit over trees: what a link towards the leaves saw is an input of the opened circuit.
struct ChildLink {
  Delay delay;
  Signal before = {};  ///< the input
  Signal after = {};   ///< an output: what the node gives such links of its parent
};

struct OpenCircuit {
  Circuit circuit;
  std::vector<Signal> of;           ///< of each node of the circuit that was opened
  std::vector<StateBlock> blocks;   ///< by their offsets, without gaps
  std::vector<ChildLink> children;  ///< of a circuit over trees
  Signal always;                    ///< of one symbol, 0, which is to be given: it looks the state up
  Index parameters = 0;             ///< theta: numbers of the circuit that was opened
  Index state = 0;                  ///< numbers behind them
};

/// Opens the circuit of a network. Throws UsageError naming the node, and `who` asks: links other than `previous`,
/// parts of their own chains.
template <class T>
std::unique_ptr<OpenCircuit> open_circuit(const Network<T>& network, std::string_view who);

/// Opens the circuit of a network that finds trees (Network::merges): one node, from its children. Its outputs are that
/// signal and what the node gives its parent. Throws UsageError naming the node: links to what is not a child told
/// apart by its place.
template <class T>
std::unique_ptr<OpenCircuit> open_tree_circuit(const Network<T>& network);

/// The network over an opened circuit: the same fields, the same losses. The circuit must outlive it.
template <class T>
Network<T> open_network(const Network<T>& network, const OpenCircuit& open);

}  // namespace unfold
