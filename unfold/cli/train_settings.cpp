#include "unfold/cli/train_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "unfold/base/options.h"
#include "unfold/data/alphabet.h"
#include "unfold/data/split.h"
#include "unfold/data/task_spec.h"
#include "unfold/models/registry.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

constexpr const char* kDefaultSplit = "90/10";
constexpr std::array<std::string_view, 3> kBudget = {"epochs", "steps", "minutes"};
/// Options of training by gradient: models that are fitted as a whole have no use for them.
constexpr std::array<std::string_view, 18> kGradientOnly = {
    "restarts",     "optimizer",        "window",          "batch",      "whole-sequences", "curriculum",   "epochs",
    "steps",        "minutes",          "validate-every",  "early-stop", "resume",          "sample-every", "log-every",
    "memory-limit", "checkpoint-every", "sampled-softmax", "precision"};

/// Options of text: tasks have no use for them.
constexpr std::array<std::string_view, 14> kTextOnly = {
    "symbols", "vocabulary", "lines",           "split",        "valid",  "unknown",         "predict-after",
    "mask",    "valid-mask", "whole-sequences", "sample-every", "window", "sampled-softmax", "precision"};
constexpr std::array<std::string_view, 2> kTaskOnly = {"validate-on", "goal-error"};

bool is_in(const auto& list, std::string_view option) { return std::ranges::find(list, option) != list.end(); }

void add_data_options(VerbOptions& options, TrainSettings& s) {
  options.add_inputs({.name = "data",
                      .target = &s.data,
                      .placeholder = "DATA...",
                      .help = "text files (also .gz, .xz, .zst; - is standard input), each one sequence",
                      .least = 0,  // a resumed run knows them
                      .most = std::string::npos,
                      .keep = Keep::fixed});
  options.add({.name = "out", .target = &s.out, .placeholder = "RUN", .help = "the run folder, needed"});
  options.add({.name = "symbols",
               .target = &s.symbols,
               .placeholder = "KIND",
               .help = "what is a symbol: bytes, chars or words",
               .keep = Keep::model});
  options.add({.name = "vocabulary",
               .target = &s.vocabulary,
               .placeholder = "N",
               .help = "words: keep the N most frequent, the rest is <unk>; 0: all",
               .least = 0,
               .keep = Keep::model});
  options.add({.name = "label-column",
               .target = &s.label_column,
               .help = "the first column of every line is a label, which the model shall not read",
               .keep = Keep::model});
  options.add({.name = "only-label",
               .target = &s.only_label,
               .placeholder = "LABEL",
               .help = "with --label-column: read only lines with this label",
               .keep = Keep::model});
  options.add({.name = "lines", .target = &s.lines, .help = "each line is a sequence of its own", .keep = Keep::model});
  options.add({.name = "split",
               .target = &s.split,
               .placeholder = "A/B[/C]",
               .help = "percentages for training, validation and test",
               .keep = Keep::model,
               .default_text = std::string(kDefaultSplit) + " without --valid"});
  options.add({.name = "valid",
               .target = &s.valid,
               .placeholder = "FILE",
               .help = "validate on this file and train on all of DATA",
               .keep = Keep::fixed});
  options.add({.name = "unknown",
               .target = &s.unknown,
               .placeholder = "error|skip",
               .help = "symbols of --valid that DATA lacks: stop, or leave them out",
               .keep = Keep::model});
  std::string known;
  for (const TaskHelp& task : tasks()) known += (known.empty() ? "" : ", ") + task.name;
  options.add({.name = "task",
               .target = &s.task,
               .placeholder = "SPEC",
               .help = "instead of text: examples of a task, endless where they are generated: " + known,
               .keep = Keep::model});
  options.add({.name = "validate-on",
               .target = &s.validate_on,
               .placeholder = "N",
               .help = "tasks: examples of a validation",
               .least = 1,
               .most = 1e7,
               .keep = Keep::model});
  options.add({.name = "goal-error",
               .target = &s.goal_error,
               .placeholder = "X",
               .help = "tasks: end when a validation finds at most this share of wrong sequences",
               .least = 0,
               .most = 1,
               .keep = Keep::model});
  options.add({.name = "predict-after",
               .target = &s.predict_after,
               .placeholder = "SYMBOL",
               .help = "predict only the symbols that follow this one",
               .keep = Keep::model});
  options.add({.name = "mask",
               .target = &s.mask,
               .placeholder = "FILE",
               .help = "a 0 or 1 for every symbol of DATA: which are to be predicted",
               .keep = Keep::fixed});
  options.add({.name = "valid-mask",
               .target = &s.valid_mask,
               .placeholder = "FILE",
               .help = "the same for --valid",
               .keep = Keep::fixed});
}

