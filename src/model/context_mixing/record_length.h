#pragma once
/// Detection of the length of records, and of the rows of bitmaps, in bytes.

#include <cstdint>
#include <span>

#include "unfold/base/types.h"

namespace unfold {

/// Detects the row length of the data: the distance at which the most bytes repeat, if their number is well above the
/// average; otherwise 0.
Index find_row(std::span<const std::uint8_t> bytes);

}  // namespace unfold
