#pragma once
/// The weights of examples from a column of the data. They become the column kExampleWeights
/// (data/text/example_weights.h), which models neither read nor predict.

#include <optional>
#include <string>
#include <vector>

#include "unfold/data/examples/example_set.h"
#include "unfold/data/examples/examples.h"

namespace unfold {

/// Removes a column and returns it; nothing for an empty name. Throws DataError if there is no such column.
std::optional<ExampleColumn> take_column(const std::string& name, Examples& examples);

/// Adds the weights in a column with one number per example or, with the same number at all positions of an example,
/// per position. Removes the examples with weight 0. Throws a DataError that names the line for other numbers, and if
/// all weights are 0.
void add_weights(const ExampleColumn& weights, Examples& examples);

/// Returns the weights of all examples, scaled so that their mean is 1; all are 1 if the set has no weights.
std::vector<double> weights_with_mean_one(const ExampleSet& examples);

}  // namespace unfold
