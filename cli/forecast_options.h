#pragma once
/// The options of `unfold forecast` without a trained model, and the function that runs it.

#include "app/forecast/forecast_table.h"
#include "app/settings/train_settings.h"
#include "cli/terminal/options.h"
#include "cli/terminal/result_file.h"
#include "cli/verb.h"

namespace unfold {

class ForecastOptions {
 public:
  /// Adds the options.
  void add_to(CommandOptions& options);
  /// Throws UsageError if an option was given that has no effect with a trained model.
  void refuse_with_model(const CommandOptions& options) const;

  /// Like the function above, for a time-series model (model/forecast/segments/segment_model.h).
  void refuse_with_network(const CommandOptions& options) const;
  /// Settings that describe the table.
  const TrainSettings& table() const { return table_; }

  struct Output {
    std::string out;  ///< file, or "-"
    TableFormat format = TableFormat::tsv;
    CellSeparator separator = CellSeparator::tab;  ///< of a table
    bool json = false;                             ///< write one JSON object to standard output instead of the table
    bool quiet = false;                            ///< do not print the table of members
  };
  /// Forecasts the series of a table. `model`: a time-series model; empty: none.
  void run(const std::string& model, const std::string& data, Index horizon, Index threads, const Output& output,
           Console& console);

 private:
  std::string coverage_ = "80";
  TrainSettings table_ = {};  // options that describe the table
  std::optional<std::string> predict_, future_, members_, plot_, save_;
  std::optional<double> minutes_;
  Index origins_ = 0;
  std::optional<Index> season_ = {};
};

}  // namespace unfold
