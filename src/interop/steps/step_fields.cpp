#include "interop/steps/step_fields.h"

#include <fmt/format.h>

#include "model/network/density_model.h"
#include "unfold/base/error.h"
#include "unfold/data/examples/example_set.h"

namespace unfold {

void add_field(const FieldSpecification& field, std::vector<std::string>& names, std::vector<double>& mean,
               std::vector<double>& deviation) {
  for (Index i = 0; i < field.size; ++i) {
    const auto k = static_cast<std::size_t>(i);
    names.push_back(field.size == 1 ? field.name : fmt::format("{}[{}]", field.name, i));
    mean.push_back(field.mean.empty() ? 0 : field.mean[k]);
    deviation.push_back(field.mean.empty() ? 1 : field.deviation[k]);
  }
}

template <class T>
FieldReads reads_of(const NetworkModel<T>& model) {
  if (is_density(model.spec())) throw UsageError("it is a distribution of vectors");
  FieldReads result;
  for (const NetworkInput& input : model.network().inputs) {
    const FieldRead read = parse_read(input.field);
    const FieldSpecification& field = model.data().field(read.field);
    if (field.spelt) throw UsageError("it reads the character-level field " + input.field);
    if (read.back > 1 || (&input != &model.network().inputs.front() && (read.back == 1) != result.looks_back))
      throw UsageError("it reads " + input.field + ", and other positions too");
    result.looks_back = read.back == 1;
    if (field.type == FieldSpecification::Type::symbols) {
      result.signals.texts.push_back(input.signal.id);
      result.texts.push_back(read.field);
      result.fields.push_back(&field);
    } else {
      result.signals.numbers.push_back(input.signal.id);
      add_field(field, result.names, result.mean, result.deviation);
    }
  }
  return result;
}

template FieldReads reads_of(const NetworkModel<float>&);
template FieldReads reads_of(const NetworkModel<double>&);

FieldOutput given_by(std::string_view loss) {
  if (loss == "softmax") return FieldOutput::labels;
  if (loss == "gaussian") return FieldOutput::means;
  if (loss == "bernoulli") return FieldOutput::probabilities;
  if (loss == "normal") return FieldOutput::means_and_deviations;
  throw UsageError(
      fmt::format("its loss is {}; only softmax, gaussian, bernoulli and normal are supported (train "
                  "--predict FIELD=normal)",
                  loss));
}

}  // namespace unfold
