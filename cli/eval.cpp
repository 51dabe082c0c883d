#include "app/evaluate/evaluate.h"
#include "app/fields/condition.h"
#include "app/fields/evaluation/field_evaluation.h"
#include "app/predict/predict.h"
#include "app/schema/table_fields.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/common/baseline_comparison.h"
#include "app/evaluate/task_evaluation.h"
#include "cli/reading_options.h"
#include "cli/shared_options.h"
#include "cli/terminal/console_reporter.h"
#include "cli/terminal/metrics_text.h"
#include "cli/terminal/result_file.h"
#include "cli/verb.h"
#include "model/adaptive/learning.h"
#include "model/network/online_predictor.h"
#include "model/registry/run_folder.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

class Eval final : public Verb {
 public:
  Eval();
  ExitCode run(Console& console) override;

 private:
  void check_options() const;
  void check_text_options() const;
  void check_learning() const;
  ExitCode run_on_task() const;
  ExitCode run_on_fields(Console& console) const;
  EvaluateRequest request() const;
  void print(const EvaluateOutcome& outcome) const;

  std::vector<std::string> inputs_;
  std::optional<std::string> split_, part_, per_symbol_, mask_, task_;
  std::string unknown_ = "error", method_ = "unfolding";
  ReadingSettings reading_;
  std::optional<std::string> given_;
  Index window_ = 0, count_ = 1000, seed_ = 1, beam_ = 1;
  bool dynamic_ = false, true_labels_ = false, path_norm_ = false;
  TrainSettings table_;  // options that describe the table
  std::string optimizer_;
};

Eval::Eval()
    : Verb(CommandOptions("eval", "evaluates a model on data: bits per symbol and per byte, perplexity",
                          {"unfold eval run other.txt", "unfold eval run book.txt --part test --json"})) {
  options_.add_inputs(
      {.name = "inputs",
       .target = &inputs_,
       .placeholder = "MODEL DATA...",
       .help = "a run folder or model file, then text files (for a task model: the folder of its files, if any)",
       .least = 1,
       .most = std::string::npos,
       .file = FileUse::model});
  options_.add({.name = "split",
                .target = &split_,
                .placeholder = "A/B[/C]",
                .help = "split the data and evaluate a --part of it",
                .default_text = "with --part: as in training",
                .group = OptionGroup::data,
                .common = true,
                .kinds = Kind::text | Kind::fields});
  options_.add({.name = "part",
                .target = &part_,
                .placeholder = "PART",
                .help = "train, valid or test",
                .choices = {"train", "valid", "test"},
                .default_text = "valid with --split; for tasks: test",
                .group = OptionGroup::data,
                .common = true});
  options_.add(
      {.name = "unknown",
       .target = &unknown_,
       .placeholder = "error|skip",
       .help = "for symbols not in the alphabet: stop, or skip and count them; for labels: count them as wrong",
       .group = OptionGroup::data,
       .common = true,
       .kinds = Kind::text | Kind::fields});
  options_.add(mask_row(mask_));
  options_.add({.name = "per-symbol",
                .target = &per_symbol_,
                .placeholder = "FILE",
                .help = "write the surprisal of every symbol (TSV; CSV if the name ends in .csv)",
                .file = FileUse::printed,
                .group = OptionGroup::output,
                .kinds = Kind::text});
  add_reading_options(options_, reading_);
  options_.add({.name = "method",
                .target = &method_,
                .placeholder = "METHOD",
                .help = "unfolding, or stepper (one symbol at a time, with identical results)",
                .choices = {"unfolding", "stepper"},
                .group = OptionGroup::search,
                .kinds = Kind::text});
  options_.add(
      {.name = "beam",
       .target = &beam_,
       .placeholder = "N",
       .help = "beam width, for models that read a source or earlier labels, or predict unaligned labels (ctc)",
       .least = 1,
       .most = 1e4,
       .group = OptionGroup::search,
       .common = true,
       .kinds = Kind::fields});
  options_.add({.name = "true-labels",
                .target = &true_labels_,
                .help = "for models that read earlier labels: read the labels of the data instead of predicted ones",
                .group = OptionGroup::search,
                .kinds = Kind::fields});
  options_.add({.name = "path-norm",
                .target = &path_norm_,
                .help = "also print the path norm of a ReLU network, unfolded over the examples",
                .group = OptionGroup::output,
                .kinds = Kind::fields});
  options_.add(conditions_row(given_));
  for (OptionRow& row : statement_rows(table_)) options_.add(std::move(row));
  options_.add({.name = "dynamic",
                .target = &dynamic_,
                .help = "the model continues learning during evaluation; each symbol is predicted before it is learned",
                .group = OptionGroup::training,
                .common = true,
                .kinds = Kind::text});
  options_.add({.name = "optimizer",
                .target = &optimizer_,
                .placeholder = "SPEC",
                .help = "with --dynamic: the optimizer of a recurrent network",
                .default_text = OnlineOptions().optimizer,
                .group = OptionGroup::training,
                .kinds = Kind::text});
  options_.add({.name = "window",
                .target = &window_,
                .placeholder = "N",
                .help = "with --dynamic: symbols per step of a recurrent network",
                .least = 0,
                .most = 4096,
                .default_text = std::to_string(OnlineOptions().window),
                .group = OptionGroup::training,
                .kinds = Kind::text});
  options_.add({.name = "task",
                .target = &task_,
                .placeholder = "SPEC",
                .help = "tasks: another task with the same inputs and outputs, for example a longer one",
                .default_text = "the task of the model",
                .kinds = Kind::task});
  options_.add({.name = "count",
                .target = &count_,
                .placeholder = "N",
                .help = "tasks: number of generated examples",
                .least = 1,
                .most = 1e9,
                .group = OptionGroup::search,
                .kinds = Kind::task});
  options_.add({.name = "seed",
                .target = &seed_,
                .placeholder = "N",
                .help = "tasks: seed of the examples",
                .least = 0,
                .group = OptionGroup::search,
                .kinds = Kind::task});
  add_threads();
  add_unpacking_limit();
  add_key();
  add_common();
}

