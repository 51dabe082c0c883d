#include "app/predict/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>

#include "app/fields/condition.h"
#include "app/predict/imputation.h"
#include "app/sample/density_sampling.h"
#include "app/schema/table_fields.h"
#include "cli/forecast_options.h"
#include "cli/shared_options.h"
#include "cli/terminal/console_reporter.h"
#include "cli/terminal/result_file.h"
#include "cli/verb.h"

namespace unfold {
namespace {

/// The subcommand predict, with its variants tag, classify and forecast.
class Predict final : public Verb {
 public:
  explicit Predict(const char* name);
  ExitCode run(Console& console) override;

 private:
  void fill(const std::function<void(std::string_view)>& write) const;
  void check_drawing() const;
  void forecast_series(const std::string& model, Console& console);

  std::vector<std::string> inputs_;
  std::optional<ForecastOptions> forecast_;
  std::string format_ = "tsv", out_ = "-";
  PredictRequest request_;
  std::optional<std::string> given_, fill_;
  Index seed_ = 1;
  std::optional<Index> horizon_;
  TrainSettings table_;  // options that describe the table
};

/// The tasks of the aliases of predict; predict itself applies to all of them.
constexpr unsigned kTags = 1, kClassifies = 2, kForecasts = 4, kOther = 8;
constexpr unsigned kAnyTask = kTags | kClassifies | kForecasts | kOther;
struct Spelling {
  std::string_view name;
  unsigned tasks;
};

constexpr std::array<Spelling, 4> kSpellings = {
    {{"predict", kAnyTask}, {"tag", kTags}, {"classify", kClassifies}, {"forecast", kForecasts}}};

std::vector<std::string> examples_of(std::string_view name) {
  if (name == "tag") return {"unfold tag chunker sentences.txt > tagged.tsv"};
  if (name == "classify") return {"unfold classify questions new.txt --probabilities"};
  if (name == "forecast")
    return {"unfold forecast sales.csv --horizon 28 --coverage 80,95 --plot sales.svg",
            "unfold forecast laser laser.csv --ahead 100 --samples 200"};
  return {"unfold predict chunker test.txt > predicted.tsv", "unfold predict questions new.txt --format jsonl"};
}

const char* summary_of(std::string_view name) {
  if (name == "forecast") return "forecasts each series of a table, with or without a trained model";
  return "writes the data with columns for the predictions of a model";
}

Predict::Predict(const char* name) : Verb(CommandOptions(name, summary_of(name), examples_of(name))) {
  const auto spelling = std::ranges::find(kSpellings, std::string_view(name), &Spelling::name);
  const bool forecasts = spelling->tasks == kForecasts;
  // The aliases accept every option of predict and list those for their task.
  const auto add = [&](OptionRow row, unsigned tasks) {
    if ((tasks & spelling->tasks) == 0) row.help.clear();
    options_.add(std::move(row));
  };
  options_.add_inputs({.name = "inputs",
                       .target = &inputs_,
                       .placeholder = forecasts ? "[MODEL] DATA..." : "MODEL DATA...",
                       .help = forecasts
                                   ? "a table of series; or a run folder or model file, then files in the format "
                                     "that it was trained on"
                                   : "a run folder or model file, then files in the format that it was trained on",
                       .least = 1,
                       .most = std::string::npos,
                       .file = FileUse::model});
  add({.name = "format",
       .target = &format_,
       .placeholder = "FORMAT",
       .help = "output format: tsv, csv or jsonl; default tsv, or csv if the name of --out ends in .csv",
       .choices = {"tsv", "csv", "jsonl"},
       .group = OptionGroup::output,
       .common = true},
      kAnyTask);
  add({.name = "out",
       .target = &out_,
       .placeholder = "FILE",
       .help = "output file; default standard output",
       .file = FileUse::printed,
       .group = OptionGroup::output,
       .common = true},
      kAnyTask);
  add({.name = "probabilities",
       .target = &request_.probabilities,
       .help = "for classes, tags and next events: one probability column for each",
       .group = OptionGroup::output,
       .common = true,
       .kinds = Kind::fields},
      kTags | kClassifies);
  if (forecasts) request_.ahead = 1;
  add({.name = "ahead",
       .target = &request_.ahead,
       .placeholder = "K",
       .help = "number of positions to forecast beyond the end of each sequence; 0: predict the existing positions",
       .least = forecasts ? 1.0 : 0.0,
       .most = 1e6,
       .group = OptionGroup::search,
       .common = true,
       .kinds = Kind::fields},
      kForecasts);
  if (forecasts) {
    options_.add({.name = "horizon",
                  .target = &horizon_,
                  .placeholder = "H",
                  .help = "alias of --ahead",
                  .least = 1,
                  .most = 1e6,
                  .default_text = "1",
                  .group = OptionGroup::search,
                  .common = true});
    forecast_.emplace().add_to(options_);
  }
  add({.name = "samples",
       .target = &request_.samples,
       .placeholder = "N",
       .help =
           "with --ahead: number of sampled paths for positions beyond the next one; with --sample: number of results",
       .least = 1,
       .most = 1e6,
       .group = OptionGroup::search,
       .common = true},
      kTags | kForecasts);
  add({.name = "beam",
       .target = &request_.beam,
       .placeholder = "N",
       .help = "for models that read a source or earlier labels: beam width",
       .least = 1,
       .most = 1e4,
       .group = OptionGroup::search,
       .common = true,
       .kinds = Kind::fields},
      kTags | kOther);
  add({.name = "best",
       .target = &request_.best,
       .placeholder = "N",
       .help =
           "number of results, best first: targets of a source, labels of whole sequences (crf, ctc, earlier labels)",
       .least = 1,
       .most = 1e4,
       .group = OptionGroup::search,
       .common = true,
       .kinds = Kind::fields},
      kTags);
  add({.name = "sample",
       .target = &request_.sampled,
       .help = "for models that read a source or earlier labels: draw --samples N results at random",
       .group = OptionGroup::search,
       .kinds = Kind::fields},
      kTags | kOther);
  add({.name = "attention",
       .target = &request_.attention,
       .help = "for models with a source: attention weights over the source at each step (--format jsonl)",
       .group = OptionGroup::output,
       .kinds = Kind::fields},
      kOther);
  add({.name = "given",
       .target = &given_,
       .placeholder = "FIELD=VALUE",
       .help = "for whole sequences (train --ends): conditions that override those in DATA or, without DATA, define "
               "one sequence; for a source, source=TEXT; separate several by commas",
       .group = OptionGroup::data,
       .common = true,
       .kinds = Kind::fields},
      kForecasts);
  add({.name = "constraint",
       .target = &request_.constraint,
       .placeholder = "REGEX",
       .help = "predict only labels or targets that match completely; iob: only well-formed chunks",
       .group = OptionGroup::search,
       .common = true,
       .kinds = Kind::fields},
      kTags);
  add({.name = "fill",
       .target = &fill_,
       .placeholder = "HOW",
       .help = "for density models (nade and others): how missing numbers in DATA are filled in: mean (for a bit, its "
               "probability), best (for a bit, the more probable value) or sample (default mean)",
       .choices = {"mean", "best", "sample"},
       .group = OptionGroup::search,
       .common = true,
       .kinds = Kind::density},
      kOther);
  if (!forecasts)
    for (OptionRow& row : statement_rows(table_)) options_.add(std::move(row));
  add(sampling_seed_row(seed_), kForecasts);
  add({.name = "follow",
       .target = &request_.follow,
       .help = "streaming: print the prediction of each example, or table row, as soon as it arrives",
       .group = OptionGroup::data,
       .common = true,
       .kinds = Kind::fields},
      kTags | kClassifies);
  add_threads();
  add_unpacking_limit();
  add_key();
  add_common();
}

/// Forecasts the series of a table. `model`: a time-series model; empty: none.
void Predict::forecast_series(const std::string& model, Console& console) {
  options_.refuse("requires a trained model of sequences", request_.probabilities, request_.samples, request_.beam,
                  request_.best, request_.sampled, request_.attention, given_, request_.constraint, fill_, seed_,
                  request_.follow);
  if (request_.ahead < 1) throw UsageError("forecast: --ahead must be at least 1 without a model");
  forecast_->run(model, inputs_.back(), request_.ahead, threads_,
                 {.out = out_,
                  .format = format_ == "jsonl" ? TableFormat::jsonl : TableFormat::tsv,
                  .separator = separator_of(format_, options_.is_given(format_), out_),
                  .json = json_,
                  .quiet = quiet_},
                 console);
}

/// Writes the data with missing values filled in.
void Predict::fill(const std::function<void(std::string_view)>& write) const {
  options_.require_kind(Kind::density, "density models fill missing values of a table (--fill)");
  if (request_.ahead > 0) throw UsageError("forecast is for sequences; use predict to fill missing values of a table");
  if (request_.data.empty()) throw UsageError("predict needs DATA, a table with missing values");
  impute_missing({.model = request_.model,
                  .data = request_.data,
                  .how = parse_filling(fill_.value_or("mean")),
                  .draws = request_.samples,
                  .seed = request_.seed,
                  .jsonl = request_.format == TableFormat::jsonl,
                  .stated = request_.stated},
                 write);
}

/// Throws UsageError for --samples and --seed if nothing is sampled.
void Predict::check_drawing() const {
  if (request_.ahead > 0 || request_.sampled) return;
  options_.refuse("requires sampling: --ahead K, or --sample for a model that reads a source", request_.samples, seed_);
}

/// Turns JSON lines into elements of a list.
class JsonElements {
 public:
  /// Returns the next part of the list.
  std::string next(std::string_view lines) {
    std::string part;
    for (const char c : lines) {
      if (c != '\n' && ended_) part += ',';
      ended_ = c == '\n';
      if (!ended_) part += c;
    }
    return part;
  }

