#pragma once
/// The outputs of the layers and the gates of a network, and the states of a hidden Markov model, as arrays.

#include <nanobind/nanobind.h>

#include <string>

#include "unfold/model/model.h"

namespace unfold::python {

namespace nb = nanobind;

/// Returns {"layer1": [positions, units], ...} for a text; for data with fields, a list of such dictionaries, one per
/// example. Exactly one of `data` and `text` is not None. Row t is the state after reading position t. `gates` adds the
/// gates. For a hidden Markov model of text: {"state": [positions], numbered from 0, "probabilities": [positions,
/// states]}. Throws UsageError, DataError.
nb::object states_of(const Model& model, const std::string& name, nb::handle data, nb::handle text, bool gates);

}  // namespace unfold::python
