#pragma once
/// Initialization from the parameters of another model: `train --start-from RUN`.

#include <span>
#include <string>

#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// Returns the specification of the data of the other model if it has the same fields, so that its alphabets and scales
/// stay those of its parameters; otherwise, and if there is no such file, `own`.
DataSpecification initial_specification(const std::string& run, DataSpecification own);
/// Throws DataError for a predicted label that the data of the other model does not have.
void require_known_labels(const std::string& run, const ExampleSet& training, std::span<const std::string> predicts);

/// Copies every parameter that both models have under the same name; the others are unchanged. Returns a note about the
/// copied parameters. `run`: a run folder, a model file, or the name of a model file in memory
/// (data/readers/memory_data.h). Throws ModelError for a parameter of a different shape or type, and UsageError if the
/// model reads or predicts other fields, shares no parameter, or has no layers.
template <class T>
std::string copy_matching_parameters(const std::string& run, NetworkModel<T>& model);

}  // namespace unfold
