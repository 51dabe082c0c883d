#pragma once
/// Range checks of integer arguments, with the same limits and messages as the command-line options.
///
///   require_in_range("samples", request.samples, 1, 1'000'000);

#include <fmt/format.h>

#include <string_view>

#include "unfold/base/error.h"
#include "unfold/base/types.h"

namespace unfold {

/// Throws UsageError unless least <= value <= most: "samples must be between 1 and 1000000, not 0".
inline void require_in_range(std::string_view option, Index value, Index least, Index most) {
  if (value < least || value > most)
    throw UsageError(fmt::format("{} must be between {} and {}, not {}", option, least, most, value));
}

}  // namespace unfold
