#pragma once
/// The step of a circuit as C: what the plan runs on one row, in the plan's order of sums (export_c.h). Internal to
/// programs/.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "unfold/circuit/parameters.h"
#include "unfold/engine/plan.h"
#include "unfold/programs/export_c_functions.h"
#include "unfold/programs/step_places.h"

namespace unfold {

/// The parts of a C file; texts are final.
struct CStep {
  std::string constants;            ///< weights and tables
  std::string fields;               ///< members of the state
  std::string begin;                ///< statements: the state before the first symbol
  std::string statements;           ///< of a step
  std::string output_statements;    ///< after them, where the output is wanted
  std::string output;               ///< where it is then
  std::set<std::string> functions;  ///< of c_functions
  bool uses_places = false;         ///< there are tables of places
};

/// The step has `x[i]`, what is read, and `read[k]`, or `symbol` where nothing is said of texts; below 0: none.
/// Throws UsageError naming what in the circuit cannot be written: another signal that is given, a link that does not
/// look back, an operator that no text is known for.
template <class T>
CStep write_c_step(const Plan& plan, const Parameters<T>& parameters, int output, const CText& text,
                   const StepInputs& inputs = {});

}  // namespace unfold
