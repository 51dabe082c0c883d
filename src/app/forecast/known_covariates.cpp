#include "app/forecast/known_covariates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/printable.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// The series of one field and group, by name.
class FutureValues {
 public:
  FutureValues(const SeriesTable& future, std::string name) : name_(std::move(name)) {
    for (const TableSeries& series : future.series) series_[{series.group, series.field}] = &series;
  }

  /// Appends the next `horizon` values of a covariate to `values`, and a note about empty values to `notes`.
  void append(const TableSeries& history, Index horizon, std::vector<double>& values,
              std::vector<std::string>& notes) const {
    const auto place = series_.find({history.group, history.field});
    if (place == series_.end())
      throw DataError(fmt::format("{}: there are no rows for the group {}", name_, in_quotes(history.group)));
    const TableSeries& later = *place->second;
    const bool timed = history.index.has_times() && (later.index.has_times() || !later.irregular.empty());
    const std::map<std::string, double> by_label =
        timed ? labeled(later, history.index) : std::map<std::string, double>();
    const Index n = static_cast<Index>(history.values.size());
    Index empty = 0;
    std::string first_empty;
    for (Index h = 0; h < horizon; ++h) {
      const std::string label = history.index.label(n + h);
      const auto found = by_label.find(label);
      if (timed ? found == by_label.end() : h >= static_cast<Index>(later.values.size()))
        throw DataError(
            fmt::format("{}: column {} has no value for {}, step {} of the forecast; add the row, or forecast "
                        "fewer steps",
                        name_, in_quotes(history.field), timed ? in_quotes(label) : "the row", h + 1));
      values.push_back(timed ? found->second : later.values[at(h)]);
      if (std::isnan(values.back()) && empty++ == 0) first_empty = timed ? label : fmt::format("step {}", h + 1);
    }
    if (empty > 0)
      notes.push_back(fmt::format(
          "{}: column {} is empty for {} of {} steps{}; the first is {}; the covariate has no effect at these "
          "steps",
          name_, in_quotes(history.field), empty, horizon,
          history.group.empty() ? "" : fmt::format(" of the group {}", in_quotes(history.group)), first_empty));
  }

 private:
  /// Returns the values by the labels that their times have in `index`. A few dates may have no regular step, such as a
  /// week without its Sunday.
  static std::map<std::string, double> labeled(const TableSeries& later, const forecasting::TimeIndex& index) {
    std::map<std::string, double> values;
    for (std::size_t t = 0; t < later.values.size(); ++t) {
      if (later.irregular.empty()) {
        values[later.index.label(static_cast<Index>(t))] = later.values[t];
      } else if (const std::optional<Index> position = index.place(later.irregular[t])) {
        values[index.label(*position)] = later.values[t];
      }
    }
    return values;
  }

  std::string name_;
  std::map<std::pair<std::string, std::string>, const TableSeries*> series_;
};

}  // namespace

std::vector<std::vector<std::vector<double>>> take_known_covariates(SeriesTable& table, const SeriesTable& future,
                                                                    const std::string& future_name, Index horizon) {
  const auto is_known = [&](const std::string& field) {
    return std::ranges::find(future.fields, field) != future.fields.end();
  };
  for (const std::string& field : future.fields)
    if (std::ranges::find(table.fields, field) == table.fields.end())
      throw DataError(fmt::format("{}: column {} is not numeric in the data, so its effect is unknown", future_name,
                                  in_quotes(field)));
  const FutureValues values(future, future_name);
  const bool data_has_times = !table.series.empty() && table.series.front().index.has_times();
  const std::size_t width = table.fields.size();
  std::vector<TableSeries> left;
  std::vector<std::vector<std::vector<double>>> known;
  std::vector<std::string> notes;
  for (std::size_t first = 0; first < table.series.size(); first += width) {
    std::vector<std::vector<double>> covariates;
    for (std::size_t k = first; k < first + width; ++k) {
      if (!is_known(table.series[k].field)) continue;
      covariates.push_back(table.series[k].values);
      values.append(table.series[k], horizon, covariates.back(), notes);
    }
    for (std::size_t k = first; k < first + width; ++k) {
      if (is_known(table.series[k].field)) continue;
      left.push_back(std::move(table.series[k]));
      known.push_back(covariates);
    }
  }
  if (!data_has_times && !future.series.empty() &&
      (future.series.front().index.has_times() || !future.series.front().irregular.empty()))
    notes.push_back(
        fmt::format("{}: the rows are matched with the steps of the forecast by their order, not by their dates, "
                    "because the data "
                    "has no regular step",
                    future_name));
  std::erase_if(table.fields, is_known);
  if (table.fields.empty())
    throw DataError(fmt::format("{}: all columns of the data are covariates; none is left to forecast", future_name));
  table.series = std::move(left);
  constexpr std::size_t kMostNotes = 5;
  if (notes.size() > kMostNotes) {
    notes[kMostNotes - 1] =
        fmt::format("{}: {} more covariates have empty cells", future_name, notes.size() - kMostNotes + 1);
    notes.resize(kMostNotes);
  }
  table.notes.insert(table.notes.end(), notes.begin(), notes.end());
  return known;
}

}  // namespace unfold
