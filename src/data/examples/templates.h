#pragma once
/// Feature templates: fields composed of entries around a position, the features of a linear label model.
///
///   word[-1]            the entry one position earlier; before the first of an example "_B-1", "_B-2", after the last
///                       "_B+1", ...
///   word[0]|pos[1]      several entries joined: each combination is a separate symbol
///   word.suffix3[2]     the name before the bracket may be derived (data/examples/derived.h)
///
/// A template file in the syntax of CRF++ refers to columns by number, from 0: `U03:%x[-1,0]/%x[0,0]`. A line `B`
/// requests weights between consecutive labels, and `B01:%x[0,0]` requests such weights that depend on the features.

#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/formats/file.h"
#include "unfold/base/types.h"

namespace unfold {

struct TemplatePart {
  std::string field;
  Index offset = 0;
  bool operator==(const TemplatePart&) const = default;
};

/// Parses a template; empty if the name does not have one of the forms above.
std::vector<TemplatePart> parse_template(std::string_view name);
std::string template_name(const std::vector<TemplatePart>& parts);

struct TemplateFile {
  std::vector<std::string> reads;       ///< names of fields as above, in the order of the file, without duplicates
  bool bigrams = false;                 ///< the file has a line `B`
  std::vector<std::string> steps = {};  ///< names of the fields in lines `B01:%x[0,0]`, without duplicates
};
/// `columns`: the column names of the data. Throws DataError with the file, the line and the remedy.
TemplateFile read_templates(const Input& input, const std::vector<std::string>& columns);

}  // namespace unfold
