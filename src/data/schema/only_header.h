#pragma once
/// The error about a table that consists of a header.

#include <string>

#include "unfold/base/error.h"

namespace unfold {

[[noreturn]] inline void refuse_only_header(const std::string& source) {
  throw DataError(source + ": it contains only the names of the columns; add rows below them");
}

}  // namespace unfold
