#pragma once
/// What a step of a network of fields is given and what it gives, for who writes it down in another language
/// (export_c_fields.h, export_onnx_fields.h). Internal to programs/.

#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/error.h"
#include "unfold/models/network_model.h"
#include "unfold/programs/step_places.h"

namespace unfold {

struct FieldReads {
  StepInputs signals = {};
  std::vector<std::string> names = {};  ///< of all numbers, in their order
  std::vector<double> mean = {}, deviation = {};
  std::vector<std::string> texts = {};  ///< of all texts
  std::vector<const FieldSpecification*> fields = {};
  bool looks_back = false;  ///< a step reads the position before the one that it speaks of
};
/// Throws UsageError naming what a step cannot be given.
template <class T>
FieldReads reads_of(const NetworkModel<T>& model);

/// Throws UsageError where a network has several heads: a step gives one thing.
template <class T>
const Head<T>& exported_head(const Network<T>& network, std::string_view who) {
  if (network.heads.size() == 1) return network.heads.front();
  throw UsageError(std::string(who) + " writes networks that predict one field, and this one predicts " +
                   std::to_string(network.heads.size()));
}

/// What a step gives of its field.
enum class FieldGiven { labels, means, probabilities, means_and_deviations };
/// Throws UsageError for other losses.
FieldGiven given_by(std::string_view loss);

/// Appends the names of a field's numbers, and how they are standardised.
void add_field(const FieldSpecification& field, std::vector<std::string>& names, std::vector<double>& mean,
               std::vector<double>& deviation);

}  // namespace unfold
