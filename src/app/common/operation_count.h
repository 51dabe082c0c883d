#pragma once
/// Numbers of arithmetic operations in units that people read.

#include <string>

namespace unfold {

/// Returns a number of additions and multiplications with two significant digits: "34 GFLOP", "1.5 TFLOP",
/// "less than 1 MFLOP".
std::string operation_count_text(double operations);

}  // namespace unfold
