#pragma once
/// Circuits, signals and initializations as Python objects.
///
/// A circuit belongs to a Python object or, for the duration of a call, to the network that a registered cell is added
/// to. Signals share ownership of a handle to the circuit and raise UsageError once the circuit has been destroyed.

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "unfold/graph/circuit/circuit.h"

namespace unfold::python {

namespace nb = nanobind;

/// A circuit that may be destroyed before the Python objects that refer to it.
class CircuitHandle {
 public:
  CircuitHandle() : owned_(std::make_unique<Circuit>()), circuit_(owned_.get()) {}
  explicit CircuitHandle(Circuit& circuit) : circuit_(&circuit) {}
  CircuitHandle(const CircuitHandle&) = delete;
  CircuitHandle& operator=(const CircuitHandle&) = delete;
  ~CircuitHandle() { close(); }

  /// Throws UsageError after `close`.
  Circuit& get() const;
  /// Ends all scopes, the last one first, and forgets the circuit.
  void close();

  /// Enters a scope, an object such as Circuit::Scope; `leave` ends it.
  int enter(std::shared_ptr<void> scope);
  void leave(int number);

 private:
  std::unique_ptr<Circuit> owned_;
  Circuit* circuit_;
  std::vector<std::pair<int, std::shared_ptr<void>>> scopes_;
  int entered_ = 0;
};

struct PythonCircuit {
  std::shared_ptr<CircuitHandle> handle = std::make_shared<CircuitHandle>();
  Circuit& get() const { return handle->get(); }
};

struct PythonSignal {
  std::shared_ptr<CircuitHandle> handle;
  int id = -1;
  Signal get() const { return {&handle->get(), id}; }
};

/// Adds Circuit, Signal, Term, Init, Operator and register_cell.
void add_circuits(nb::module_& module);
/// Adds the passes over circuits and the losses, on arrays (passes.cpp).
void add_passes(nb::module_& module);
/// Adds Optimizer (optimizer.cpp).
void add_optimizer(nb::module_& module);

}  // namespace unfold::python
