#pragma once
/// Detection of the length of records, and of the rows of bitmaps, in bytes.

#include <cstdint>
#include <span>

#include "unfold/base/types.h"

namespace unfold {

/// Detects the row length of the data: the distance at which most bytes repeat, if that is well above the average; 0 if
/// there is none.
Index find_row(std::span<const std::uint8_t> bytes);

}  // namespace unfold
