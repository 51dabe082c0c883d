#include "unfold/models/train.h"
#include "unfold/models/restarts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "unfold/cli/figures.h"
#include "unfold/cli/interrupt.h"
#include "unfold/cli/run_folder.h"
#include "unfold/cli/task_runs.h"
#include "unfold/cli/train_progress.h"
#include "unfold/cli/verb.h"
#include "unfold/data/labels.h"
#include "unfold/data/split.h"
#include "unfold/models/defaults.h"
#include "unfold/models/registry.h"
#include "unfold/training/event_log.h"

namespace unfold {
namespace {

constexpr const char* kDefaultSplit = "90/10";
constexpr std::array<std::string_view, 3> kBudget = {"epochs", "steps", "minutes"};
/// Options of training by gradient: models that are fitted as a whole have no use for them.
constexpr std::array<std::string_view, 16> kGradientOnly = {
    "restarts",     "optimizer", "window",       "batch",           "whole-sequences", "curriculum",
    "epochs",       "steps",     "minutes",      "validate-every",  "early-stop",      "resume",
    "sample-every", "log-every", "memory-limit", "checkpoint-every"};

/// Options of text: tasks have no use for them.
constexpr std::array<std::string_view, 13> kTextOnly = {
    "symbols", "vocabulary", "lines",           "split",      "valid",        "unknown", "predict-after",
    "mask",    "valid-mask", "whole-sequences", "curriculum", "sample-every", "window"};
constexpr std::array<std::string_view, 2> kTaskOnly = {"validate-on", "goal-error"};

struct Settings {
  std::vector<std::string> data;
  std::string out, model = kDefaultModel, optimizer = kDefaultOptimizer;
  std::optional<std::string> valid, split, predict_after, mask, valid_mask, memory_limit, task;
  std::string symbols = "chars", unknown = "error";
  Index vocabulary = 0, window = kDefaultWindow, batch = kDefaultBatch, curriculum = 0, seed = 1;
  std::optional<std::string> only_label;
  bool label_column = false;
  bool lines = false, whole_sequences = false, resume = false, overwrite = false;
  std::optional<double> epochs, minutes, goal_error;
  Index validate_on = 1000;
  double activity_penalty = 0, flow_penalty = 0;
  std::optional<Index> steps;
  Index restarts = 1, validate_every = 0, early_stop = 0, sample_every = 0, checkpoint_every = 0, log_every = 100;
};

/// What is trained on. Parts refer to the corpora by number only.
struct Material {
  Corpus corpus;
  std::optional<Corpus> valid;
  Part training, validation;
  bool has_test = false;

  const Corpus& validation_corpus() const { return valid ? *valid : corpus; }
};

/// "500M", "2G": bytes, with the binary multiples K, M, G, T.
std::size_t parse_bytes(const std::string& text) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  const std::string unit = digits == std::string::npos ? "" : text.substr(digits);
  const std::size_t power = std::string("KMGT").find(unit.empty() ? ' ' : unit[0]);
  if (digits == 0 || text.empty() || text.size() > 15 || unit.size() > 1 ||
      (!unit.empty() && power == std::string::npos))
    throw UsageError(fmt::format("--memory-limit wants a number of bytes such as 500M or 2G, not \"{}\"", text));
  const std::size_t number = std::stoull(text);
  return unit.empty() ? number : number << (10 * (power + 1));
}

class Train final : public Verb {
 public:
  Train()
      : Verb(VerbOptions(
            "train", "trains a model on symbols and keeps the best by validation",
            {"unfold train book.txt --symbols chars --split 90/5/5 --minutes 3 --out run",
             "unfold train a.txt b.txt.gz --valid c.txt --model gru:256,layers=2 --epochs 5 --out run",
             "unfold train --task adding:100 --model rnn:100,activation=relu,init=identity --minutes 5 --out run",
             "unfold train --out run --resume"})) {
    add_data_options();
    add_training_options();
    add_run_options();
    add_common();
  }

  ExitCode run(Console& console) override;

 private:
  void add_data_options();
  void add_training_options();
  void add_run_options();