/// Checks combinations of options; evaluate checks the rest.
void Eval::check_options() const {
  check_reading_options(options_, reading_);
  if (dynamic_ && (!reading_.exact() || method_ == "stepper"))
    throw UsageError(
        "--dynamic reads the symbols sequentially and cannot be combined with --segments or --method "
        "stepper; leave them out");
  if (!dynamic_ && (options_.is_given(optimizer_) || options_.is_given(window_)))
    throw UsageError("--optimizer and --window require --dynamic");
  if (json_ && per_symbol_ == "-") throw UsageError("--json and --per-symbol - both use standard output; name a file");
}

/// Throws UsageError for options that do not apply to text models.
void Eval::check_text_options() const { options_.require_kind(Kind::text, "this is a text model"); }

/// Throws UsageError if --dynamic has no effect on the model.
void Eval::check_learning() const {
  if (!dynamic_) return;
  const std::string kind = ModelFile::open(model_file(inputs_.front())).kind();
  if (!is_fitted_model(kind)) return;  // a network
  if (!is_learner(kind))
    throw UsageError(fmt::format(
        "--dynamic applies only to models that learn incrementally: networks, ppm, cm, dna, ctw and mix; {} is "
        "fitted in one pass; omit --dynamic",
        kind));
  if (options_.is_given(optimizer_) || options_.is_given(window_))
    throw UsageError(fmt::format(
        "--optimizer and --window apply only to recurrent networks; {} does not use them; leave them out", kind));
}

