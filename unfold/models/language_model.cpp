#include "unfold/models/language_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unfold/base/error.h"
#include "unfold/models/parameter_tensors.h"

namespace unfold {
namespace {

ModelSpec spec_of(const ModelFile& file) {
  try {
    return parse_model_spec(file.value<std::string>("model"));
  } catch (const UsageError& error) {
    file.fail(fmt::format("the model in the card cannot be built: {}", error.what()));
  }
}

}  // namespace

template <class T>
LanguageModel<T>::LanguageModel(std::string_view spec, Alphabet alphabet)
    : SymbolModel(std::move(alphabet)), spec_(parse_model_spec(spec)) {
  build();
  allocate();
}

template <class T>
LanguageModel<T>::LanguageModel(const ModelFile& file) : SymbolModel(file), spec_(spec_of(file)) {
  file.expect(kFormat, format_version());
  build();
  check_tensors<T>(*circuit_, file.tensors());
  allocate();
  read_tensors(file.tensors(), parameters_);
}

template <class T>
void LanguageModel<T>::build() {
  circuit_ = std::make_unique<Circuit>();
  signals_ = build_model(spec_, alphabet().size(), *circuit_);
}

template <class T>
void LanguageModel<T>::allocate() {
  plan_ = std::make_shared<const Plan>(*circuit_);
  parameters_ = Parameters<T>(*circuit_);
}

template <class T>
Network<T> LanguageModel<T>::network() const {
  return {.plan = plan_,
          .symbols = signals_.symbols,
          .output = signals_.logits,
          .readout = softmax_readout<T>(),
          .dropout = spec_.dropout > 0};
}

template <class T>
void LanguageModel<T>::save(const std::string& path, const Parameters<T>& parameters) const {
  SafetensorsWriter writer;
  unfold::add_tensors(writer, parameters);
  writer.set_metadata("card", card().dump());
  writer.write(path);
}

template <class T>
LanguageModel<T> LanguageModel<T>::load(const std::string& path) {
  return LanguageModel(ModelFile::open(path));
}

template <class T>
LanguageModel<T> LanguageModel<T>::from_bytes(std::string bytes, std::string name) {
  return LanguageModel(ModelFile::from_bytes(std::move(bytes), std::move(name)));
}

template <class T>
std::unique_ptr<Predictor> LanguageModel<T>::predictor() const {
  return std::make_unique<RecurrentPredictor<T>>(*this);
}

template class LanguageModel<float>;
template class LanguageModel<double>;

}  // namespace unfold
