#include "app/train/stages/without_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "app/fields/field_model.h"
#include "app/fields/missing_columns.h"
#include "base/printable.h"
#include "data/schema/table_schema.h"

namespace unfold {
namespace {

/// Returns the metric that users compare: the first of a list that the head has.
const Measures::value_type* main_measure(const HeadFigures& head) {
  for (const char* name : {"accuracy", "mean_squared_error"})
    if (const auto found = std::ranges::find(head.measures, name, &Measures::value_type::first);
        found != head.measures.end())
      return &*found;
  return nullptr;
}

}  // namespace

std::vector<std::string> columns_beside_text(const Examples& examples) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> names;
  if (examples.schema == nullptr || examples.schema->text() == nullptr) return names;
  for (const ColumnSchema& column : examples.schema->columns)
    if (column.role == ColumnRole::read && column.type != ColumnType::text && examples.find(column.name) != nullptr &&
        names.size() < kMost)
      names.push_back(column.name);
  return names;
}

template <class T>
nlohmann::json metrics_without(const std::vector<std::string>& columns, const NetworkModel<T>& model,
                               const Examples& validation, const FieldFigures& found, Team& team) {
  nlohmann::json result = nlohmann::json::object();
  const std::vector<std::string> predicts = predicted_fields(model.layout());
  const auto data = std::make_shared<const DataSpecification>(model.data());
  for (const std::string& column : columns) {
    const ExampleSet set(without_values_of(validation, column), data, predicts, UnknownPolicy::skip);
    const FieldFigures without = evaluate_fields(model, set, team);
    for (std::size_t h = 0; h < std::min(found.heads.size(), without.heads.size()); ++h) {
      const auto *with = main_measure(found.heads[h]), *other = main_measure(without.heads[h]);
      if (with != nullptr && other != nullptr)
        result[column][found.heads[h].field] = {
            {"measure", with->first}, {"with", with->second}, {"without", other->second}};
    }
  }
  return result;
}

std::vector<std::string> describe_metrics_without(const nlohmann::json& columns) {
  std::vector<std::string> sentences;
  for (const auto& [column, heads] : columns.items())
    for (const auto& [field, found] : heads.items()) {
      std::string measure = found.at("measure").template get<std::string>();
      std::ranges::replace(measure, '_', ' ');
      sentences.push_back(fmt::format(
          "validation without column {}: {} of {} {:.4g}, with it {:.4g}", in_quotes(column), measure, in_quotes(field),
          found.at("without").template get<double>(), found.at("with").template get<double>()));
    }
  return sentences;
}

template nlohmann::json metrics_without(const std::vector<std::string>&, const NetworkModel<float>&, const Examples&,
                                        const FieldFigures&, Team&);
template nlohmann::json metrics_without(const std::vector<std::string>&, const NetworkModel<double>&, const Examples&,
                                        const FieldFigures&, Team&);

}  // namespace unfold