void add_training_options(VerbOptions& options, TrainSettings& s) {
  options.add({.name = "model",
               .target = &s.model,
               .placeholder = "SPEC",
               .help = "rnn:N, lstm:N, gru:N, mrnn:N, glnn:N, ngram:N, hmm:N, ppm:N, ctw:N, mix:A+B, frequency or "
                       "uniform, with options, as lstm:256,layers=2",
               .keep = Keep::model});
  options.add({.name = "optimizer",
               .target = &s.optimizer,
               .placeholder = "SPEC",
               .help = "sgd, rmsprop, adam, adamw, path, ruop, rbpm, hf or natural with options: rate, clip, ...",
               .keep = Keep::model});
  options.add({.name = "window",
               .target = &s.window,
               .placeholder = "N",
               .help = "symbols of each sequence in one step",
               .least = 1,
               .most = 1e9,
               .keep = Keep::model});
  options.add({.name = "batch",
               .target = &s.batch,
               .placeholder = "N",
               .help = "sequences side by side in one step",
               .least = 1,
               .most = 1e6,
               .keep = Keep::model});
  options.add({.name = "whole-sequences",
               .target = &s.whole_sequences,
               .help = "back-propagate through whole sequences, not windows",
               .keep = Keep::model});
  options.add({.name = "curriculum",
               .target = &s.curriculum,
               .placeholder = "N",
               .help = "epoch e reads only the first e*N symbols of each sequence; tasks: the shortest examples first, "
                       "twice as long after every N; 0: all",
               .least = 0,
               .keep = Keep::model});
  options.add({.name = "epochs",
               .target = &s.epochs,
               .placeholder = "N",
               .help = "budget in passes over the training part",
               .least = 0,
               .keep = Keep::model,
               .default_text = fmt::format("{} when no budget is given", kDefaultEpochs)});
  options.add({.name = "steps",
               .target = &s.steps,
               .placeholder = "N",
               .help = "budget in steps",
               .least = 1,
               .keep = Keep::model});
  options.add({.name = "minutes",
               .target = &s.minutes,
               .placeholder = "N",
               .help = "budget in minutes",
               .least = 0,
               .keep = Keep::model});
  options.add({.name = "activity-penalty",
               .target = &s.activity_penalty,
               .placeholder = "BETA",
               .help = "adds BETA * the mean squared change of each layer's norm from step to step",
               .least = 0,
               .keep = Keep::model});
  options.add({.name = "flow-penalty",
               .target = &s.flow_penalty,
               .placeholder = "WEIGHT",
               .help = "keeps the norm of the gradient as it flows back through time; rnn and mrnn",
               .least = 0,
               .keep = Keep::model});
  options.add({.name = "sampled-softmax",
               .target = &s.sampled_softmax,
               .placeholder = "K",
               .help = "large vocabularies: train on the symbols of a window and at least K others; 0: on all",
               .least = 0,
               .most = 1e9,
               .keep = Keep::model});
  options.add({.name = "precision",
               .target = &s.precision,
               .placeholder = "float|double|bf16",
               .help = "of all arithmetic, and of the model file; bf16: products of training in bfloat16, all else in "
                       "float",
               .keep = Keep::model,
               .default_text = "double where the optimiser compares losses, as ruop and rbpm do; else float"});
  options.add({.name = "seed",
               .target = &s.seed,
               .placeholder = "N",
               .help = "of start, order and dropout",
               .least = 0,
               .keep = Keep::model});
  options.add(
      {.name = "restarts",
       .target = &s.restarts,
       .placeholder = "K",
       .help = "start K times from other seeds and graphs; the best by validation after half of the budget goes on",
       .least = 1,
       .most = 10000,
       .keep = Keep::model});
  options.add({.name = "validate-every",
               .target = &s.validate_every,
               .placeholder = "STEPS",
               .help = "steps between validations",
               .least = 0,
               .keep = Keep::model,
               .default_text = "so that they take a twentieth of the time"});
  options.add({.name = "early-stop",
               .target = &s.early_stop,
               .placeholder = "N",
               .help = "end after N validations without improvement; 0: never",
               .least = 0,
               .keep = Keep::model});
}

void add_run_options(VerbOptions& options, TrainSettings& s) {
  options.add({.name = "resume", .target = &s.resume, .help = "go on where the run in --out stands"});
  options.add({.name = "overwrite", .target = &s.overwrite, .help = "replace the run in --out"});
  options.add({.name = "sample-every",
               .target = &s.sample_every,
               .placeholder = "STEPS",
               .help = "show a sample now and then; 0: never",
               .least = 0,
               .keep = Keep::run});
  options.add({.name = "checkpoint-every",
               .target = &s.checkpoint_every,
               .placeholder = "STEPS",
               .help = "steps between checkpoints",
               .least = 0,
               .keep = Keep::run,
               .default_text = "one a minute"});
  options.add({.name = "log-every",
               .target = &s.log_every,
               .placeholder = "STEPS",
               .help = "steps between entries of log.jsonl",
               .least = 1,
               .keep = Keep::fixed});
  options.add({.name = "memory-limit",
               .target = &s.memory_limit,
               .placeholder = "BYTES",
               .help = "for activities, as 2G; recomputes what does not fit, with the same result",
               .keep = Keep::run});
}

