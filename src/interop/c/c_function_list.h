#pragma once
/// The lists of C functions from which export_c_functions.h assembles a file. Each entry names its callees, and callees
/// come first. The source text uses the placeholders described there.

#include <string>
#include <vector>

namespace unfold {

/// One C function, or several that belong together.
struct CFunction {
  std::string name;
  std::vector<std::string> calls;
  std::string text;
};

/// Functions of numbers, each written once over vectors.
std::vector<CFunction> c_number_functions(bool wide);
/// Sums, products and element-wise functions of rows, one text for both precisions. They call functions of numbers.
std::vector<CFunction> c_row_functions();

}  // namespace unfold