/// Evaluates a task model on generated examples.
ExitCode Eval::run_on_task() const {
  options_.require_kind(Kind::task, "this is a task model");
  if (inputs_.size() > 2)
    throw UsageError(
        "a task model is evaluated on examples of its task; the only input may be the folder of its files");
  const std::string part = part_.value_or("test");
  const TaskMetrics figures = evaluate_on_task({.model = inputs_.front(),
                                                .task = task_.value_or(""),
                                                .folder = inputs_.size() > 1 ? inputs_[1] : std::string(),
                                                .part = part == "train"   ? TaskSplit::training
                                                        : part == "valid" ? TaskSplit::validation
                                                                          : TaskSplit::test,
                                                .count = count_,
                                                .seed = static_cast<std::uint64_t>(seed_),
                                                .threads = threads_});
  print_result(json_ ? one_line(to_json(figures)) : to_text(figures));
  return ExitCode::success;
}

/// Evaluates a model for data with named fields.
ExitCode Eval::run_on_fields(Console& console) const {
  options_.require_kind(Kind::fields, "this is a model of data with fields");
  if (inputs_.size() < 2) throw options_.missing_inputs();
  ConsoleReporter reporter(console);
  const FieldFigures figures = evaluate_on_fields({.model = inputs_.front(),
                                                   .data = {inputs_.begin() + 1, inputs_.end()},
                                                   .split = split_,
                                                   .part = part_,
                                                   .beam = beam_,
                                                   .unknown = unknown_,
                                                   .given = given_ ? split_given(*given_) : std::vector<std::string>(),
                                                   .threads = threads_,
                                                   .stated = stated_schema(table_),
                                                   .reporter = &reporter,
                                                   .true_labels = true_labels_,
                                                   .path_norm = path_norm_});
  print_result(json_
                   ? one_line(to_json(figures))
                   : to_text(figures) + to_text(figures.baselines) + classes_text(figures) + confusions_text(figures));
  return ExitCode::success;
}

EvaluateRequest Eval::request() const {
  EvaluateRequest request{.model = inputs_.front(),
                          .data = {inputs_.begin() + 1, inputs_.end()},
                          .split = split_,
                          .part = part_,
                          .mask = mask_,
                          .unknown = unknown_,
                          .reading = reading_,
                          .use_stepper = method_ == "stepper",
                          .threads = threads_};
  if (dynamic_) request.dynamic = {.optimizer = optimizer_, .window = window_};
  return request;
}

void Eval::print(const EvaluateOutcome& outcome) const {
  if (json_) {
    nlohmann::ordered_json json = to_json(outcome.figures);
    json["unknown_symbols"] = outcome.unknown;
    json["bytes"] = outcome.figures.bytes;
    json["part"] = outcome.part;
    json["baselines"] = to_json(outcome.baselines);
    describe_reading(reading_, outcome.evaluation, json);
    print_result(one_line(json));
  } else if (per_symbol_ != "-") {
    print_result(to_text(outcome.figures) + to_text(outcome.baselines));
    print_result(fmt::format("unknown symbols  {}{}\n", outcome.unknown,
                             outcome.unknown == 0      ? ""
                             : outcome.unknown_is_read ? " (read as <unk>)"
                                                       : " (left out)"));
    print_result(fmt::format("read             {}\n", describe_reading(reading_, outcome.evaluation)));
  }
}

ExitCode Eval::run(Console& console) {
  check_options();
  if (holds_field_model(inputs_.front())) return run_on_fields(console);
  if (holds_task_model(inputs_.front())) return run_on_task();
  if (inputs_.size() < 2 && holds_damaged_model(inputs_.front()))
    load_model(inputs_.front());  // throws an error that describes the damage
  check_text_options();
  if (inputs_.size() < 2) throw options_.missing_inputs();
  check_learning();
  EvaluateRequest what = request();
  std::optional<ResultFile> file;
  if (per_symbol_)
    what.symbol = [&](Index position, std::string_view symbol, float nats) {
      if (!file) file.emplace(*per_symbol_, separator_of("", false, *per_symbol_)).write(kSymbolHeading);
      file->write(symbol_line(position, symbol, nats));
    };
  ConsoleReporter reporter(console);
  const EvaluateOutcome outcome = evaluate(what, reporter);
  if (file) file->commit();
  print(outcome);
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_eval() { return std::make_unique<Eval>(); }

}  // namespace unfold
