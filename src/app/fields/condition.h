#pragma once
/// Conditions set by the caller for examples: `--given FIELD=VALUE`.

#include <string>
#include <vector>

#include "unfold/data/examples/examples.h"
#include "unfold/model/model.h"

namespace unfold {

/// Splits "FIELD=VALUE,OTHER=VALUE"; a piece without "=" belongs to the preceding value.
std::vector<std::string> split_given(const std::string& text);

/// Sets FIELD to VALUE in every example, for each "FIELD=VALUE". The numbers of a vector are separated by commas.
/// Throws UsageError for an item without "=", a field that is not a once-per-example input of the model, an unknown
/// class, or an invalid number.
void give(const Model& model, const std::vector<std::string>& given, Examples& examples);

/// Returns `count` examples that consist only of the given fields; for pairs, "source=TEXT". Throws like `give`, and
/// UsageError if an input of the model is not given.
Examples conditioned_examples(const Model& model, const std::vector<std::string>& given, Index count);

}  // namespace unfold