 private:
  bool ended_ = false;  // whether the last line is complete
};

/// Returns whether a path is a regular file, but not a model.
bool is_other_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && !looks_like_model(path);
}

ExitCode Predict::run(Console& console) {
  if (horizon_) {
    if (options_.is_given(request_.ahead))
      throw UsageError("--horizon and --ahead are the same option; use only one of them");
    request_.ahead = *horizon_;
  }
  if (forecast_ && inputs_.size() == 1 && !looks_like_model(inputs_.front())) {
    forecast_series("", console);
    return ExitCode::success;
  }
  if (forecast_ && holds_series_network(inputs_.front())) {
    if (inputs_.size() != 2)
      throw UsageError("forecast: a model for series takes one table: unfold forecast MODEL DATA --horizon H");
    forecast_->refuse_with_network(options_);
    forecast_series(inputs_.front(), console);
    return ExitCode::success;
  }
  if (forecast_ && inputs_.size() > 1 && is_other_file(inputs_.front()))
    throw UsageError(
        fmt::format("forecast: {} is not a trained model; without a model, forecast takes one table: put all series "
                    "into one, with a "
                    "column that identifies them (--group), or run the command for each table",
                    inputs_.front()));
  if (forecast_) forecast_->refuse_with_model(options_);
  if (json_ && (options_.is_given(format_) || request_.follow))
    throw UsageError(
        "--json prints one JSON object with all predictions; leave out --format and --follow, or use "
        "--format jsonl for one object per example");
  request_.model = inputs_.front();
  request_.data = {inputs_.begin() + 1, inputs_.end()};
  request_.format = json_ || format_ == "jsonl" ? TableFormat::jsonl : TableFormat::tsv;
  request_.seed = static_cast<std::uint64_t>(seed_);
  request_.threads = threads_;
  request_.stated = stated_schema(forecast_ ? forecast_->table() : table_);
  if (given_) request_.given = split_given(*given_);
  ConsoleReporter reporter(console);
  if (request_.follow && out_ != "-") throw UsageError("--follow writes to standard output; leave out --out");
  ResultFile file(out_, separator_of(format_, json_ || options_.is_given(format_), out_));
  JsonElements elements;
  const auto write = [&](std::string_view text) {
    file.write(json_ ? elements.next(text) : std::string(text));
    if (request_.follow) flush_results();
  };
  if (json_) file.write("{\"predictions\":[");
  if (holds_field_model(request_.model) && holds_density(request_.model)) {
    fill(write);
  } else {
    options_.require_kind(Kind::fields, "this is not a density model");
    check_drawing();
    predict(request_, write, reporter);
  }
  if (json_) file.write("]}\n");
  file.commit();
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_predict() { return std::make_unique<Predict>("predict"); }
std::unique_ptr<Verb> make_tag() { return std::make_unique<Predict>("tag"); }
std::unique_ptr<Verb> make_classify() { return std::make_unique<Predict>("classify"); }
std::unique_ptr<Verb> make_forecast() { return std::make_unique<Predict>("forecast"); }

}  // namespace unfold
