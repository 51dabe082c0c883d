#include "graph/circuit/concatenation.h"

#include "unfold/base/error.h"

namespace unfold {

Placed::Placed(Index inputs, Index outputs, Index offset) : inputs_(inputs), outputs_(outputs), offset_(offset) {
  if (inputs < 1 || offset < 0 || offset + inputs > outputs)
    throw UsageError(std::to_string(inputs) + " components cannot be placed at " + std::to_string(offset) + " of " +
                     std::to_string(outputs));
}

std::shared_ptr<const Operator> Placed::path_reading(std::string_view, Index) const {
  return std::make_shared<const Placed>(*this);
}

const Placed* as_concatenation(const Operator* op) { return dynamic_cast<const Placed*>(op); }

Signal concatenate(Circuit& c, std::string_view name, const std::vector<Signal>& parts) {
  std::vector<Signal> single;
  for (const Signal& part : parts) {
    const std::vector<Signal> inner = c.parts(part);
    single.insert(single.end(), inner.begin(), inner.end());
  }
  Index size = 0, offset = 0;
  for (const Signal& part : single) size += part.size();
  std::vector<std::string> names;
  names.reserve(single.size());
  std::vector<Term> terms;
  terms.reserve(single.size());
  for (const Signal& part : single) {
    names.push_back("part" + std::to_string(names.size() + 1));
    terms.push_back(
        {.parameter = names.back(), .source = part, .op = std::make_shared<const Placed>(part.size(), size, offset)});
    offset += part.size();
  }
  return c.affine(name, size, terms, Init::zero(), false);
}

}  // namespace unfold
