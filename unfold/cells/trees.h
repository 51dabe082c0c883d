#pragma once
/// What the cells over trees have in common.

#include <string>

#include "unfold/cells/cell.h"

namespace unfold {

/// The option `children` of cells that tell children apart.
template <class Visitor>
void describe_children(Visitor& v, Index& children) {
  constexpr double kMostChildren = 64;
  v("children", children, "of a node, so many are told apart by their place", range(1, kMostChildren));
}

/// What a cell over trees cannot be asked for; empty: nothing.
std::string tree_fault(const StackOptions& stack);

}  // namespace unfold
