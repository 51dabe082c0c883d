#pragma once
/// Generated grids with long-range dependencies: rooms separated by walls, each filled with a texture and containing
/// one mark. All positions of a room have the label that its mark determines; the texture carries no information.
///
///   #######	_______        stripes along the rows (uninformative), and the mark b, which means label 1
///   #.....#	_11111_
///   #:::b:#	_11111_
///   #.....#	_11111_
///   #######	_______
///
/// The grids are written in the format `grids` (data/readers/read_grids.cpp). A perfect model makes no errors. The
/// neighborhood of a position gives no information about its label unless it contains the mark.

#include <string>
#include <string_view>

#include "unfold/base/options/registry.h"

namespace unfold {

/// Grids of `size` x `size` positions, divided recursively into rooms that are at least `room` positions wide and high.
/// There are three textures (stripes along rows, stripes along columns, and a checkerboard), `marks` kinds of marks and
/// as many labels.
struct TextureOptions {
  Index size = 24;
  Index room = 6;
  Index marks = 3;
};

struct GeneratedGrids {
  std::string text;  ///< blocks of lines
  Index positions = 0, labels = 0;
  Index within = 0;  ///< labeled positions at most kTextureNear rows and columns away from their mark
};
inline constexpr Index kTextureNear = 2;

bool is_grid_task(std::string_view spec);
/// Generates `count` grids. The result depends only on SPEC, seed and count, and is the same on every machine. Throws
/// UsageError for an unknown option or a value out of range.
GeneratedGrids generate_grids(std::string_view spec, std::uint64_t seed, Index count);
std::vector<EntryHelp> grid_tasks();

}  // namespace unfold
