#pragma once
/// What `compress -1` .. `-9` mean, and what the bytes of a file suggest: records, bitmaps, genomes.

#include <string>
#include <string_view>

#include "unfold/base/types.h"

namespace unfold {

inline constexpr Index kFastLevel = 4, kDefaultLevel = 6, kBestLevel = 9;

struct LevelChoice {
  std::string model;       ///< SPEC
  std::string bytes = {};  ///< the alphabet of the model, in rising order; empty: all bytes
};

/// The model of a level, 1 .. 9. `beginning`: of what is to be compressed, as much as is at hand; empty: nothing is
/// known. `size`: in all, or of a block, in bytes; -1: not known.
LevelChoice choose_level(Index level, std::string_view beginning, Index size);

/// The letters of a genome, ACGT, acgt or ACGU, if nearly all bytes are among them; empty: it is none.
std::string bases_of(std::string_view bytes);

/// Nearly all bytes are those of texts: printable ones, ends of lines, anything from 128 on. False for no bytes.
bool is_text(std::string_view bytes);

}  // namespace unfold
