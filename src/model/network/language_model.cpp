#include "unfold/model/network/language_model.h"

namespace unfold {

template <class T>
LanguageModel<T>::LanguageModel(std::string_view spec, const Alphabet& alphabet)
    : SymbolModel(alphabet), body_(parse_model_spec(spec), data(), NetworkLayout::language_model()) {}

template <class T>
LanguageModel<T>::LanguageModel(const ModelFile& file)
    : SymbolModel(file.expect(kKind)), body_(file, data(), NetworkLayout::language_model()) {}

template <class T>
void LanguageModel<T>::save(const std::string& path, const Parameters<T>& parameters) const {
  SafetensorsWriter writer;
  unfold::add_tensors(writer, parameters);
  write(writer, path);
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

template class LanguageModel<float>;
template class LanguageModel<double>;

}  // namespace unfold
