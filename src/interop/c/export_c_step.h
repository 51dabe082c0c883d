#pragma once
/// The step of a circuit as C source: the plan evaluated on one row, with the plan's order of sums (export_c.h).
/// Internal to interop/.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "interop/c/export_c_functions.h"
#include "interop/steps/value_locations.h"
#include "unfold/graph/circuit/parameters.h"
#include "unfold/graph/plan/plan.h"

namespace unfold {

/// The parts of a C file, with all placeholders replaced.
struct CStep {
  std::string constants;            ///< weights and tables
  std::string fields;               ///< members of the state
  std::string begin;                ///< statements that initialize the state
  std::string statements;           ///< statements of a step
  std::string output_statements;    ///< statements that follow `statements` only if the output is needed
  std::string output;               ///< pointer to the output after these statements
  std::set<std::string> functions;  ///< names for c_functions
  bool uses_places = false;         ///< whether the step uses index tables
};

/// Writes the step. Its inputs in C are the numbers `x[i]` and the symbols `read[k]`, or a single `symbol` if
/// `inputs.texts` is empty; a negative symbol means none. Throws a UsageError that names the unsupported part of the
/// circuit: a different input signal, a link to a later position, or an operator without a C implementation.
template <class T>
CStep write_c_step(const Plan& plan, const Parameters<T>& parameters, int output, const CText& text,
                   const StepInputs& inputs = {});

}  // namespace unfold
