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

struct OpenCircuit {
  Circuit circuit;
  std::vector<Signal> of;          ///< of each node of the circuit that was opened
  std::vector<StateBlock> blocks;  ///< by their offsets, without gaps
  Signal always;                   ///< of one symbol, 0, which is to be given: it looks the state up
  Index parameters = 0;            ///< theta: numbers of the circuit that was opened
  Index state = 0;                 ///< numbers behind them
};

/// Opens the circuit of a network. Throws UsageError naming the node, and `who` asks: links other than `previous`,
/// parts of their own chains.
template <class T>
std::unique_ptr<OpenCircuit> open_circuit(const Network<T>& network, std::string_view who);

/// The network over an opened circuit: the same fields, the same losses. The circuit must outlive it.
template <class T>
Network<T> open_network(const Network<T>& network, const OpenCircuit& open);

}  // namespace unfold
