#include "unfold/model/network/language_model.h"

#include "loss/symbol_probabilities.h"
#include "model/network/recurrent_streams.h"
#include "model/network/stored_spec.h"

namespace unfold {

namespace {

/// Throws UsageError for a loss that does not predict one symbol after another.
template <class T>
void require_probabilities(const Network<T>& network) {
  network.heads.front().loss->template need<SymbolProbabilities<T>>("a model of running text");
}

}  // namespace

template <class T>
LanguageModel<T>::LanguageModel(std::string_view spec, const Alphabet& alphabet)
    : LanguageModel(parse_model_spec(spec), alphabet) {}

template <class T>
LanguageModel<T>::LanguageModel(const ModelSpec& spec, const Alphabet& alphabet)
    : SymbolModel(alphabet), body_(spec, data(), NetworkLayout::language_model()) {
  require_probabilities(network());
}

template <class T>
LanguageModel<T>::LanguageModel(const ModelFile& file)
    : SymbolModel(file.expect(kKind)), body_(file, data(), NetworkLayout::language_model()) {
  try {
    require_probabilities(network());
  } catch (const UsageError& error) {
    file.fail(error.what());
  }
}

template <class T>
void LanguageModel<T>::save(const std::string& path, const Parameters<T>& parameters) const {
  SafetensorsWriter writer;
  unfold::add_tensors(writer, parameters);
  write(writer, path);
}

template <class T>
void LanguageModel<T>::add_to_card(nlohmann::json& card) const {
  add_cell_to_card(spec(), card);
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
std::unique_ptr<Predictor> LanguageModel<T>::make_predictor() const {
  return std::make_unique<RecurrentPredictor<T>>(*this);
}

template <class T>
std::unique_ptr<Streams> LanguageModel<T>::streams(Index count, Team& team) const {
  return std::make_unique<RecurrentStreams<T>>(*this, count, team);
}

template class LanguageModel<float>;
template class LanguageModel<double>;

}  // namespace unfold
