#pragma once
/// Lines that carry a label: in their first column, or in a file of labels beside them.

#include <optional>
#include <string>
#include <vector>

#include "unfold/base/file.h"

namespace unfold {

struct LabelledText {
  Input text;                       ///< the lines without their labels
  std::vector<std::string> labels;  ///< of each line that is left
};

/// Takes the first blank-separated column and the blanks after it from every line. With `only`, lines with another
/// label are left out. Throws DataError naming the line when one has no column, and when nothing is left.
LabelledText split_labels(const Input& input, const std::optional<std::string>& only = {});

/// The texts of inputs without their labels when `column` says so, else the inputs as they are.
std::vector<Input> unlabelled(std::vector<Input> inputs, bool column, const std::optional<std::string>& only = {});

/// A file with one label a line, blanks around it removed. Throws DataError.
std::vector<std::string> read_labels(const Input& input);

}  // namespace unfold
