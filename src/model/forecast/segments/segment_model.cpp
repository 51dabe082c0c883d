#include "model/forecast/segments/segment_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unfold/base/error.h"
#include "unfold/model/parameter_tensors.h"

namespace unfold::forecasting {
namespace {

DataSpecification specification() {
  return {.source = "series", .fields = {{.name = "value", .type = FieldSpecification::Type::values, .size = 1}}};
}

SegmentShape read_shape(const ModelFile& file) {
  const auto card = file.value<nlohmann::json>("segments");
  SegmentShape shape;
  try {
    shape.segment = card.at("segment").get<Index>();
    shape.window = card.at("window").get<Index>();
    shape.horizon = card.at("horizon").get<Index>();
    shape.units = card.at("units").get<Index>();
    shape.series = card.at("series").get<Index>();
    shape.dropout = card.at("dropout").get<double>();
    shape.levels = card.at("levels").get<std::vector<double>>();
  } catch (const nlohmann::json::exception&) {
    file.fail("\"segments\" in the card does not contain the sizes of the network");
  }
  return shape;
}

std::vector<std::string> read_names(const ModelFile& file) {
  try {
    return file.value<nlohmann::json>("series").get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception&) {
    file.fail("\"series\" in the card is not a list of names");
  }
}

std::shared_ptr<const SegmentNetwork<float>> read_segment_network(const ModelFile& file) {
  try {
    return std::make_shared<const SegmentNetwork<float>>(read_shape(file), file.tensors());
  } catch (const UsageError& error) {
    file.fail(error.what());
  }
}

}  // namespace

std::string describe(const SegmentShape& shape) {
  return fmt::format("segments:{},window={},horizon={},units={}", shape.segment, shape.window, shape.horizon,
                     shape.units);
}

SegmentModel::SegmentModel(std::shared_ptr<const SegmentNetwork<float>> network, std::vector<std::string> names)
    : Model(specification()), network_(std::move(network)), names_(std::move(names)) {
  if (static_cast<Index>(names_.size()) != network_->shape().series)
    throw UsageError(fmt::format("segments: {} names were given for the embeddings of {} series", names_.size(),
                                 network_->shape().series));
}

SegmentModel::SegmentModel(const ModelFile& file)
    : Model(file.expect(kKind)), network_(read_segment_network(file)), names_(read_names(file)) {
  if (static_cast<Index>(names_.size()) != network_->shape().series)
    file.fail("\"series\" in the card does not name every series with an embedding");
}

std::string SegmentModel::spec_text() const { return describe(network_->shape()); }

Index SegmentModel::embedding(const std::string& name) const {
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() ? -1 : found - names_.begin();
}

void SegmentModel::add_tensors(SafetensorsWriter& writer) const { unfold::add_tensors(writer, network_->parameters()); }

void SegmentModel::add_to_card(nlohmann::json& card) const {
  const SegmentShape& shape = network_->shape();
  card["segments"] = {{"segment", shape.segment}, {"window", shape.window}, {"horizon", shape.horizon},
                      {"units", shape.units},     {"series", shape.series}, {"dropout", shape.dropout},
                      {"levels", shape.levels}};
  card["series"] = names_;
}

}  // namespace unfold::forecasting
