#pragma once
/// What export_c_functions.h puts together: functions in C, each with those that it calls, in an order in which each
/// calls only those before it. Texts are written as there.

#include <string>
#include <vector>

namespace unfold {

/// One function, or a few that belong together.
struct CFunction {
  std::string name;
  std::vector<std::string> calls;
  std::string text;
};

/// Functions of numbers, each written once over vectors of the processor.
std::vector<CFunction> c_number_functions(bool wide);
/// Sums, products and maps of rows, one text for both precisions; they call functions of numbers, too.
std::vector<CFunction> c_row_functions();

}  // namespace unfold
