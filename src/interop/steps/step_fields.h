#pragma once
/// Inputs and outputs of one step of a network over named fields, for export to other languages (export_c_fields.h,
/// export_onnx.h). Internal to interop/.

#include <string>
#include <string_view>
#include <vector>

#include "interop/steps/value_locations.h"
#include "unfold/base/error.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

struct FieldReads {
  StepInputs signals = {};
  std::vector<std::string> names = {};  ///< names of all numbers, in order
  std::vector<double> mean = {}, deviation = {};
  std::vector<std::string> texts = {};  ///< names of all symbolic fields
  std::vector<const FieldSpecification*> fields = {};
  bool looks_back = false;  ///< a step reads the position before the one that it predicts
};
/// Throws a UsageError that names an input that a step cannot have.
template <class T>
FieldReads reads_of(const NetworkModel<T>& model);

/// Returns the head of a network. Throws UsageError if it has several: a step has a single output.
template <class T>
const Head<T>& exported_head(const Network<T>& network, std::string_view who) {
  if (network.heads.size() == 1) return network.heads.front();
  throw UsageError(std::string(who) + " writes networks that predict one field, and this one predicts " +
                   std::to_string(network.heads.size()));
}

/// The quantity that a step outputs for its field.
enum class FieldOutput { labels, means, probabilities, means_and_deviations };
/// Throws UsageError for other losses.
FieldOutput given_by(std::string_view loss);

/// Appends the names of a field's numbers and their means and standard deviations.
void add_field(const FieldSpecification& field, std::vector<std::string>& names, std::vector<double>& mean,
               std::vector<double>& deviation);

}  // namespace unfold
