#include "unfold/graph/circuit/operator.h"

#include "unfold/base/error.h"

namespace unfold {

std::shared_ptr<const Operator> Operator::path_reading(std::string_view parameter, Index) const {
  throw UsageError("path pass: the parameters " + std::string(parameter) + " of a " + std::string(name()) +
                   " map are not weights on paths; use sgd or adam");
}

}  // namespace unfold
