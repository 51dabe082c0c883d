#include "unfold/model/model.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "unfold/base/formats/json.h"

namespace unfold {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "unfold-model";
constexpr int kFormatVersion = 2;

/// Throws ModelError if a name or a text of the caller is not valid UTF-8.
std::string card_text(const Json& card) {
  try {
    return card.dump();
  } catch (const Json::exception&) {
    throw ModelError("model: the names and texts in the card must be valid UTF-8");
  }
}

}  // namespace

ModelFile::ModelFile(SafetensorsFile tensors) : tensors_(std::move(tensors)) {
  card_ = parse_json(tensors_.metadata("card"), tensors_.name());
  if (!card_->is_object()) fail("the card is not a JSON object");
  if (const auto format = value<std::string>("format"); format != kFormat)
    fail(fmt::format("\"{}\" is not a supported model format", format));
  if (const int version = value<int>("format_version"); version != kFormatVersion)
    fail(fmt::format("the file has format version {}, but this program reads {}; use a program of that version",
                     version, kFormatVersion));
}

ModelFile ModelFile::open(const std::string& path) { return ModelFile(SafetensorsFile::open(path)); }

ModelFile ModelFile::from_bytes(std::string bytes, std::string name) {
  return ModelFile(SafetensorsFile::from_bytes(std::move(bytes), std::move(name)));
}

void ModelFile::fail(const std::string& what) const { throw ModelError(fmt::format("{}: {}", name(), what)); }

DataSpecification ModelFile::data() const {
  try {
    return DataSpecification::from_json(value<Json>("data"));
  } catch (const ModelError& error) {
    fail(error.what());
  }
}

const ModelFile& ModelFile::expect(std::string_view kind) const {
  if (this->kind() != kind)
    fail(fmt::format("the file contains a model of kind \"{}\", not \"{}\"", this->kind(), kind));
  return *this;
}

void ModelFile::expect_tensors(const std::vector<std::string>& names) const {
  for (const std::string& wanted : names) tensors_.tensor(wanted);
  for (const Tensor& tensor : tensors_.tensors())
    if (std::find(names.begin(), names.end(), tensor.name) == names.end())
      fail(fmt::format("the tensor {} does not belong to the model", tensor.name));
}

bool ModelFile::has(const char* key) const { return card_->contains(key); }

template <class Value>
Value ModelFile::value(const char* key) const {
  const auto found = card_->find(key);
  if (found == card_->end()) fail(fmt::format("the card does not contain \"{}\"", key));
  try {
    if constexpr (std::integral<Value>) {
      if (const auto number = whole_number<Value>(*found)) return *number;
      fail(fmt::format("\"{}\" in the card is not a valid integer", key));
    } else {
      return found->template get<Value>();
    }
  } catch (const Json::exception&) {
    fail(fmt::format("\"{}\" in the card is of the wrong type", key));
  }
}

template std::string ModelFile::value(const char*) const;
template int ModelFile::value(const char*) const;
template Json ModelFile::value(const char*) const;

Model::Model(DataSpecification data) : data_(std::move(data)), configuration_(Json::object()), history_(Json::array()) {
  if (data_.fields.empty()) throw UsageError("a model requires data with at least one field");
}

Model::Model(const ModelFile& file)
    : data_(file.data()), configuration_(file.value<Json>("configuration")), history_(file.value<Json>("history")) {
  if (!history_->is_array()) file.fail("\"history\" is not a list");
}

Json Model::card() const {
  Json card = {{"format", kFormat},    {"format_version", kFormatVersion}, {"kind", kind()},
               {"model", spec_text()}, {"data", data_.to_json()},          {"configuration", *configuration_},
               {"history", *history_}};
  add_to_card(card);
  return card;
}

void Model::write(SafetensorsWriter& writer, const std::string& path) const {
  writer.set_metadata("card", card_text(card()));
  writer.write(path);
}

void Model::save(const std::string& path) const {
  SafetensorsWriter writer;
  add_tensors(writer);
  write(writer, path);
}

std::string Model::bytes() const {
  SafetensorsWriter writer;
  add_tensors(writer);
  writer.set_metadata("card", card_text(card()));
  return writer.bytes();
}

std::vector<TensorShape> Model::tensors() const {
  SafetensorsWriter writer;
  add_tensors(writer);
  std::vector<TensorShape> result;
  for (const auto& [name, tensor] : writer.tensors())
    result.push_back({name, tensor.shape.front(), tensor.shape.size() > 1 ? tensor.shape[1] : 1});
  return result;
}

Index Model::parameter_count() const {
  Index total = 0;
  for (const TensorShape& tensor : tensors()) total += tensor.rows * tensor.cols;
  return total;
}

}  // namespace unfold
