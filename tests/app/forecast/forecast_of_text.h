#pragma once
/// Tables and forecasts of a text, for tests.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "app/forecast/forecast_table.h"
#include "app/forecast/series_table.h"
#include "data/cells/civil_date.h"
#include "tests/base/scratch.h"
#include "unfold/base/error.h"

namespace unfold::testing_support {

inline SeriesTable table_of(const std::string& text, const SchemaOptions& options = {}) {
  const ScratchFolder folder;
  return read_series_table(folder.write("data.csv", text), options);
}

inline std::string message_of_table(const std::string& text, const SchemaOptions& options = {}) {
  try {
    table_of(text, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

inline TableForecast forecast_of(const std::string& text, Index horizon,
                                 const std::vector<std::string>& members = {"naive"}) {
  const ScratchFolder folder;
  Reporter reporter;
  return forecast_table({.data = folder.write("data.csv", text),
                         .horizon = horizon,
                         .coverage = {0.8, 0.95},
                         .members = members,
                         .threads = 1},
                        reporter);
}

inline std::string tsv(const TableForecast& forecast) {
  std::string text;
  write_forecast(forecast, TableFormat::tsv, [&](std::string_view part) { text += part; });
  return text;
}

inline std::string groups_text() {
  std::string text = "shop,date,sales\n";
  for (const char* shop : {"north", "south"})
    for (int day = 1; day <= 20; ++day)
      text += std::string(shop) + ",2024-05-" + (day < 10 ? "0" : "") + std::to_string(day) + "," +
              std::to_string(day + (*shop == 's' ? 100.5 : 0.5)) + "\n";
  return text;
}

/// Returns 60 days of sales of two shops, which are higher by 30 on holidays.
inline std::string two_shops() {
  std::string text = "day,shop,sales,holiday\n";
  for (Index t = 0; t < 60; ++t)
    for (const char* shop : {"a", "b"}) {
      Moment moment;
      moment.days = days_from_civil(2024, 1, 1) + t;
      const Index holiday = (t * t + 3 * t) % 11 == 0 ? 1 : 0;
      text += fmt::format("{},{},{},{}\n", forecasting::format_moment(moment, DateFormat::year_month_day), shop,
                          (*shop == 'a' ? 100 : 50) + (t * 7) % 5 + 30 * holiday, holiday);
    }
  return text;
}

inline bool has_note(const SeriesTable& table, const std::string& part) {
  return std::ranges::any_of(table.notes,
                             [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

/// Returns a table of sales on the days from 2024-01-01, a Monday, whose weekdays (0 for Monday) are in a set; days in
/// `left_out` have no row.
inline std::string shop_table(Weekdays open, Index days, const std::vector<Index>& left_out = {}) {
  std::string text = "day,promotion,sales\n";
  for (Index t = 0; t < days; ++t) {
    if (!has_weekday(open, t % 7) || std::ranges::find(left_out, t) != left_out.end()) continue;
    Moment moment;
    moment.days = days_from_civil(2024, 1, 1) + t;
    const Index promotion = t % 11 == 0 ? 1 : 0;
    text += fmt::format("{},{},{}\n", forecasting::format_moment(moment, DateFormat::year_month_day), promotion,
                        100 + 10 * (t % 7) + 40 * promotion + (t * 5) % 3);
  }
  return text;
}

}  // namespace unfold::testing_support
