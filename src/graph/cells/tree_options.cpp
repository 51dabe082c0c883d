#include "graph/cells/tree_options.h"

namespace unfold {

std::string tree_fault(const StackOptions& stack) {
  if (stack.both_directions) return "a tree is read from its leaves to its root; leave \"bi\" out";
  if (stack.trained_initial) return "a leaf has no state before it; leave trained-initial out";
  if (stack.pool != Pool::all && stack.pool != Pool::last) return "the root stands for the whole tree; leave pool out";
  if (stack.direct > 1) return "direct=1 reads the input of the node itself, and a tree has no order beyond it";
  return "";
}

}  // namespace unfold
