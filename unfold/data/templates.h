#pragma once
/// Fields made of entries around a position: what a linear model of labels reads.
///
///   word[-1]            the entry one position earlier; before the first of an example "_B-1", "_B-2", after the last
///                       "_B+1", ...
///   word[0]|pos[1]      several of them as one: each combination is a symbol of its own
///   word.suffix3[2]     what is in front of the bracket may be derived (data/derived.h)
///
/// A file of templates in the syntax of CRF++ says the same by the numbers of columns, from 0: `U03:%x[-1,0]/%x[0,0]`;
/// a line `B` stands for weights between labels that follow each other, `B01:%x[0,0]` for some that depend on what is
/// read.

#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/file.h"
#include "unfold/base/types.h"

namespace unfold {

struct TemplatePart {
  std::string field;
  Index offset = 0;
  bool operator==(const TemplatePart&) const = default;
};

/// Empty where the name is none of the above.
std::vector<TemplatePart> parse_template(std::string_view name);
std::string template_name(const std::vector<TemplatePart>& parts);

struct TemplateFile {
  std::vector<std::string> reads;       ///< names of fields as above, in the order of the file, each once
  bool bigrams = false;                 ///< it has a line `B`
  std::vector<std::string> steps = {};  ///< names of what lines `B01:%x[0,0]` read, each once
};
/// `columns`: names of the columns of the data. Throws DataError naming file, line and remedy.
TemplateFile read_templates(const Input& input, const std::vector<std::string>& columns);

}  // namespace unfold
