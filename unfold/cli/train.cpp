#include "unfold/models/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "unfold/cli/figures.h"
#include "unfold/cli/interrupt.h"
#include "unfold/cli/run_folder.h"
#include "unfold/cli/task_runs.h"
#include "unfold/cli/train_progress.h"
#include "unfold/cli/train_settings.h"
#include "unfold/cli/verb.h"
#include "unfold/data/labels.h"
#include "unfold/data/split.h"
#include "unfold/models/defaults.h"
#include "unfold/models/registry.h"
#include "unfold/models/restarts.h"
#include "unfold/numerics/bf16.h"
#include "unfold/training/event_log.h"

namespace unfold {
namespace {

/// What is trained on. Parts refer to the corpora by number only.
struct Material {
  Corpus corpus;
  std::optional<Corpus> valid;
  Part training, validation;
  bool has_test = false;

  const Corpus& validation_corpus() const { return valid ? *valid : corpus; }
};

class Train final : public Verb {
 public:
  Train()
      : Verb(VerbOptions(
            "train", "trains a model on symbols and keeps the best by validation",
            {"unfold train book.txt --symbols chars --split 90/5/5 --minutes 3 --out run",
             "unfold train a.txt b.txt.gz --valid c.txt --model gru:256,layers=2 --epochs 5 --out run",
             "unfold train --task adding:100 --model rnn:100,activation=relu,init=identity --minutes 5 --out run",
             "unfold train --out run --resume"})) {
    add_train_options(options_, s_);
    add_unpacking_limit();
    add_threads(Keep::run);
    add_common();
  }

  ExitCode run(Console& console) override;

 private:
  void take_stored(const RunFolder& folder);
  Config comparable(const Config& all) const;
  ExitCode run_task(Console& console, const RunFolder& folder);
  void check_folder(const RunFolder& folder) const;
  Material load() const;
  TrainOptions train_options(const RunFolder& folder) const;
  template <class T>
  ExitCode run_recurrent(Console& console, const RunFolder& folder, const Material& material, const TrainingData& data);
  template <class T>
  Index choose_restart(Console& console, const RunFolder& folder, const TrainingData& data,
                       TrainerOptions options) const;
  Config kept(Keep least) const;
  void begin(Console& console, const RunFolder& folder, const SymbolModel& model, const Material& material,
             bool resume) const;
  template <class T>
  TrainingResult train_by_gradient(Console& console, const RunFolder& folder, LanguageModel<T>& model,
                                   const TrainingData& data, TrainOptions options) const;
  TrainingResult fit(Console& console, const RunFolder& folder, FittedModel& model, const TrainingData& data) const;
  void report(const RunFolder& folder, const SymbolModel& model, const Material& material,
              const TrainingResult& result) const;

  TrainSettings s_;
};

/// The stored configuration lies under what is given now. A new budget replaces the stored one.
void Train::take_stored(const RunFolder& folder) {
  if (!folder.has_config()) return;
  Config stored = read_config(folder.config());
  options_.resolve(&stored);
  replace_budget(s_, options_);
}

/// What must not differ between a run and its continuation.
Config Train::comparable(const Config& all) const {
  Config result;
  for (const ConfigEntry& entry : all.entries()) {
    const bool may_differ = is_budget(entry.key) && s_.resume;
    if (options_.keep(entry.key) >= Keep::fixed && !may_differ) result.set(entry.key, entry.value);
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
  Config result;
  for (const ConfigEntry& entry : all.entries())
    if (applies(entry.key, s_)) result.set(entry.key, entry.value);
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
  t.precision = s_.precision == "bf16" ? Precision::bf16 : Precision::exact;
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
  options.sampled_softmax = s_.sampled_softmax;
  options.model_file = folder.model();
  options.sampling.seed = t.seed;
  return options;
}

/// Which arithmetic --precision bf16 comes to on this processor.
void tell_precision(Console& console) {
  if (bf16_unit() == Bf16Unit::none)
    console.warn("--precision bf16: this processor has no AVX-512-BF16; training goes on in float");
  else
    console.remark(fmt::format("products of training by {}, everything else in float", bf16_unit_name()));
}

ExitCode Train::run(Console& console) {
  if (s_.out.empty())
    throw UsageError(
        "train needs --out RUN, the folder for the model, its checkpoint and its log; see `unfold train --help`");
  const RunFolder folder(s_.out);
  folder.lock();
  if (s_.resume && s_.overwrite) throw UsageError("--resume and --overwrite exclude each other");
  if (s_.resume) take_stored(folder);
  if (s_.data.empty() && !s_.task) throw options_.missing_inputs();
  make_canonical(s_, options_);
  check_folder(folder);
  if (s_.resume && !folder.has_checkpoint())
    console.remark(fmt::format("{} holds no checkpoint yet: training starts from the beginning", folder.path()));

  if (*s_.precision == "bf16") tell_precision(console);
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
  if (*s_.precision == "double") return run_recurrent<double>(console, folder, material, data);
  return run_recurrent<float>(console, folder, material, data);
}

template <class T>
ExitCode Train::run_recurrent(Console& console, const RunFolder& folder, const Material& material,
                              const TrainingData& data) {
  TrainOptions options = train_options(folder);
  const Symbol after = s_.predict_after ? material.corpus.alphabet().parse(*s_.predict_after) : kNoSymbol;
  options.trainer.batches.predict_after = after;
  const auto seed = static_cast<std::uint64_t>(s_.seed);
  LanguageModel<T> model = make_candidate<T>(parse_model_spec(s_.model), data, after, seed, 0);
  begin(console, folder, model, material, options.trainer.resume);
  if (s_.restarts > 1 && !options.trainer.resume) {
    const Index best = choose_restart<T>(console, folder, data, options.trainer);
    model = make_candidate<T>(parse_model_spec(s_.model), data, after, seed, best);
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
                          .task = {.batch = s_.batch, .validation = s_.validate_on, .curriculum = s_.curriculum},
                          .model_file = text.model_file},
              .configuration = to_json(kept(Keep::model)),
              .json = json_};
  run.options.trainer.goal_error = s_.goal_error.value_or(-1);
  const auto task = make_task(run.task, run.folder);  // before anything is written: refuses files that are missing
  if (s_.curriculum > 0) task->shortened(task->shortest());  // refuses a task whose examples have one length
  folder.create();
  if (!text.trainer.resume) folder.clear();
  folder.write_config(kept(Keep::run));
  Team team(threads());
  train_on_task(console, folder, run, team);
  return ExitCode::success;
}

/// Trains the candidates of --restarts for half of the budget; the best is then resumed.
template <class T>
Index Train::choose_restart(Console& console, const RunFolder& folder, const TrainingData& data,
                            TrainerOptions options) const {
  console.remark(fmt::format("{} restarts for half of the budget", s_.restarts));
  options.stop = &catch_interrupts();
  const RestartOptions restarts{
      .count = s_.restarts,
      .threads = threads(),
      .folder = folder.path(),
      .done = [&](Index k, const TrainingResult& result) {
        const std::string validation =
            result.validated ? fmt::format("{:.5f} in validation, ", bits(result.best_nats_per_symbol)) : "";
        console.remark(fmt::format("restart {}: {}{:.5f} bits per predicted symbol in training, after {} steps", k + 1,
                                   validation, bits(result.last_loss), result.steps));
      }};
  try {
    const Index best = train_candidates<T>(parse_model_spec(s_.model), data, options, restarts);
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

template <class T>
TrainingResult Train::train_by_gradient(Console& console, const RunFolder& folder, LanguageModel<T>& model,
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
