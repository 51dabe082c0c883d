#pragma once
/// Number formatting for tables of results.

#include <string>

namespace unfold {

/// Formats with `digits` digits after the decimal point. A number that rounds to zero has no sign: "0.000000".
std::string decimals(double number, int digits = 6);

/// Turns -0.0 into 0.0, for JSON; returns any other number unchanged.
inline double unsigned_zero(double number) { return number + 0.0; }

}  // namespace unfold
