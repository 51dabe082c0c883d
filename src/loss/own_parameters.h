#pragma once
/// Internal: the parameters that a loss owns, as a list of tables. They are declared under the name of the signal of
/// the loss, initialized to 0, and accessed in a vector of all parameters of the circuit.
///
///   own_.declare(circuit, signal, {{"transitions", n, n}, {"start", 1, n}});
///   std::vector<double> start = own_.numbers(o.parameters, 1);
///   own_.add(counts, scale, 1, own_gradient);

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "unfold/base/checks.h"
#include "unfold/graph/circuit/circuit.h"

namespace unfold {

class OwnParameters {
 public:
  struct Table {
    const char* name;
    Index rows, cols;
  };

  /// Appends tables.
  void declare(Circuit& circuit, Signal signal, std::initializer_list<Table> tables) {
    const std::string owner = circuit.nodes()[at(signal.id)].name;
    circuit_ = &circuit;
    for (const Table& each : tables)
      ids_.push_back(circuit.parameter(owner + "/" + each.name, each.rows, each.cols, Init::zero()));
  }
  std::span<const int> ids() const { return ids_; }

  /// Returns a table as doubles.
  template <class T>
  std::vector<double> numbers(std::span<const T> all, std::size_t table) const {
    const ParameterInfo& info = info_of(table);
    require_range("loss: parameter", info.offset, info.size(), static_cast<Index>(all.size()));
    const auto part = all.subspan(at(info.offset), at(info.size()));
    return {part.begin(), part.end()};
  }
  /// Adds scale * x to a table of `all`.
  template <class T>
  void add(const std::vector<double>& x, double scale, std::size_t table, std::span<T> all) const {
    const std::size_t offset = at(info_of(table).offset);
    require_range("loss: gradient of parameter", static_cast<Index>(offset), static_cast<Index>(x.size()),
                  static_cast<Index>(all.size()));
    for (std::size_t i = 0; i < x.size(); ++i) all[offset + i] += static_cast<T>(scale * x[i]);
  }

 private:
  const ParameterInfo& info_of(std::size_t table) const {
    require_order(circuit_ != nullptr, "loss", "declare it in the circuit of its signal first");
    return circuit_->parameters()[at(ids_[table])];
  }

  const Circuit* circuit_ = nullptr;
  std::vector<int> ids_;
};

}  // namespace unfold
