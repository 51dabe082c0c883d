#pragma once
/// Common parts of the cells over grids. Such a cell reads the positions to the left and above. If it is mirrored
/// (Circuit::mirrored), it reads from another corner.

#include <string>
#include <vector>

#include "unfold/graph/cells/cell.h"

namespace unfold {

/// Options common to all cells over grids.
struct GridStackOptions {
  Index directions = 4;     ///< 1: from the top left corner; 2: from both upper corners; 4: from all four
  bool lines = false;       ///< half of the units read only the left neighbor, the other half only the upper one
  std::string patch = "1";  ///< per layer, side of the block of positions that forms one position, such as "2+2"
};

template <class Visitor>
void describe_grid(Visitor& v, GridStackOptions& o) {
  constexpr double kMostDirections = 4;
  v("directions", o.directions, "number of corners to scan from: 1 (top left), 2 (both upper corners) or 4",
    range(1, kMostDirections));
  v("lines", o.lines, "networks along rows and along columns: each half of the units reads only one of the neighbors");
  v.add({.name = "patch",
         .target = &o.patch,
         .help = "side of the block of positions that forms one position of a layer; one per layer, such as 2+2",
         .fallback = OptionValue(std::string("1"))});
}

/// Parses "2+2"; returns an empty list if it is not a list of integers from 1 to 64.
std::vector<Index> parse_patches(const std::string& text);
/// Returns a description of an option that a cell over grids does not support; empty if all are supported.
std::string grid_fault(const StackOptions& stack, const GridStackOptions& options);
/// Returns the layout of the layers of such a cell.
GridStack grid_stack(const GridStackOptions& options);

/// One vector for a whole grid, read at its last position, like pool (pool.h) for a sequence. `layer` is the output of
/// a layer, one signal for each corner from which it was scanned: top left, top right, bottom left, bottom right.
/// `last` is the value of each signal at the corner where its scan ended.
std::vector<Signal> grid_pool(Circuit& c, std::span<const Signal> layer, Pool how);

}  // namespace unfold
