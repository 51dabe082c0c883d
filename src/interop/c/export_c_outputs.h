#pragma once
/// The outputs of an exported network that predicts a field, as C source: log-probabilities of labels, or numbers in
/// units of the data. Internal to interop/.

#include <set>
#include <string>
#include <vector>

#include "interop/steps/step_fields.h"
#include "unfold/data/examples/specification.h"

namespace unfold {

/// Returns a constant table of doubles.
std::string c_table(const char* name, const std::vector<double>& numbers);

class COutputs {
 public:
  COutputs(const FieldSpecification& field, FieldOutput given) : field_(field), given_(given) {}

  FieldOutput given() const { return given_; }
  std::string arguments(bool types) const;  ///< arguments of the function that predicts
  std::string what_is_given() const;        ///< description of the results, for comments
  std::string tables() const;               ///< tables that convert results to units of the data
  std::set<std::string> functions() const;  ///< names for c_functions
  /// Statements that compute the results from the signal at the pointer `signal`, which `statements` compute.
  std::string text(const std::string& statements, const std::string& signal) const;

 private:
  const FieldSpecification& field_;
  FieldOutput given_;
};

}  // namespace unfold
