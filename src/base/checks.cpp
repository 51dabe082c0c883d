#include "unfold/base/checks.h"

#include <fmt/format.h>

#include "unfold/base/error.h"

namespace unfold {

void fail_index(std::string_view what, Index index, Index size) {
  if (size <= 0) throw UsageError(fmt::format("{} {} is out of range: there are none", what, index));
  throw UsageError(fmt::format("{} {} is out of range: there are {}, numbered from 0", what, index, size));
}

void fail_length(std::string_view what, Index length, Index needed) {
  throw UsageError(fmt::format("{} has {} elements, but {} are needed", what, length, needed));
}

void fail_symbol(std::string_view where, Index symbol, Index alphabet) {
  throw UsageError(fmt::format("{}symbol {} is not in an alphabet of {}", where, symbol, alphabet));
}

void fail_order(std::string_view what, std::string_view remedy) {
  throw UsageError(fmt::format("{}: {}", what, remedy));
}

}  // namespace unfold
