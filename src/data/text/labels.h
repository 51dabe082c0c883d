#pragma once
/// Reads lines with labels, which are in the first column or in a separate file.

#include <optional>
#include <string>
#include <vector>

#include "unfold/base/formats/file.h"

namespace unfold {

struct LabeledText {
  Input text;                       ///< the lines without their labels
  std::vector<std::string> labels;  ///< one label per line of `text`
};

/// Removes the first blank-separated column and the following blanks from every line. With `only`, lines with a
/// different label are dropped. Throws DataError if a line has no column, naming the line, or if no line is left.
LabeledText split_labels(const Input& input, const std::optional<std::string>& only = {});

/// Removes the labels from the inputs if `column` is set; otherwise returns the inputs unchanged.
std::vector<Input> unlabeled(std::vector<Input> inputs, bool column, const std::optional<std::string>& only = {});

/// Reads a file with one label per line; surrounding blanks are removed. Throws DataError.
std::vector<std::string> read_labels(const Input& input);

}  // namespace unfold