  void take_stored(const RunFolder& folder);
  Config comparable(const Config& all) const;
  void check_task_options() const;
  ExitCode run_task(Console& console, const RunFolder& folder);
  void check_folder(const RunFolder& folder) const;
  void make_canonical();
  Material load() const;
  TrainOptions train_options(const RunFolder& folder) const;
  Index choose_restart(Console& console, const RunFolder& folder, const TrainingData& data,
                       TrainerOptions options) const;
  Config kept(Keep least) const;
  void begin(Console& console, const RunFolder& folder, const SymbolModel& model, const Material& material,
             bool resume) const;
  TrainingResult train_by_gradient(Console& console, const RunFolder& folder, LanguageModel<float>& model,
                                   const TrainingData& data, TrainOptions options) const;
  TrainingResult fit(Console& console, const RunFolder& folder, FittedModel& model, const TrainingData& data) const;
  void report(const RunFolder& folder, const SymbolModel& model, const Material& material,
              const TrainingResult& result) const;

  Settings s_;
};

void Train::add_data_options() {
  options_.add_inputs({.name = "data",
                       .target = &s_.data,
                       .placeholder = "DATA...",
                       .help = "text files (also .gz, .xz, .zst; - is standard input), each one sequence",
                       .least = 0,  // a resumed run knows them
                       .most = std::string::npos,
                       .keep = Keep::fixed});
  options_.add({.name = "out", .target = &s_.out, .placeholder = "RUN", .help = "the run folder, needed"});
  options_.add({.name = "symbols",
                .target = &s_.symbols,
                .placeholder = "KIND",
                .help = "what is a symbol: bytes, chars or words",
                .keep = Keep::model});
  options_.add({.name = "vocabulary",
                .target = &s_.vocabulary,
                .placeholder = "N",
                .help = "words: keep the N most frequent, the rest is <unk>; 0: all",
                .least = 0,
                .keep = Keep::model});
  options_.add({.name = "label-column",
                .target = &s_.label_column,
                .help = "the first column of every line is a label, which the model shall not read",
                .keep = Keep::model});
  options_.add({.name = "only-label",
                .target = &s_.only_label,
                .placeholder = "LABEL",
                .help = "with --label-column: read only lines with this label",
                .keep = Keep::model});
  options_.add(
      {.name = "lines", .target = &s_.lines, .help = "each line is a sequence of its own", .keep = Keep::model});
  options_.add({.name = "split",
                .target = &s_.split,
                .placeholder = "A/B[/C]",
                .help = "percentages for training, validation and test",
                .keep = Keep::model,
                .default_text = std::string(kDefaultSplit) + " without --valid"});
  options_.add({.name = "valid",
                .target = &s_.valid,
                .placeholder = "FILE",
                .help = "validate on this file and train on all of DATA",
                .keep = Keep::fixed});
  options_.add({.name = "unknown",
                .target = &s_.unknown,
                .placeholder = "error|skip",
                .help = "symbols of --valid that DATA lacks: stop, or leave them out",
                .keep = Keep::model});
  std::string known;
  for (const TaskHelp& task : tasks()) known += (known.empty() ? "" : ", ") + task.name;
  options_.add({.name = "task",
                .target = &s_.task,
                .placeholder = "SPEC",
                .help = "instead of text: examples of a task, endless where they are generated: " + known,
                .keep = Keep::model});
  options_.add({.name = "validate-on",
                .target = &s_.validate_on,
                .placeholder = "N",
                .help = "tasks: examples of a validation",
                .least = 1,
                .most = 1e7,
                .keep = Keep::model});
  options_.add({.name = "goal-error",
                .target = &s_.goal_error,
                .placeholder = "X",
                .help = "tasks: end when a validation finds at most this share of wrong sequences",
                .least = 0,
                .most = 1,
                .keep = Keep::model});
  options_.add({.name = "predict-after",
                .target = &s_.predict_after,
                .placeholder = "SYMBOL",
                .help = "predict only the symbols that follow this one",
                .keep = Keep::model});
  options_.add({.name = "mask",
                .target = &s_.mask,
                .placeholder = "FILE",
                .help = "a 0 or 1 for every symbol of DATA: which are to be predicted",
                .keep = Keep::fixed});
  options_.add({.name = "valid-mask",
                .target = &s_.valid_mask,
                .placeholder = "FILE",
                .help = "the same for --valid",
                .keep = Keep::fixed});
}

void Train::add_training_options() {
  options_.add({.name = "model",
                .target = &s_.model,
                .placeholder = "SPEC",
                .help = "rnn:N, lstm:N, gru:N, mrnn:N, glnn:N, ngram:N, hmm:N, ppm:N, ctw:N, mix:A+B, frequency or "
                        "uniform, with options, as lstm:256,layers=2",
                .keep = Keep::model});
  options_.add({.name = "optimizer",
                .target = &s_.optimizer,
                .placeholder = "SPEC",
                .help = "sgd, rmsprop, adam, adamw, path, ruop, rbpm, hf or natural with options: rate, clip, ...",
                .keep = Keep::model});
  options_.add({.name = "window",
                .target = &s_.window,
                .placeholder = "N",
                .help = "symbols of each sequence in one step",
                .least = 1,
                .most = 1e9,
                .keep = Keep::model});
  options_.add({.name = "batch",
                .target = &s_.batch,
                .placeholder = "N",
                .help = "sequences side by side in one step",
                .least = 1,
                .most = 1e6,
                .keep = Keep::model});
  options_.add({.name = "whole-sequences",
                .target = &s_.whole_sequences,
                .help = "back-propagate through whole sequences, not windows",
                .keep = Keep::model});
  options_.add({.name = "curriculum",
                .target = &s_.curriculum,
                .placeholder = "N",
                .help = "epoch e reads only the first e*N symbols of each sequence; 0: all",
                .least = 0,
                .keep = Keep::model});
  options_.add({.name = "epochs",
                .target = &s_.epochs,
                .placeholder = "N",
                .help = "budget in passes over the training part",
                .least = 0,
                .keep = Keep::model,
                .default_text = fmt::format("{} when no budget is given", kDefaultEpochs)});
  options_.add({.name = "steps",
                .target = &s_.steps,
                .placeholder = "N",
                .help = "budget in steps",
                .least = 1,
                .keep = Keep::model});
  options_.add({.name = "minutes",
                .target = &s_.minutes,
                .placeholder = "N",
                .help = "budget in minutes",
                .least = 0,
                .keep = Keep::model});
  options_.add({.name = "activity-penalty",
                .target = &s_.activity_penalty,
                .placeholder = "BETA",
                .help = "adds BETA * the mean squared change of each layer's norm from step to step",
                .least = 0,
                .keep = Keep::model});
  options_.add({.name = "flow-penalty",
                .target = &s_.flow_penalty,
                .placeholder = "WEIGHT",
                .help = "keeps the norm of the gradient as it flows back through time; rnn and mrnn",
                .least = 0,
                .keep = Keep::model});
  options_.add({.name = "seed",
                .target = &s_.seed,
                .placeholder = "N",
                .help = "of start, order and dropout",
                .least = 0,
                .keep = Keep::model});
  options_.add({.name = "restarts",
                .target = &s_.restarts,
                .placeholder = "K",
                .help = "start K times from other seeds and graphs; the best after half of the budget goes on",
                .least = 1,
                .most = 10000,
                .keep = Keep::model});
  options_.add({.name = "validate-every",
                .target = &s_.validate_every,
                .placeholder = "STEPS",
                .help = "steps between validations",
                .least = 0,
                .keep = Keep::model,
                .default_text = "so that they take a twentieth of the time"});
  options_.add({.name = "early-stop",
                .target = &s_.early_stop,
                .placeholder = "N",
                .help = "end after N validations without improvement; 0: never",
                .least = 0,
                .keep = Keep::model});
}

void Train::add_run_options() {
  options_.add({.name = "resume", .target = &s_.resume, .help = "go on where the run in --out stands"});
  options_.add({.name = "overwrite", .target = &s_.overwrite, .help = "replace the run in --out"});
  options_.add({.name = "sample-every",
                .target = &s_.sample_every,
                .placeholder = "STEPS",
                .help = "show a sample now and then; 0: never",
                .least = 0,
                .keep = Keep::run});
  options_.add({.name = "checkpoint-every",
                .target = &s_.checkpoint_every,
                .placeholder = "STEPS",
                .help = "steps between checkpoints",
                .least = 0,
                .keep = Keep::run,
                .default_text = "one a minute"});
  options_.add({.name = "log-every",
                .target = &s_.log_every,
                .placeholder = "STEPS",
                .help = "steps between entries of log.jsonl",
                .least = 1,
                .keep = Keep::fixed});
  options_.add({.name = "memory-limit",
                .target = &s_.memory_limit,
                .placeholder = "BYTES",
                .help = "for activities, as 2G; recomputes what does not fit, with the same result",
                .keep = Keep::run});
  add_threads(Keep::run);
}

/// SPECs in their canonical form, so that equal configurations are equal texts. Before any data is read.
void Train::make_canonical() {
  s_.model = canonical_model(s_.model);
  if (!is_fitted_model(s_.model)) {
    ModelSpec spec = parse_model_spec(s_.model);
    if (has_random_graph(spec) && spec.graph == 0) spec.graph = s_.seed;
    s_.model = to_string(spec);
  }
  if (is_fitted_model(s_.model))
    for (const std::string_view name : kGradientOnly)
      if (options_.given(name))
        throw UsageError(
            fmt::format("--{} is for models trained by gradient; {} is fitted as a whole", name, s_.model));
  s_.optimizer = canonical_optimizer(s_.optimizer);
  check_task_options();
  if (s_.task) s_.task = canonical_task(*s_.task);
  s_.symbols = to_string(parse_symbol_kind(s_.symbols));
  parse_unknown_policy(s_.unknown);
  if (s_.memory_limit) parse_bytes(*s_.memory_limit);
  if (s_.only_label && !s_.label_column) throw UsageError("--only-label needs --label-column");
  if (s_.valid && s_.split)
    throw UsageError("--valid and --split exclude each other: validation comes from a file or from a part of DATA");
  if (s_.valid_mask && !s_.valid) throw UsageError("--valid-mask belongs to --valid; --mask covers all of DATA");
  if (s_.valid && s_.mask.has_value() != s_.valid_mask.has_value())
    throw UsageError(
        "--mask and --valid-mask belong together: what is trained on one set of symbols is not comparable "
        "on another");
  if (!s_.valid && !s_.split) s_.split = kDefaultSplit;
  if (s_.split) parse_split(*s_.split);
  if (!s_.epochs && !s_.steps && !s_.minutes && !is_fitted_model(s_.model)) s_.epochs = kDefaultEpochs;
}

void Train::check_task_options() const {
  for (const std::string_view name : kTextOnly)
    if (s_.task && options_.given(name)) throw UsageError(fmt::format("--{} is for text, not for a --task", name));
  for (const std::string_view name : kTaskOnly)
    if (!s_.task && options_.given(name)) throw UsageError(fmt::format("--{} belongs to a --task", name));
  if (!s_.task) return;
  if (is_fitted_model(s_.model))
    throw UsageError(fmt::format("--task wants a model trained by gradient, not {}", s_.model));
  const bool files = task_needs_files(*s_.task);
  if (s_.data.size() != (files ? 1 : 0))
    throw UsageError(files ? fmt::format("--task {0} needs one folder: unfold train FOLDER --task {0}", *s_.task)
                           : fmt::format("--task {} generates its examples; it takes no DATA", *s_.task));
  if (!files && !s_.steps && !s_.minutes)
    throw UsageError(fmt::format("--task {} has no end: give --steps or --minutes", *s_.task));
}

/// The stored configuration lies under what is given now. A new budget replaces the stored one.
void Train::take_stored(const RunFolder& folder) {
  if (!folder.has_config()) return;
  Config stored = read_config(folder.config());
  options_.resolve(&stored);
  bool new_budget = false;
  for (const std::string_view name : kBudget) new_budget = new_budget || options_.given(name);
  if (!new_budget) return;
  if (!options_.given("epochs")) s_.epochs.reset();
  if (!options_.given("steps")) s_.steps.reset();
  if (!options_.given("minutes")) s_.minutes.reset();
}

/// What must not differ between a run and its continuation.
Config Train::comparable(const Config& all) const {
  Config result;
  for (const ConfigEntry& entry : all.entries()) {
    const bool budget = std::ranges::find(kBudget, entry.key) != kBudget.end();
    if (options_.keep(entry.key) >= Keep::fixed && !(budget && s_.resume)) result.set(entry.key, entry.value);
  }
  return result;
}

void Train::check_folder(const RunFolder& folder) const {
  if (!folder.holds_run() || s_.overwrite) return;
  std::string difference;
  if (folder.has_config())
    difference = first_difference(comparable(read_config(folder.config())), comparable(kept(Keep::fixed)));
  if (!difference.empty())
    throw UsageError(
        fmt::format("{} holds a run of another configuration: {}; {}choose another --out, or --overwrite "
                    "to replace it",
                    folder.path(), difference,
                    s_.resume ? "leave that option out to go on, " : "continue it as it is with `--resume` alone, "));
  if (!s_.resume)
    throw UsageError(
        fmt::format("{} holds a run already; --resume goes on with it, --overwrite replaces it, or choose "
                    "another --out",
                    folder.path()));
}

/// The configuration as it is kept, without what has no meaning for the model.
Config Train::kept(Keep least) const {
  const Config all = options_.config(least);
  const auto is_in = [](const auto& list, std::string_view key) { return std::ranges::find(list, key) != list.end(); };
  Config result;
  for (const ConfigEntry& entry : all.entries()) {
    if (is_fitted_model(s_.model) && is_in(kGradientOnly, entry.key)) continue;
    if (s_.task ? is_in(kTextOnly, entry.key) : is_in(kTaskOnly, entry.key)) continue;
    result.set(entry.key, entry.value);
  }
  return result;
}

Material Train::load() const {
  std::vector<Input> inputs = unlabelled(open_inputs(s_.data), s_.label_column, s_.only_label);
  Alphabet alphabet = build_alphabet(
      inputs, {.kind = parse_symbol_kind(s_.symbols),
               .vocabulary = s_.vocabulary,
               .with_unknown = s_.valid.has_value() && parse_symbol_kind(s_.symbols) == SymbolKind::words});
  const UnknownPolicy unknown = parse_unknown_policy(s_.unknown);
  Material material{.corpus = Corpus::load(std::move(inputs), alphabet, {.unknown = unknown, .lines = s_.lines}),
                    .valid = std::nullopt,
                    .training = {},
                    .validation = {}};
  if (s_.mask) material.corpus.set_mask(Input::open(*s_.mask));
  if (s_.valid) {
    material.valid = Corpus::load(unlabelled(open_inputs({*s_.valid}), s_.label_column, s_.only_label), alphabet,
                                  {.unknown = unknown, .lines = s_.lines});
    if (s_.valid_mask) material.valid->set_mask(Input::open(*s_.valid_mask));
    material.training = whole_corpus(material.corpus, "training");
    material.validation = whole_corpus(*material.valid, "validation");
  } else {
    auto [training, validation, test] = split_corpus(material.corpus, parse_split(*s_.split));
    material.has_test = !test.empty();
    material.training = std::move(training);
    material.validation = std::move(validation);
  }
  return material;
}

TrainOptions Train::train_options(const RunFolder& folder) const {
  TrainOptions options;
  TrainerOptions& t = options.trainer;
  t.optimizer = s_.optimizer;
  t.batches = {
      .window = s_.window, .batch = s_.batch, .whole_sequences = s_.whole_sequences, .curriculum = s_.curriculum};
  t.penalties = {.activity = s_.activity_penalty, .flow = s_.flow_penalty};
  t.seed = static_cast<std::uint64_t>(s_.seed);
  t.steps = s_.steps.value_or(0);
  t.epochs = s_.epochs.value_or(0);
  t.minutes = s_.minutes.value_or(0);
  t.validate_every = s_.validate_every;
  t.patience = s_.early_stop;
  t.sample_every = s_.sample_every;
  t.log_every = s_.log_every;
  if (s_.memory_limit) t.memory_limit = parse_bytes(*s_.memory_limit);
  t.checkpoint = folder.checkpoint();
  t.checkpoint_steps = s_.checkpoint_every;
  t.resume = s_.resume && folder.has_checkpoint();
  t.log = folder.log();
  options.model_file = folder.model();
  options.sampling.seed = t.seed;
  return options;
}

ExitCode Train::run(Console& console) {
  if (s_.out.empty())
    throw UsageError(
        "train needs --out RUN, the folder for the model, its checkpoint and its log; see `unfold train --help`");
  const RunFolder folder(s_.out);
  if (s_.resume && s_.overwrite) throw UsageError("--resume and --overwrite exclude each other");
  if (s_.resume) take_stored(folder);
  if (s_.data.empty() && !s_.task) throw options_.missing_inputs();
  make_canonical();
  check_folder(folder);
  if (s_.resume && !folder.has_checkpoint())
    console.remark(fmt::format("{} holds no checkpoint yet: training starts from the beginning", folder.path()));

  if (s_.task) return run_task(console, folder);
  const Material material = load();
  const TrainingData data{.corpus = material.corpus,
                          .training = material.training,
                          .validation = &material.validation,
                          .validation_corpus = &material.validation_corpus()};
  if (is_fitted_model(s_.model)) {
    const auto model = make_fitted_model(s_.model, material.corpus.alphabet());
    begin(console, folder, *model, material, false);
    model->configuration() = to_json(kept(Keep::model));
    report(folder, *model, material, fit(console, folder, *model, data));
    return ExitCode::success;
  }
  TrainOptions options = train_options(folder);
  const Symbol after = s_.predict_after ? material.corpus.alphabet().parse(*s_.predict_after) : kNoSymbol;
  options.trainer.batches.predict_after = after;
  const auto seed = static_cast<std::uint64_t>(s_.seed);
  LanguageModel<float> model = make_candidate(parse_model_spec(s_.model), data, after, seed, 0);
  begin(console, folder, model, material, options.trainer.resume);
  if (s_.restarts > 1 && !options.trainer.resume) {
    const Index best = choose_restart(console, folder, data, options.trainer);
    model = make_candidate(parse_model_spec(s_.model), data, after, seed, best);
    s_.model = to_string(model.spec());
    folder.write_config(kept(Keep::run));
    options.trainer.resume = true;
  }
  if (s_.restarts > 1) set_budget_after_restarts(options.trainer, s_.restarts, threads());
  model.configuration() = to_json(kept(Keep::model));
  report(folder, model, material, train_by_gradient(console, folder, model, data, options));
  return ExitCode::success;
}

ExitCode Train::run_task(Console& console, const RunFolder& folder) {
  const TrainOptions text = train_options(folder);
  TaskRun run{.task = *s_.task,
              .folder = s_.data.empty() ? std::string() : s_.data.front(),
              .model = s_.model,
              .options = {.trainer = text.trainer,
                          .task = {.batch = s_.batch, .validation = s_.validate_on},
                          .model_file = text.model_file},
              .configuration = to_json(kept(Keep::model)),
              .json = json_};
  run.options.trainer.goal_error = s_.goal_error.value_or(-1);
  make_task(run.task, run.folder);  // before anything is written: refuses files that are missing or damaged
  folder.create();
  if (!text.trainer.resume) folder.clear();
  folder.write_config(kept(Keep::run));
  Team team(threads());
  train_on_task(console, folder, run, team);
  return ExitCode::success;
}

/// Trains the candidates of --restarts for half of the budget; the best is then resumed.
Index Train::choose_restart(Console& console, const RunFolder& folder, const TrainingData& data,
                            TrainerOptions options) const {
  console.remark(fmt::format("{} restarts for half of the budget", s_.restarts));
  options.stop = &catch_interrupts();
  const RestartOptions restarts{
      .count = s_.restarts,
      .threads = threads(),
      .folder = folder.path(),
      .done = [&](Index k, const TrainingResult& result) {
        console.remark(fmt::format("restart {}: {:.5f} bits per predicted symbol in training after {} steps", k + 1,
                                   bits(result.last_loss), result.steps));
      }};
  try {
    const Index best = train_candidates(parse_model_spec(s_.model), data, options, restarts);
    console.remark(fmt::format("restart {} goes on", best + 1));
    return best;
  } catch (const InterruptedError&) {
    throw InterruptedError("interrupted among the restarts, of which nothing is kept: start again with --overwrite");
  }
}

/// Makes the folder ready and says what is about to be done.
void Train::begin(Console& console, const RunFolder& folder, const SymbolModel& model, const Material& material,
                  bool resume) const {
  folder.create();
  if (!resume) folder.clear();
  folder.write_config(kept(Keep::run));
  console.remark(fmt::format("{}: {}{} symbols in the alphabet, {} to train on{}", s_.model,
                             is_fitted_model(s_.model) ? "" : fmt::format("{} parameters, ", model.parameter_count()),
                             model.alphabet().size(), material.training.symbols(),
                             material.validation.empty()
                                 ? ", none to validate on: the last model is kept"
                                 : fmt::format(", {} to validate on", material.validation.symbols())));
}

TrainingResult Train::train_by_gradient(Console& console, const RunFolder& folder, LanguageModel<float>& model,
                                        const TrainingData& data, TrainOptions options) const {
  Team team(threads());
  TrainProgress progress(console, options.trainer.steps);
  options.trainer.stop = &catch_interrupts();
  try {
    return train(model, data, options, team, &progress);
  } catch (const InterruptedError&) {
    throw InterruptedError(fmt::format("interrupted; the checkpoint is {}: go on with `unfold train --out {} --resume`",
                                       folder.checkpoint(), folder.path()));
  }
}

TrainingResult Train::fit(Console& console, const RunFolder& folder, FittedModel& model,
                          const TrainingData& data) const {
  Team team(threads());
  EventLog log(folder.log());
  const FitOptions options{.seed = static_cast<std::uint64_t>(s_.seed),
                           .stop = &catch_interrupts(),
                           .progress = [&](const std::string& what, double fraction) {
                             if (console.due()) console.progress(fmt::format("{}  {:.0f} %", what, 100 * fraction));
                           }};
  const Symbol after = s_.predict_after ? model.alphabet().parse(*s_.predict_after) : kNoSymbol;
  try {
    return train(model, data, options, team, folder.model(), &log, after);
  } catch (const InterruptedError&) {
    throw InterruptedError(
        fmt::format("interrupted; nothing is kept of fitting {}: start again with --overwrite", s_.model));
  }
}

void Train::report(const RunFolder& folder, const SymbolModel& model, const Material& material,
                   const TrainingResult& result) const {
  const double speed = result.seconds > 0 ? static_cast<double>(result.symbols) / result.seconds : 0;
  const Figures figures{.nats_per_symbol = result.best_nats_per_symbol,
                        .symbols = result.validation_symbols,
                        .bytes = material.validation.bytes(material.validation_corpus())};
  if (json_) {
    nlohmann::ordered_json json = {{"run", folder.path()},
                                   {"model", s_.model},
                                   {"parameters", model.parameter_count()},
                                   {"valid", nullptr},
                                   {"best_step", result.best_step},
                                   {"steps", result.steps},
                                   {"epochs", result.epochs},
                                   {"symbols", result.symbols},
                                   {"seconds", result.seconds},
                                   {"symbols_per_second", speed},
                                   {"rollbacks", result.rollbacks},
                                   {"ended_by", result.reason}};
    if (result.validated) json["valid"] = to_json(figures);
    print_result(one_line(json));
    return;
  }
  if (result.validated && result.steps == 0)
    print_result("Validation:\n" + to_text(figures));
  else if (result.validated)
    print_result(
        fmt::format("Best validation, at step {} of {}:\n{}", result.best_step, result.steps, to_text(figures)));
  else if (result.steps > 0)
    print_result(fmt::format("Last loss: {:.4f} nats per symbol (nothing to validate on)\n", result.last_loss));
  print_result(fmt::format(
      "time             {} ({} symbols/s, {:.2f} epochs, ended by {})\nmodel            {} ({})\n\n",
      duration_text(result.seconds), count_text(speed), result.epochs, result.reason, folder.model(), s_.model));
  print_result(fmt::format("Next:  unfold sample {} --length 500\n", folder.path()));
  if (material.has_test)
    print_result(fmt::format("       unfold eval {} {} --split {} --part test\n", folder.path(),
                             fmt::join(s_.data, " "), *s_.split));
  else
    print_result(fmt::format("       unfold eval {} OTHER.txt\n", folder.path()));
}

}  // namespace

std::unique_ptr<Verb> make_train() { return std::make_unique<Train>(); }

}  // namespace unfold
