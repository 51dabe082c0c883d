#include "unfold/capabilities/symbol_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unfold/base/error.h"
#include "unfold/base/json.h"

namespace unfold {

using Json = nlohmann::json;

ModelFile::ModelFile(SafetensorsFile tensors) : tensors_(std::move(tensors)) {
  card_ = parse_json(tensors_.metadata("card"), tensors_.name());
  if (!card_->is_object()) fail("the card is not a JSON object");
}

ModelFile ModelFile::open(const std::string& path) { return ModelFile(SafetensorsFile::open(path)); }

ModelFile ModelFile::from_bytes(std::string bytes, std::string name) {
  return ModelFile(SafetensorsFile::from_bytes(std::move(bytes), std::move(name)));
}

void ModelFile::fail(const std::string& what) const { throw ModelError(fmt::format("{}: {}", name(), what)); }

void ModelFile::expect(std::string_view format, int version) const {
  if (this->format() != format) fail(fmt::format("the file is of format \"{}\", not \"{}\"", this->format(), format));
  const int found = value<int>("format_version");
  if (found != version)
    fail(fmt::format("the file has format version {}, this program reads {}; use a program of the same version", found,
                     version));
}

void ModelFile::expect_tensors(const std::vector<std::string>& names) const {
  for (const std::string& wanted : names) tensors_.tensor(wanted);
  for (const Tensor& tensor : tensors_.tensors())
    if (std::find(names.begin(), names.end(), tensor.name) == names.end())
      fail(fmt::format("tensor {} does not belong to such a model", tensor.name));
}

template <class Value>
Value ModelFile::value(const char* key) const {
  const auto found = card_->find(key);
  if (found == card_->end()) fail(fmt::format("the card lacks \"{}\"", key));
  try {
    return found->template get<Value>();
  } catch (const Json::exception&) {
    fail(fmt::format("\"{}\" in the card is of the wrong type", key));
  }
}

template std::string ModelFile::value(const char*) const;
template int ModelFile::value(const char*) const;
template Json ModelFile::value(const char*) const;

SymbolModel::SymbolModel(Alphabet alphabet)
    : alphabet_(std::move(alphabet)), configuration_(Json::object()), history_(Json::array()) {
  if (alphabet_.size() < 1) throw UsageError("a model of symbols needs an alphabet of at least one symbol");
}

SymbolModel::SymbolModel(const ModelFile& file)
    : alphabet_(Alphabet::from_json(file.value<Json>("alphabet"))),
      configuration_(file.value<Json>("configuration")),
      history_(file.value<Json>("history")) {
  if (!history_->is_array()) file.fail("\"history\" is not a list");
}

Json SymbolModel::card() const {
  return {{"format", format()},
          {"format_version", format_version()},
          {"model", spec_text()},
          {"alphabet", alphabet_.to_json()},
          {"configuration", *configuration_},
          {"history", *history_}};
}

void SymbolModel::save(const std::string& path) const {
  SafetensorsWriter writer;
  add_tensors(writer);
  writer.set_metadata("card", card().dump());
  writer.write(path);
}

std::string SymbolModel::bytes() const {
  SafetensorsWriter writer;
  add_tensors(writer);
  writer.set_metadata("card", card().dump());
  return writer.bytes();
}

std::vector<TensorShape> SymbolModel::tensors() const {
  SafetensorsWriter writer;
  add_tensors(writer);
  std::vector<TensorShape> result;
  for (const auto& [name, tensor] : writer.tensors())
    result.push_back({name, tensor.shape.front(), tensor.shape.size() > 1 ? tensor.shape[1] : 1});
  return result;
}

Index SymbolModel::parameter_count() const {
  Index total = 0;
  for (const TensorShape& tensor : tensors()) total += tensor.rows * tensor.cols;
  return total;
}

void SymbolModel::check_alphabet(const Corpus& corpus) const {
  if (!(corpus.alphabet() == alphabet_))
    throw UsageError("the text was read with another alphabet than the model's; read it with the model's own");
}

Evaluation SymbolModel::evaluate(const Corpus& corpus, const Part& part, Team&, const EvaluateOptions& options) const {
  check_alphabet(corpus);
  if (options.segments > 0)
    throw UsageError(fmt::format("segments are for recurrent models; {} is always measured exactly", spec_text()));
  return unfold::evaluate(*predictor(), corpus, part, options.predict_after, options.surprisal);
}

void FitOptions::tick(const char* what, double fraction) const {
  if (stop != nullptr && *stop) throw InterruptedError("interrupted");
  if (progress) progress(what, fraction);
}

}  // namespace unfold
