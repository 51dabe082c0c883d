#pragma once
/// Models for the levels `compress -1` .. `-9`, and content detection: text, records, bitmaps, genomes.

#include <string>
#include <string_view>

#include "unfold/base/types.h"

namespace unfold {

inline constexpr Index kFastLevel = 4, kDefaultLevel = 6, kBestLevel = 9;

struct LevelChoice {
  std::string model;       ///< SPEC
  std::string bytes = {};  ///< the bytes in the alphabet of the model, in ascending order; empty: all bytes
};

/// Returns the model of a level, 1 .. 9. `beginning` contains the available first bytes of the input; empty: unknown
/// content. `size` is the number of bytes of the input or of a block; -1: unknown.
LevelChoice choose_level(Index level, std::string_view beginning, Index size);

/// Returns the nucleotide letters (ACGT, acgt or ACGU) if nearly all bytes are among them; otherwise empty.
std::string bases_of(std::string_view bytes);

/// Returns whether nearly all bytes occur in text: printable characters, newlines, and bytes from 128 up. False if
/// `bytes` is empty.
bool is_text(std::string_view bytes);

}  // namespace unfold
