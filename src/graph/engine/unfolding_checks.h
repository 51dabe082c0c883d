#pragma once
/// The parts of an unfolding, the state of its passes, and the checks of calls. Internal to graph/engine.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/engine/backend.h"
#include "graph/engine/passes.h"
#include "unfold/base/checks.h"

namespace unfold {

/// Throws UsageError if sequences share a source that is read with attention: threads of a team own sequences, and two
/// sequences that refer to the same chain would write to the same memory.
void refuse_shared_memory(const Plan& plan, const Structure& structure);

/// Checks that every sequence reads and writes a separate slot.
void check_slots(const Structure& structure, std::span<const Index> slots);

template <class T>
struct UnfoldingChecks : Parts<T> {
  using Parts<T>::Parts;
  const Node& node(int i) const { return this->layout.node(i); }

  void require_laid() const { require_order(this->layout.laid(), "unfolding", "lay it over a structure first"); }
  void require_parameters() const {
    require_order(this->parameters != nullptr, "unfolding", "set its parameters first");
  }
  void require_forward(const char* who) const {
    require_order(forwarded, who, "call forward first, after lay and set_parameters");
  }
  /// Returns the node of a signal passed by the caller.
  int id_of(Signal signal) const {
    if (signal.circuit != this->plan->circuit()) [[unlikely]]
      refuse_circuit();
    require_index("unfolding: signal", signal.id, signals);
    return signal.id;
  }
  void require_node(int i) const {
    require_index("unfolding: node", i, static_cast<Index>(this->plan->nodes().size()));
    require_laid();
  }
  void require_state(const State<T>& state) const;
  /// Returns whether the values or tangents of node i are in memory after a pass, one row per position in the main
  /// order of the structure.
  bool is_readable(What what, int i) const;
  /// Checks that the caller can read a signal, which is node i outside of its loop.
  void require_readable(What what, Signal signal, int i) const;
  /// Returns the signal that a view reads, which can be an output, or the node itself.
  int viewed(int i) const;
  void require_kept(int i) const {
    if (kept[at(i)] == 0) throw UsageError("unfolding: " + node(i).name + " is not kept");
  }
  /// Checks that every symbol set by the caller is in its alphabet or kNoSymbol.
  void require_symbols() const;
  /// Checks that every output that depends on a parameter has received an adjoint since the structure changed.
  void require_seeds() const;
  void require_host(const char* who) const {
    if (backend != nullptr)
      throw UsageError("unfolding: " + std::string(who) + " works only on the host, not on a device");
  }
  void require_bindable(int i, const Matrix<T>& rows) const;
  void require_memory() const {
    require_order(this->layout.is_complete(What::value), "unfolding",
                  "bind the values that the caller keeps first (bind_value, bind_outside)");
  }
  int input_with_derivative(Signal input) const;

  std::shared_ptr<const Offload> offload;
  std::unique_ptr<Backend<T>> backend;    // null if passes run on the team
  std::vector<int> symbol_nodes;          // signals that are read, in order
  std::vector<char> kept;                 // for each node: whether its values are in memory after a forward pass
  std::vector<char> seeded;               // for each node: whether the caller has set its adjoint
  bool forwarded = false;                 // the values belong to the current structure and parameters
  bool source_known = false;              // the values of deeper parts belong to the current source and parameters
  bool went_back = false, moved = false;  // adjoints and tangents of these values exist
  std::vector<char> readable;             // for each node: whether `value` returns its values over every structure
  int signals = 0;                        // number of nodes of the circuit, which come before those of the plan

 private:
  [[noreturn]] static void refuse_circuit() {
    throw UsageError("unfolding: the signal does not belong to the circuit of the plan");
  }
};

}  // namespace unfold
