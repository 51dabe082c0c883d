#pragma once
/// What a caller says of examples himself: `--given FIELD=VALUE`.

#include <string>
#include <vector>

#include "unfold/capabilities/model.h"
#include "unfold/data/examples.h"

namespace unfold {

/// "FIELD=VALUE,OTHER=VALUE" in pieces; what has no "=" belongs to the value before.
std::vector<std::string> split_given(const std::string& text);

/// Puts VALUE in place of what FIELD was in every example, for each "FIELD=VALUE"; numbers of a vector with commas
/// between them. Throws UsageError: a text without "=", a field that the model is not given once, a class that it never
/// saw, what is no number.
void give(const Model& model, const std::vector<std::string>& given, Examples& examples);

/// `count` examples of nothing but what is given; of pairs "source=TEXT". Throws as `give`, and UsageError where
/// something that the model reads is not said.
Examples given_examples(const Model& model, const std::vector<std::string>& given, Index count);

}  // namespace unfold
