#pragma once
/// Pictures as numbers: PNG through libpng, and the formats of Netpbm, PGM and PPM (P2, P3, P5, P6), which are plain
/// enough to be read here (https://netpbm.sourceforge.net/doc/pgm.html).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Of an image: positions on a side, and all. Limits against files that only pretend.
inline constexpr Index kMostSide = Index{1} << 15, kMostPixels = Index{1} << 24;

struct Image {
  Index height = 0, width = 0;
  Index channels = 1;                      ///< 1: grey; 3: red, green, blue
  std::vector<std::uint16_t> pixels = {};  ///< row by row, the channels of a pixel beside each other
};

bool is_png(std::string_view bytes);  ///< by its first bytes
bool is_pnm(std::string_view bytes);

/// Levels 0 to 255: deeper ones are rounded, what is transparent lies on black. Throws DataError beginning with
/// `source`: damaged, cut short, empty or larger than the limits.
Image read_png(const std::string& source, std::string_view bytes);
/// Levels 0 to the largest that the header names, at most 65535. Throws DataError naming the place: damaged, cut short,
/// larger than the limits, a level above the largest, something behind the image.
Image read_pnm(const std::string& source, std::string_view bytes);

}  // namespace unfold
