#pragma once
/// Numbers as tables of results print them.

#include <string>

namespace unfold {

/// With so many digits behind the point. What rounds to zero has no sign, from whichever side it comes: "0.000000".
std::string decimals(double number, int digits = 6);

/// A zero without its sign, for JSON; any other number as it is.
inline double unsigned_zero(double number) { return number + 0.0; }

}  // namespace unfold
