#include "cli/forecast_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/fields/predicted_list.h"
#include "app/schema/table_fields.h"
#include "cli/terminal/console_reporter.h"
#include "cli/terminal/result_file.h"

namespace unfold {
namespace {

void print_lines(std::string_view text, Console& console) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    console.remark(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

void ForecastOptions::add_to(CommandOptions& options) {
  const OptionRow rows[] = {
      {.name = "coverage",
       .target = &coverage_,
       .placeholder = "PERCENT,...",
       .help = "without MODEL: probabilities of the intervals in percent, such as 80,95 (columns q10, q90, q2.5, "
               "q97.5)",
       .group = OptionGroup::output,
       .common = true},
      {.name = "predict",
       .target = &predict_,
       .placeholder = "COLUMN,...",
       .help = "without MODEL: the columns to forecast",
       .default_text = "the column that inspect shows as predicted",
       .group = OptionGroup::data,
       .common = true},
      {.name = "future",
       .target = &future_,
       .placeholder = "FILE",
       .help = "without MODEL: a table with the columns of DATA that are known for the steps to forecast",
       .file = FileUse::data,
       .group = OptionGroup::data,
       .common = true},
      {.name = "season",
       .target = &season_,
       .placeholder = "M",
       .help = "without MODEL: seasonal period in steps, 1 for none",
       .least = 1,
       .most = 10080,
       .default_text = "detected",
       .group = OptionGroup::data,
       .common = true},
      {.name = "members",
       .target = &members_,
       .placeholder = "NAME,...",
       .help = "without MODEL: forecasters to compare, such as ets,theta,arima",
       .default_text = "those within the budget",
       .group = OptionGroup::model,
       .common = true},
      {.name = "origins",
       .target = &origins_,
       .placeholder = "N",
       .help = "without MODEL: number of origins of the backtest",
       .least = 1,
       .most = 1000,
       .default_text = "5, fewer for short series",
       .group = OptionGroup::validation},
      {.name = "minutes",
       .target = &minutes_,
       .placeholder = "M",
       .help = "without MODEL: budget that decides which members are compared",
       .least = 0,
       .most = 1e5,
       .above_least = true,
       .default_text = "20 seconds of one processor",
       .group = OptionGroup::budget,
       .common = true},
      {.name = "save",
       .target = &save_,
       .placeholder = "FILE",
       .help = "without MODEL: file for the network over all series (the member segments), which can then be used as "
               "MODEL",
       .file = FileUse::written,
       .group = OptionGroup::output},
      {.name = "plot",
       .target = &plot_,
       .placeholder = "FILE",
       .help = "without MODEL: SVG plot of history, forecast and intervals",
       .file = FileUse::written,
       .group = OptionGroup::output,
       .common = true},
  };
  for (const OptionRow& row : rows) options.add(row);
  for (OptionRow& row : table_rows(table_)) {
    if (address_of(row.target) == &table_.sequences) {
      row.name = "group", row.aliases = {"sequences"};
      row.help = "tables: the column that names the series of each row";
    }
    options.add(std::move(row));
  }
}

void ForecastOptions::refuse_with_model(const CommandOptions& options) const {
  options.refuse("applies to forecasts of a table without a trained model", coverage_, predict_, future_, season_,
                 members_, origins_, minutes_, plot_, save_);
}

void ForecastOptions::refuse_with_network(const CommandOptions& options) const {
  options.refuse("does not apply to a model that forecasts all series of a table", members_, minutes_, save_);
}

void ForecastOptions::run(const std::string& model, const std::string& data, Index horizon, Index threads,
                          const Output& output, Console& console) {
  ForecastTableRequest request{.data = data, .horizon = horizon, .coverage = parse_coverage(coverage_)};
  request.model = model;
  request.schema = stated_schema(table_);
  if (predict_) request.schema.predict = split_names(*predict_);
  if (future_) request.future = *future_;
  if (save_) request.save = *save_;
  if (members_) request.members = split_names(*members_);
  request.origins = origins_, request.season = season_.value_or(0), request.minutes = minutes_,
  request.threads = threads;
  ConsoleReporter reporter(console);
  const TableForecast forecast = forecast_table(request, reporter);
  if (!output.quiet) print_lines(describe_members(forecast), console);
  if (plot_) {
    ResultFile plot(*plot_);
    plot.write(plot_forecast(forecast));
    plot.commit();
  }
  if (output.json) print_result(forecast_json(forecast).dump() + "\n");
  if (output.json && output.out == "-") return;
  ResultFile file(output.out, output.separator);
  write_forecast(forecast, output.format, [&](std::string_view text) { file.write(text); });
  file.commit();
}

}  // namespace unfold
