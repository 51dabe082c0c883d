#pragma once
/// What the cells over grids have in common. Such a cell reads the positions to the left and above; mirrored
/// (Circuit::mirrored), it reads from another corner.

#include <string>
#include <vector>

#include "unfold/cells/cell.h"

namespace unfold {

/// The options of all cells over grids.
struct GridStackOptions {
  Index directions = 4;     ///< 1: from the top left corner; 2: from both upper ones; 4: from all
  std::string patch = "1";  ///< as "2+2": side of the block of positions that is one position, of each layer
};

template <class Visitor>
void describe_grid(Visitor& v, GridStackOptions& o) {
  constexpr double kMostDirections = 4;
  v("directions", o.directions, "corners to read from: 1 (top left), 2 (both upper ones) or 4",
    range(1, kMostDirections));
  v.add({.name = "patch",
         .target = &o.patch,
         .help = "side of the square of positions that is one position of a layer; of several layers such as 2+2",
         .fallback = OptionValue(std::string("1"))});
}

/// "2+2" as numbers; empty where it is no such list: whole numbers from 1 to 64.
std::vector<Index> parse_patches(const std::string& text);
/// What a cell over grids cannot be asked for; empty: nothing.
std::string grid_fault(const StackOptions& stack, const GridStackOptions& options);
/// How layers of it are laid over grids.
GridStack grid_stack(const GridStackOptions& options);

/// One vector for a whole grid, read at its last position: as pool (pool.h) of a sequence. `layer`: what a layer gives,
/// a signal for each corner that it was read from, top left, top right, bottom left, bottom right. `last` is what each
/// gives at the corner where it ended.
std::vector<Signal> grid_pool(Circuit& c, std::span<const Signal> layer, Pool how);

}  // namespace unfold
