#include "graph/cells/tree_options.h"

namespace unfold {

std::string tree_fault(const StackOptions& stack) {
  if (stack.both_directions) return "trees do not support \"bi\"; leave it out";
  if (stack.trained_initial) return "trees do not support trained-initial=; leave it out";
  if (stack.pool != Pool::all && stack.pool != Pool::last)
    return "trees do not support pool=, because the root represents the whole tree; leave it out";
  if (stack.direct > 1) return "trees support only direct=0 and direct=1";
  return "";
}

}  // namespace unfold