void check_task_options(const TrainSettings& s, const VerbOptions& options) {
  for (const std::string_view name : kTextOnly)
    if (s.task && options.given(name)) throw UsageError(fmt::format("--{} is for text, not for a --task", name));
  for (const std::string_view name : kTaskOnly)
    if (!s.task && options.given(name)) throw UsageError(fmt::format("--{} belongs to a --task", name));
  if (!s.task) return;
  if (is_fitted_model(s.model))
    throw UsageError(fmt::format("--task wants a model trained by gradient, not {}", s.model));
  const bool files = task_needs_files(*s.task);
  if (s.data.size() != (files ? 1 : 0))
    throw UsageError(files ? fmt::format("--task {0} needs one folder: unfold train FOLDER --task {0}", *s.task)
                           : fmt::format("--task {} generates its examples; it takes no DATA", *s.task));
  if (!files && !s.steps && !s.minutes)
    throw UsageError(fmt::format("--task {} has no end: give --steps or --minutes", *s.task));
}

}  // namespace

void add_train_options(VerbOptions& options, TrainSettings& settings) {
  add_data_options(options, settings);
  add_training_options(options, settings);
  add_run_options(options, settings);
}

void make_canonical(TrainSettings& s, const VerbOptions& options) {
  s.model = canonical_model(s.model);
  if (!is_fitted_model(s.model)) {
    ModelSpec spec = parse_model_spec(s.model);
    if (has_random_graph(spec) && spec.graph == 0) spec.graph = s.seed;
    s.model = to_string(spec);
  }
  if (is_fitted_model(s.model))
    for (const std::string_view name : kGradientOnly)
      if (options.given(name))
        throw UsageError(fmt::format("--{} is for models trained by gradient; {} is fitted as a whole", name, s.model));
  s.optimizer = canonical_optimizer(s.optimizer);
  if (!s.precision) s.precision = compares_losses(s.optimizer) && !s.task ? "double" : "float";
  if (!is_in(std::array<std::string_view, 3>{"float", "double", "bf16"}, *s.precision))
    throw UsageError(fmt::format("--precision is float, double or bf16, not \"{}\"", *s.precision));
  check_task_options(s, options);
  if (s.task) s.task = canonical_task(*s.task);
  if (s.sampled_softmax > 0 && s.restarts > 1)
    throw UsageError("--sampled-softmax and --restarts exclude each other: restarts are compared by their whole loss");
  s.symbols = to_string(parse_symbol_kind(s.symbols));
  parse_unknown_policy(s.unknown);
  if (s.memory_limit) parse_bytes(*s.memory_limit);
  if (s.only_label && !s.label_column) throw UsageError("--only-label needs --label-column");
  if (s.valid && s.split)
    throw UsageError("--valid and --split exclude each other: validation comes from a file or from a part of DATA");
  if (s.valid_mask && !s.valid) throw UsageError("--valid-mask belongs to --valid; --mask covers all of DATA");
  if (s.valid && s.mask.has_value() != s.valid_mask.has_value())
    throw UsageError(
        "--mask and --valid-mask belong together: what is trained on one set of symbols is not comparable "
        "on another");
  if (!s.valid && !s.split) s.split = kDefaultSplit;
  if (s.split) parse_split(*s.split);
  if (!s.epochs && !s.steps && !s.minutes && !is_fitted_model(s.model)) s.epochs = kDefaultEpochs;
}

bool applies(std::string_view option, const TrainSettings& s) {
  if (is_fitted_model(s.model) && is_in(kGradientOnly, option)) return false;
  return s.task ? !is_in(kTextOnly, option) : !is_in(kTaskOnly, option);
}

bool is_budget(std::string_view option) { return is_in(kBudget, option); }

void replace_budget(TrainSettings& s, const VerbOptions& options) {
  if (std::ranges::none_of(kBudget, [&](std::string_view name) { return options.given(name); })) return;
  if (!options.given("epochs")) s.epochs.reset();
  if (!options.given("steps")) s.steps.reset();
  if (!options.given("minutes")) s.minutes.reset();
}

std::size_t parse_bytes(const std::string& text, std::string_view option) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  const std::string unit = digits == std::string::npos ? "" : text.substr(digits);
  const std::size_t power = std::string("KMGT").find(unit.empty() ? ' ' : unit[0]);
  if (digits == 0 || text.empty() || text.size() > 15 || unit.size() > 1 ||
      (!unit.empty() && power == std::string::npos))
    throw UsageError(fmt::format("{} wants a number of bytes such as 500M or 2G, not \"{}\"", option, text));
  const std::size_t number = std::stoull(text);
  return unit.empty() ? number : number << (10 * (power + 1));
}

}  // namespace unfold
