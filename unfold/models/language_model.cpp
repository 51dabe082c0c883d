#include "unfold/models/language_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "unfold/data/json.h"
#include "unfold/data/safetensors.h"
#include "unfold/numerics/error.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

using Json = nlohmann::json;
constexpr const char* kFormat = "unfold-language-model";
constexpr int kFormatVersion = 1;

/// A key of the card, of the type that Get asks for.
template <class Get>
Get card_value(const Json& card, const char* key, const std::string& file) {
  const auto found = card.find(key);
  if (found == card.end()) throw ModelError(fmt::format("{}: the card lacks \"{}\"", file, key));
  try {
    return found->get<Get>();
  } catch (const Json::exception&) {
    throw ModelError(fmt::format("{}: \"{}\" in the card is of the wrong type", file, key));
  }
}

Json read_card(const SafetensorsFile& file) {
  Json card = parse_json(file.metadata("card"), file.name());
  if (!card.is_object()) throw ModelError(fmt::format("{}: the card is not a JSON object", file.name()));
  const auto format = card_value<std::string>(card, "format", file.name());
  if (format != kFormat) throw ModelError(fmt::format("{} is not a language model but \"{}\"", file.name(), format));
  const auto version = card_value<int>(card, "format_version", file.name());
  if (version != kFormatVersion)
    throw ModelError(fmt::format("{} has format version {}, this program reads {}; use a program of the same version",
                                 file.name(), version, kFormatVersion));
  return card;
}

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

}  // namespace

template <class T>
LanguageModel<T>::LanguageModel(std::string_view spec, Alphabet alphabet)
    : LanguageModel(parse_model_spec(spec), std::move(alphabet)) {
  allocate();
}

template <class T>
LanguageModel<T>::LanguageModel(const ModelSpec& spec, Alphabet alphabet)
    : spec_(spec), alphabet_(std::move(alphabet)), circuit_(std::make_unique<Circuit>()) {
  if (alphabet_.size() < 1) throw UsageError("a language model needs an alphabet of at least one symbol");
  signals_ = build_model(spec_, alphabet_.size(), *circuit_);
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
Json LanguageModel<T>::card() const {
  return {{"format", kFormat},
          {"format_version", kFormatVersion},
          {"model", to_string(spec_)},
          {"alphabet", alphabet_.to_json()},
          {"configuration", configuration_},
          {"history", history_}};
}

template <class T>
void LanguageModel<T>::fill(SafetensorsWriter& writer, const Parameters<T>& parameters) const {
  for (const ParameterInfo& p : parameters.info())
    writer.add<T>(p.name, {p.rows, p.cols},
                  parameters.flat().subspan(static_cast<std::size_t>(p.offset), static_cast<std::size_t>(p.size())));
  writer.set_metadata("card", card().dump());
}

template <class T>
void LanguageModel<T>::save(const std::string& path, const Parameters<T>& parameters) const {
  SafetensorsWriter writer;
  fill(writer, parameters);
  writer.write(path);
}

template <class T>
std::string LanguageModel<T>::bytes() const {
  SafetensorsWriter writer;
  fill(writer, parameters_);
  return writer.bytes();
}

template <class T>
LanguageModel<T> LanguageModel<T>::read(const SafetensorsFile& file) {
  const Json card = read_card(file);
  const auto text = card_value<std::string>(card, "model", file.name());
  ModelSpec spec;
  try {
    spec = parse_model_spec(text);
  } catch (const UsageError& error) {
    throw ModelError(fmt::format("{}: the model in the card cannot be built: {}", file.name(), error.what()));
  }
  LanguageModel model(spec, Alphabet::from_json(card_value<Json>(card, "alphabet", file.name())));
  check_tensors<T>(*model.circuit_, file);
  model.allocate();
  for (const ParameterInfo& p : model.parameters_.info()) {
    const auto values =
        model.parameters_.flat().subspan(static_cast<std::size_t>(p.offset), static_cast<std::size_t>(p.size()));
    file.read<T>(p.name, {p.rows, p.cols}, values);
    if (!all_finite<T>(values))
      throw ModelError(fmt::format("{}: tensor {} holds a value that is not finite", file.name(), p.name));
  }
  model.configuration_ = card_value<Json>(card, "configuration", file.name());
  model.history_ = card_value<Json>(card, "history", file.name());
  if (!model.history_.is_array()) throw ModelError(fmt::format("{}: \"history\" is not a list", file.name()));
  return model;
}

template <class T>
LanguageModel<T> LanguageModel<T>::load(const std::string& path) {
  return read(SafetensorsFile::open(path));
}

template <class T>
LanguageModel<T> LanguageModel<T>::from_bytes(std::string bytes, std::string name) {
  return read(SafetensorsFile::from_bytes(std::move(bytes), std::move(name)));
}

template class LanguageModel<float>;
template class LanguageModel<double>;

}  // namespace unfold
