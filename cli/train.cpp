#include "app/train/train.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/fields/predicted_list.h"
#include "app/logs/log_update.h"
#include "cli/in_processes.h"
#include "cli/terminal/metrics_text.h"
#include "cli/train_options.h"

namespace unfold {
namespace {

class Train final : public Verb {
 public:
  Train()
      : Verb(CommandOptions(
            "train", "trains a model on text or on data with fields and keeps the one with the best validation loss",
            {"unfold train book.txt --symbols chars --split 90/5/5 --minutes 3 --out run",
             "unfold train a.txt b.txt.gz --valid c.txt --model gru:256,layers=2 --epochs 5 --out run",
             "unfold train chunks.txt --format columns --read 1,2 --predict 3 --out chunker",
             "unfold train --task adding:100 --model rnn:100,activation=relu,init=identity --minutes 5 --out run",
             "unfold train --out run --resume", "unfold train run --update monday.log",
             "mpirun -n 4 unfold train book.txt --shards 4 --out run"})) {
    add_train_options(options_, request_);
    options_.add({.name = "update",
                  .target = &update_.logs,
                  .placeholder = "LOG",
                  .help =
                      "unfold train RUN --update LOG: add the lines of LOG, a newer log, to the n-gram model of a log "
                      "in the run folder RUN, which replaces DATA; may be repeated",
                  .file = FileUse::data,
                  .group = OptionGroup::data});
    options_.add({.name = "half-life",
                  .target = &update_.half_life,
                  .placeholder = "LINES",
                  .help = "--update: number of new lines after which earlier lines count half",
                  .least = 1,
                  .group = OptionGroup::data});
    add_unpacking_limit();
    add_key();
    add_common();
  }

  ExitCode run(Console& console) override;

 private:
  ExitCode update(Console& console);

  TrainRequest request_;
  LogUpdateRequest update_;
};

/// Returns the heading of the validation metrics.
std::string validation_heading(const TrainingResult& result) {
  if (result.steps == 0 || result.reason == "fitted") return "Validation:\n";
  if (!result.validated)
    return fmt::format("Cross-validation; the saved model is trained on all examples, for {} step{}:\n", result.steps,
                       result.steps == 1 ? "" : "s");
  if (result.best_step > 0) return fmt::format("Best validation, at step {} of {}:\n", result.best_step, result.steps);
  return fmt::format("Validation of the initial model, which {} step{} of training did not improve:\n", result.steps,
                     result.steps == 1 ? "" : "s");
}

/// Returns the metrics as text.
std::string figures_text(const TrainOutcome& outcome) {
  const TrainingResult& result = outcome.result;
  const std::string best = validation_heading(result);
  if (outcome.task_valid) return best + to_text(*outcome.task_valid) + "Test:\n" + to_text(*outcome.task_test);
  if (outcome.field_valid)
    return best + to_text(*outcome.field_valid) + (outcome.field_test ? "Test:\n" + to_text(*outcome.field_test) : "");
  if (outcome.field_test)
    return fmt::format("Last loss: {:.4f} (no validation data)\nTest:\n", result.last_loss) +
           to_text(*outcome.field_test);
  if (outcome.valid) return best + to_text(*outcome.valid);
  if (result.steps == 0) return {};
  return fmt::format("Last loss: {:.4f} nats per symbol (no validation data)\n", result.last_loss);
}

/// Returns the training time and the path of the model as text.
std::string run_text(const TrainOutcome& outcome) {
  const TrainingResult& result = outcome.result;
  const double speed = result.seconds > 0 ? static_cast<double>(result.symbols) / result.seconds : 0;
  const std::string ended = outcome.task_valid ? fmt::format("ended by {}", result.reason)
                                               : fmt::format("{} symbols/s, {:.2f} epochs, ended by {}",
                                                             count_text(speed), result.epochs, result.reason);
  return fmt::format("time             {} ({})\nmodel            {} ({})\n", duration_text(result.seconds), ended,
                     outcome.model_file, outcome.settings.model);
}

/// Returns the suggested next command for a model of whole sequences.
std::string next_of_sequences(const TrainOutcome& outcome) {
  std::string given;
  const std::string predicted = parse_predicted(*outcome.settings.predict).field;  // fields that the model also reads
  for (const std::string& field : split_names(outcome.settings.read.value_or("")))
    if (field != predicted) given += fmt::format("{}{}=VALUE", given.empty() ? " --given " : ",", field);
  return fmt::format("\nNext:  unfold sample {0}{1} --count 5\n       unfold eval {0} OTHER\n", outcome.run, given);
}

/// Returns the suggested next command for a text model.
std::string suggested_next_command(const TrainOutcome& outcome) {
  if (outcome.task_valid) return {};
  if (outcome.settings.ends) return next_of_sequences(outcome);
  if (outcome.settings.predict)
    return fmt::format("\nNext:  unfold predict {0} OTHER\n       unfold eval {0} OTHER\n", outcome.run);
  if (outcome.settings.format == kLogFormat)
    return fmt::format("\nNext:  unfold score {} OTHER.log --top 10 --text\n", outcome.run);
  const std::string sample = fmt::format("\nNext:  unfold sample {} --length 500\n", outcome.run);
  if (!outcome.has_test) return sample + fmt::format("       unfold eval {} OTHER.txt\n", outcome.run);
  return sample +
         fmt::format("       unfold eval {} {} --part test\n", outcome.run, fmt::join(outcome.settings.data, " "));
}

ExitCode Train::update(Console& console) {
  const std::size_t permitted = (request_.given.contains(&TrainSettings::data) ? 1 : 0) +
                                (request_.given.contains(&RunSettings::threads) ? 1 : 0);
  const bool others = request_.given.size() > permitted;
  if (request_.settings.data.size() != 1 || !request_.out.empty() || request_.resume || request_.overwrite || others)
    throw UsageError("--update takes one run folder and no training options: unfold train RUN --update NEW.log");
  update_.run = request_.settings.data.front();
  ConsoleReporter reporter(console);
  const LogUpdate updated = update_log_model(update_, reporter);
  if (json_)
    print_result(one_line({{"run", update_.run},
                           {"model", updated.model_file},
                           {"lines", updated.lines},
                           {"new_lines", updated.new_lines},
                           {"templates", updated.templates},
                           {"new_templates", updated.new_templates}}));
  else
    print_result(
        fmt::format("{} line{} added, with {} new template{}; the model now represents {} lines with {} "
                    "templates\nmodel            {}\n",
                    updated.new_lines, updated.new_lines == 1 ? "" : "s", updated.new_templates,
                    updated.new_templates == 1 ? "" : "s", updated.lines, updated.templates, updated.model_file));
  return ExitCode::success;
}

ExitCode Train::run(Console& console) {
  Processes& processes = launched_processes();
  take_given(options_, request_);
  if (!update_.logs.empty()) return update(console);
  if (update_.half_life) throw UsageError("--half-life requires --update");
  if (request_.settings.data.empty() && !request_.settings.task && !request_.out.empty() && !request_.resume)
    throw options_.missing_inputs();
  const auto outcome =
      run_in_processes(processes, request_, console,
                       [](const TrainRequest& request, Reporter& reporter) { return train(request, reporter); });
  if (!outcome) return ExitCode::success;
  if (json_)
    print_result(one_line(to_json(*outcome)));
  else
    print_result(figures_text(*outcome) + run_text(*outcome) +
                 (console.quiet() ? "" : suggested_next_command(*outcome)));
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_train() { return std::make_unique<Train>(); }

}  // namespace unfold
