#include "unfold/models/language_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "unfold/numerics/error.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

/// Every parameter of the circuit is there, in its shape and type, and nothing else is. Checked before any memory is
/// taken, so that a card of enormous sizes does no harm.
template <class T>
void check_tensors(const Circuit& circuit, const SafetensorsFile& file) {
  for (const ParameterInfo& p : circuit.parameters()) {
    const Tensor& tensor = file.tensor(p.name);
    if (tensor.dtype != DtypeOf<T>::value)
      throw ModelError(fmt::format("{}: tensor {} has type {}, the model needs {}", file.name(), p.name,
                                   to_string(tensor.dtype), to_string(DtypeOf<T>::value)));
    if (tensor.shape != std::vector<Index>{p.rows, p.cols})
      throw ModelError(fmt::format("{}: tensor {} has shape [{}], the model needs [{}, {}]", file.name(), p.name,
                                   fmt::join(tensor.shape, ", "), p.rows, p.cols));
  }
  for (const Tensor& tensor : file.tensors()) {
    const auto same = [&](const ParameterInfo& p) { return p.name == tensor.name; };
    if (std::none_of(circuit.parameters().begin(), circuit.parameters().end(), same))
      throw ModelError(fmt::format("{}: tensor {} belongs to no parameter of the model", file.name(), tensor.name));
  }
}

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
  for (const ParameterInfo& p : parameters_.info()) {
    const auto values =
        parameters_.flat().subspan(static_cast<std::size_t>(p.offset), static_cast<std::size_t>(p.size()));
    file.tensors().read<T>(p.name, {p.rows, p.cols}, values);
    if (!all_finite<T>(values)) file.fail(fmt::format("tensor {} holds a value that is not finite", p.name));
  }
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
void LanguageModel<T>::add_tensors(SafetensorsWriter& writer, const Parameters<T>& parameters) const {
  for (const ParameterInfo& p : parameters.info())
    writer.add<T>(p.name, {p.rows, p.cols},
                  parameters.flat().subspan(static_cast<std::size_t>(p.offset), static_cast<std::size_t>(p.size())));
}

template <class T>
void LanguageModel<T>::save(const std::string& path, const Parameters<T>& parameters) const {
  SafetensorsWriter writer;
  add_tensors(writer, parameters);
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
