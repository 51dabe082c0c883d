#pragma once
/// Generated grids, where only what is far away decides: rooms with walls between them, each filled with a texture and
/// marked at one place; all positions of a room have the label that its mark says, and its texture says nothing.
///
///   #######	_______        stripes along the rows, which say nothing, and the mark b, which says 1
///   #.....#	_11111_
///   #:::b:#	_11111_
///   #.....#	_11111_
///   #######	_______
///
/// They are files of the format `grids` (readers/read_grids.cpp). A perfect model is never wrong. What is seen around a
/// position says nothing about its label, unless the mark is near.

#include <string>
#include <string_view>

#include "unfold/base/registry.h"

namespace unfold {

/// Grids of `size` x `size` positions, divided again and again into rooms at least `room` positions wide and high.
/// There are three textures: stripes along rows, stripes along columns, and a chequered pattern; `marks` kinds of marks
/// and as many labels.
struct TextureOptions {
  Index size = 24;
  Index room = 6;
  Index marks = 3;
};

struct GeneratedGrids {
  std::string text;  ///< blocks of lines
  Index positions = 0, labels = 0;
  Index within = 0;  ///< labelled positions whose mark is at most kTextureNear rows and columns away
};
inline constexpr Index kTextureNear = 2;

bool is_grid_task(std::string_view spec);
/// The same for a SPEC, seed and count on every machine. Throws UsageError: an unknown option, a value out of range.
GeneratedGrids generate_grids(std::string_view spec, std::uint64_t seed, Index count);
std::vector<EntryHelp> grid_tasks();

}  // namespace unfold
