#pragma once
/// Common parts of the cells over trees.

#include <string>

#include "unfold/graph/cells/cell.h"

namespace unfold {

/// The option `children` of cells that have distinct weights for children.
template <class Visitor>
void describe_children(Visitor& v, Index& children) {
  constexpr double kMostChildren = 64;
  v("children", children, "number of children of a node that have separate weights", range(1, kMostChildren));
}

/// Returns a description of an option that a cell over trees does not support; empty if all are supported.
std::string tree_fault(const StackOptions& stack);

}  // namespace unfold
