#pragma once
/// Internal: steps a network through table rows in streaming mode, carrying its state.

#include <algorithm>
#include <utility>
#include <vector>

#include "data/examples/derived.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/graph/engine/stepper.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// Returns how many positions the inputs of a network look back, for example 3 for "previous(3) load". Features that
/// join several positions, such as word.run2, are included.
template <class T>
Index lookback(const NetworkModel<T>& model) {
  Index reach = 0;
  for (const NetworkInput& input : model.network().inputs) {
    FieldRead read = parse_read(input.field);
    while (const std::optional<DerivedField> derived = parse_derived(read.field)) {
      if (derived->kind == DerivedField::Kind::run) read.back += derived->count;
      read.field = derived->field;
    }
    reach = std::max(reach, read.back);
  }
  return reach;
}

template <class T>
class FieldStepper {
 public:
  /// Throws UsageError for a network that reads future positions.
  FieldStepper(const NetworkModel<T>& model, Team& team)
      : model_(model), stepper_(model.plan(), model.parameters(), team) {
    for (const NetworkInput& input : model.network().inputs) reads_.push_back({parse_read(input.field), input.signal});
  }

  void reset() { stepper_.reset(); }

  /// Reads the inputs at the last position of an example and runs one step of the network.
  void step_at_end_of(const ExampleSet& set) {
    for (const auto& [how, input] : reads_) {
      const FieldSpecification& field = model_.data().field(how.field);
      const FieldColumn& column = set.column(how.field);
      const Index entry = field.once ? 0 : set.length(0) - 1 - how.back;
      if (field.type == FieldSpecification::Type::symbols) {
        stepper_.symbols(input)[0] = entry < 0 ? kNoSymbol : column.symbols[at(entry)];
        continue;
      }
      const Matrix<T> to = stepper_.input(input);
      for (Index i = 0; i < field.size; ++i)
        to.row(0)[i] = entry < 0 ? T{0} : static_cast<T>(column.values[at(entry * field.size + i)]);
    }
    stepper_.step();
  }

  /// Returns the input of the head's loss, [1 x size].
  Matrix<const T> signal(const Head<T>& head) const { return stepper_.value(head.signal); }

 private:
  const NetworkModel<T>& model_;
  Stepper<T> stepper_;
  std::vector<std::pair<FieldRead, Signal>> reads_;
};

}  // namespace unfold
