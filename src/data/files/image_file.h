#pragma once
/// Decodes image files to numbers: PNG through libpng, and the Netpbm formats PGM and PPM (P2, P3, P5, P6), which are
/// parsed here (https://netpbm.sourceforge.net/doc/pgm.html).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Limits on the side length and the number of pixels of an image, to reject files with false headers.
inline constexpr Index kMostSide = Index{1} << 15, kMostPixels = Index{1} << 24;

struct Image {
  Index height = 0, width = 0;
  Index channels = 1;                      ///< 1: gray; 3: red, green, blue
  std::vector<std::uint16_t> pixels = {};  ///< row by row, with interleaved channels
};

bool is_png(std::string_view bytes);  ///< checks the first bytes
bool is_pnm(std::string_view bytes);

/// Returns levels 0 to 255: deeper ones are rounded, and transparent pixels are drawn on black. Throws a DataError that
/// begins with `source` if the image is damaged, truncated, empty, or larger than the limits.
Image read_png(const std::string& source, std::string_view bytes);
/// Returns levels from 0 to the maximum in the header, which is at most 65535. Throws a DataError that names the
/// position if the image is damaged, truncated, or larger than the limits, if a level exceeds the maximum, or if there
/// is data after the image.
Image read_pnm(const std::string& source, std::string_view bytes);

}  // namespace unfold
