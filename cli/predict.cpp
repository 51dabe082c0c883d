#include "app/predict/predict.h"

#include <fmt/format.h>

#include <functional>

#include "app/fields/condition.h"
#include "app/predict/density_sampling.h"
#include "app/predict/imputation.h"
#include "cli/forecast_options.h"
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
  void forecast_without_model(Console& console);

  std::vector<std::string> inputs_;
  std::optional<ForecastOptions> forecast_;
  std::string format_ = "tsv", out_ = "-";
  PredictRequest request_;
  std::optional<std::string> given_, fill_;
  Index seed_ = 1;
  std::optional<Index> horizon_;
};

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
  const bool forecasts = std::string_view(name) == "forecast";
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
  options_.add({.name = "format",
                .target = &format_,
                .placeholder = "FORMAT",
                .help = "output format: tsv or jsonl",
                .choices = {"tsv", "jsonl"}});
  options_.add({.name = "out",
                .target = &out_,
                .placeholder = "FILE",
                .help = "output file; default standard output",
                .file = FileUse::printed});
  options_.add({.name = "probabilities",
                .target = &request_.probabilities,
                .help = "for classes and tags: one probability column for each"});
  if (forecasts) request_.ahead = 1;
  options_.add(
      {.name = "ahead",
       .target = &request_.ahead,
       .placeholder = "K",
       .help = "number of positions to forecast beyond the end of each sequence; 0: predict the existing positions",
       .least = forecasts ? 1.0 : 0.0,
       .most = 1e6});
  if (forecasts) {
    options_.add({.name = "horizon",
                  .target = &horizon_,
                  .placeholder = "H",
                  .help = "another name of --ahead",
                  .least = 1,
                  .most = 1e6,
                  .default_text = "1"});
    forecast_.emplace().add_to(options_);
  }
  options_.add({.name = "samples",
                .target = &request_.samples,
                .placeholder = "N",
                .help = "with --ahead: sampled paths for positions beyond the next one; with --sample: targets",
                .least = 1,
                .most = 1e6});
  options_.add({.name = "beam",
                .target = &request_.beam,
                .placeholder = "N",
                .help = "for models with a source: beam width",
                .least = 1,
                .most = 1e4});
  options_.add({.name = "best",
                .target = &request_.best,
                .placeholder = "N",
                .help = "number of answers, best first: targets of a source, labels of whole sequences (crf, ctc)",
                .least = 1,
                .most = 1e4});
  options_.add({.name = "sample",
                .target = &request_.sampled,
                .help = "for models with a source: --samples N randomly drawn targets instead of the best"});
  options_.add({.name = "attention",
                .target = &request_.attention,
                .help = "for models with a source: attention weights over the source at each step (--format jsonl)"});
  options_.add({.name = "given",
                .target = &given_,
                .placeholder = "FIELD=VALUE",
                .help = "for whole sequences (train --ends): conditions that override DATA; without DATA, for one "
                        "sequence; for a source, source=TEXT; separate several by commas"});
  options_.add({.name = "constraint",
                .target = &request_.constraint,
                .placeholder = "REGEX",
                .help = "predict only labels or targets that match completely; iob: only well-formed chunks"});
  options_.add({.name = "fill",
                .target = &fill_,
                .placeholder = "HOW",
                .help = "for density models (nade and others): replace missing numbers of DATA by their mean (for a "
                        "bit, its probability), best (for a bit, the more probable value) or a sample (default mean)",
                .choices = {"mean", "best", "sample"}});
  options_.add(
      {.name = "seed", .target = &seed_, .placeholder = "N", .help = "random seed of the samples", .least = 0});
  options_.add({.name = "follow",
                .target = &request_.follow,
                .help = "streaming: answer each example, or table row, as soon as it arrives"});
  add_threads();
  add_unpacking_limit();
  add_key();
  add_common(/*prints_json=*/forecasts);
}

/// Forecasts the series of a table that comes without a model.
void Predict::forecast_without_model(Console& console) {
  options_.refuse({"probabilities", "samples", "beam", "best", "sample", "attention", "given", "constraint", "fill",
                   "seed", "follow"},
                  "requires a trained model");
  if (request_.ahead < 1) throw UsageError("forecast: --ahead must be at least 1 without a model");
  forecast_->run(inputs_.front(), request_.ahead, threads_,
                 {.out = out_,
                  .format = format_ == "jsonl" ? TableFormat::jsonl : TableFormat::tsv,
                  .json = json_,
                  .quiet = quiet_},
                 console);
}

/// Writes the data with missing values filled in.
void Predict::fill(const std::function<void(std::string_view)>& write) const {
  for (const char* name :
       {"probabilities", "ahead", "beam", "best", "sample", "attention", "given", "constraint", "follow"})
    if (options_.given(name))
      throw UsageError(
          fmt::format("--{} does not apply to density models, which fill missing values of a table (--fill)", name));
  if (request_.ahead > 0) throw UsageError("forecast is for sequences; use predict to fill missing values of a table");
  if (request_.data.empty()) throw UsageError("predict needs DATA, a table with missing values");
  impute_missing({.model = request_.model,
                  .data = request_.data,
                  .how = parse_filling(fill_.value_or("mean")),
                  .draws = request_.samples,
                  .seed = request_.seed,
                  .jsonl = request_.format == TableFormat::jsonl},
                 write);
}

/// Throws UsageError for --samples and --seed if nothing is sampled.
void Predict::check_drawing() const {
  if (request_.ahead > 0 || request_.sampled) return;
  options_.refuse({"samples", "seed"}, "requires sampling: --ahead K, or --sample for a model that reads a source");
}

ExitCode Predict::run(Console& console) {
  if (horizon_) {
    if (options_.given("ahead")) throw UsageError("--horizon and --ahead are the same option; give one of them");
    request_.ahead = *horizon_;
  }
  if (forecast_ && inputs_.size() == 1 && !looks_like_model(inputs_.front())) {
    forecast_without_model(console);
    return ExitCode::success;
  }
  if (forecast_) ForecastOptions::refuse_with_model(options_);
  if (json_) throw UsageError("--json is not supported here; use --format jsonl for one object per example");
  request_.model = inputs_.front();
  request_.data = {inputs_.begin() + 1, inputs_.end()};
  request_.format = format_ == "jsonl" ? TableFormat::jsonl : TableFormat::tsv;
  request_.seed = static_cast<std::uint64_t>(seed_);
  request_.threads = threads_;
  if (given_) request_.given = split_given(*given_);
  ConsoleReporter reporter(console);
  if (request_.follow && out_ != "-") throw UsageError("--follow writes to standard output; leave out --out");
  ResultFile file(out_);
  const auto write = [&](std::string_view text) {
    file.write(text);
    if (request_.follow) flush_results();
  };
  if (holds_field_model(request_.model) && holds_density(request_.model)) {
    fill(write);
  } else {
    if (fill_) throw UsageError("--fill is for density models (nade and others)");
    check_drawing();
    predict(request_, write, reporter);
  }
  file.commit();
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_predict() { return std::make_unique<Predict>("predict"); }
std::unique_ptr<Verb> make_tag() { return std::make_unique<Predict>("tag"); }
std::unique_ptr<Verb> make_classify() { return std::make_unique<Predict>("classify"); }
std::unique_ptr<Verb> make_forecast() { return std::make_unique<Predict>("forecast"); }

}  // namespace unfold
