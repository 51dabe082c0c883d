#include "app/predict/imputation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/fields/conditional_density.h"
#include "app/fields/field_entries.h"
#include "app/fields/field_reading.h"
#include "base/options/integer_range.h"
#include "base/options/suggestions.h"
#include "base/printable.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

template <class T>
PartialVector<T> known_part(const VectorModel<T>& model, const double* row, const std::string& where) {
  const std::size_t n = model.names().size();
  PartialVector<T> part{std::vector<char>(n), std::vector<T>(n)};
  for (std::size_t d = 0; d < n; ++d) {
    if (std::isnan(row[d])) continue;
    if (model.is_bit(d) && row[d] != 0 && row[d] != 1)
      throw DataError(
          fmt::format("{}: {} is {}, but the model supports only bits, 0 or 1", where, model.names()[d], row[d]));
    part.known[d] = 1;
    part.values[d] = model.standardized(d, row[d]);
  }
  return part;
}

/// Fills in the missing numbers, in units of the data.
template <class T>
void fill_row(const VectorModel<T>& model, const PartialVector<T>& part, const FillRequest& request, Index number,
              double* row) {
  ConditionalDistribution<T> answers(model, part, request.draws, request.seed);
  Random random(request.seed, fmt::format("fill/{}", number));
  const std::vector<T> drawn = request.how == Filling::sample ? answers.sample(random) : std::vector<T>();
  for (std::size_t d = 0; d < part.known.size(); ++d) {
    if (part.known[d] != 0) continue;
    if (model.is_class(d)) {
      row[d] = drawn.empty() ? static_cast<double>(answers.best_class(d)) : static_cast<double>(drawn[d]);
      continue;
    }
    const double z = drawn.empty() ? answers.mean(d).value : static_cast<double>(drawn[d]);
    row[d] = model.in_data_units(d, request.how == Filling::best && model.is_bit(d) ? std::round(z) : z);
  }
}

template <class T>
std::string row_text(const VectorModel<T>& model, const std::vector<char>& known, const double* row, bool jsonl) {
  const std::vector<std::string>& names = model.names();
  const auto class_of = [&](std::size_t d) { return model.classes(d)[at(static_cast<Index>(row[d]))]; };
  if (jsonl) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object(), filled = nlohmann::ordered_json::array();
    for (std::size_t d = 0; d < names.size(); ++d) {
      json[names[d]] = model.is_class(d) ? nlohmann::ordered_json(class_of(d)) : nlohmann::ordered_json(row[d]);
      if (known[d] == 0) filled.push_back(names[d]);
    }
    json["filled"] = std::move(filled);
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  }
  std::vector<std::string> cells;
  cells.reserve(names.size());
  for (std::size_t d = 0; d < names.size(); ++d)
    cells.push_back(model.is_class(d) ? escape_cell(class_of(d))
                    : known[d] != 0   ? fmt::format("{}", row[d])
                                      : fmt::format("{:.6g}", row[d]));
  return fmt::format("{}\n", fmt::join(cells, "\t"));
}

}  // namespace

Filling parse_filling(const std::string& name) {
  if (name == "mean") return Filling::mean;
  if (name == "best") return Filling::best;
  if (name == "sample") return Filling::sample;
  const std::vector<std::string> all = {"mean", "best", "sample"};
  throw UsageError(fmt::format("--fill {}: expected one of {}{}", name, fmt::join(all, ", "), did_you_mean(name, all)));
}

void impute_missing(const FillRequest& request, const std::function<void(std::string_view)>& write) {
  require_in_range("samples", request.draws, 1, kMaxSamples);
  with_model_of(request, [&]<class T>(const NetworkModel<T>& network) {
    const VectorModel<T> model(network);
    ReaderOptions options = reader_options_for(network, request.stated);
    options.rows.holes = true;
    for (std::size_t d = 0; d < model.names().size(); ++d)
      (model.is_class(d) ? options.texts : options.numbers).push_back(model.names()[d]);
    Examples examples = read_fields(request.data, options);
    ExampleColumn vectors = examples.column(kVector);
    if (vectors.width != static_cast<Index>(model.names().size()))
      throw DataError(fmt::format("{}: rows have {} numbers, but the model has {}", examples.source, vectors.width,
                                  model.names().size()));
    std::vector<std::string> heading;
    for (const std::string& name : model.names()) heading.push_back(escape_cell(name));
    if (!request.jsonl) write(fmt::format("{}\n", fmt::join(heading, "\t")));
    for (Index r = 0; r < vectors.entries(); ++r) {
      double* row = vectors.numbers.data() + r * vectors.width;
      const PartialVector<T> part =
          known_part(model, row,
                     examples.lines.empty() ? examples.source
                                            : fmt::format("{}: line {}", examples.source, examples.lines[at(r)]));
      fill_row(model, part, request, r, row);
      write(row_text(model, part.known, row, request.jsonl));
    }
  });
}

}  // namespace unfold
