#include "app/train/training_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "app/fields/defaults/sequence_choice.h"
#include "app/train/setup/trainer_options.h"
#include "app/train/setup/training_data.h"
#include "app/train/train_in_memory.h"
#include "base/interruptible.h"
#include "data/readers/memory_data.h"
#include "model/registry/run_files.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"
#include "unfold/base/formats/json.h"

namespace unfold {
namespace {

std::string selection_file(const RunFolder& folder) { return folder.path() + "/" + kSelectionFile; }

/// Returns how the model of an earlier part of the run was selected; null if it was not.
nlohmann::json stored_selection(const RunFolder& folder) {
  const std::string file = selection_file(folder);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return nullptr;
  return parse_json(std::string(FileBytes(file).bytes()), file);
}

}  // namespace

/// Rejects requests that conflict with a run folder or its absence.
void TrainingContext::check_out() const {
  if (without_folder_) {
    if (request_.resume) throw UsageError("--resume requires the run folder to be continued: add --out");
    if (settings().restarts > 1) throw UsageError("--restarts requires a run folder for its candidates: add --out");
  } else if (request_.out.empty()) {
    throw UsageError(
        "train needs --out RUN, the folder for the model, its checkpoint and its log; see `unfold train --help`");
  }
  if (request_.resume && request_.overwrite) throw UsageError("--resume and --overwrite cannot be combined");
}

/// Gives data in memory the format of files with the same contents. Returns whether the data is in memory.
bool TrainingContext::settle_memory() {
  const MemoryData* memory = settings().data.empty() ? nullptr : MemoryFiles::find(settings().data.front());
  if (memory == nullptr) {
    if (!settings().data.empty() && settings().data.front() == kDataInMemory)
      throw UsageError(fmt::format("the run in {} was trained on data in memory; pass the same data to continue it",
                                   folder_.path()));
    return false;
  }
  if (memory->format.empty()) return true;
  if (request_.given.contains(&TrainSettings::format) && settings().format != memory->format)
    throw UsageError(fmt::format("--format {}: the data in memory has the structure of the format {}; omit --format",
                                 *settings().format, memory->format));
  settings().format = memory->format;
  return true;
}

void TrainingContext::prepare() {
  check_out();
  if (writes()) folder_.lock();
  continues_ = request_.resume && folder_.has_config();
  if (continues_) {
    const Config stored = read_config(folder_.config());
    for (const ConfigEntry& entry : stored.entries()) stored_.insert(entry.key);
    apply_stored(stored, request_.given, settings(), run());
    selection_ = stored_selection(folder_);
  }
  if (settings().data.empty() && !settings().task)
    throw UsageError(request_.resume ? folder_.path() + " contains no run to resume: config.toml is missing or empty"
                                     : "train needs DATA: text files, each one sequence");
  if (request_.resume && is_fitted_model(settings().model))
    throw UsageError(not_by_gradients("resume", settings().model));
  if (continues_) request_.given.resumed = true;
  const bool in_memory = settle_memory();
  if (settings().format || (!continues_ && !in_memory)) reporter_.note_if(resolve_format(settings(), request_.given));
  reporter_.note_if(resolve_device(settings(), run(), request_.given));
  begins_ = !request_.resume || !folder_.has_checkpoint();
}

void TrainingContext::finish_settings(const std::set<std::string_view>& open) {
  make_canonical(settings(), run(), request_.given);
  if (!continues_) {
    open_ = open;
    if (!settings().whole_sequences && chooses_sequences(settings(), given()))
      open_.insert(name_of(&TrainSettings::whole_sequences));
  }
  check_folder();
  const bool resumes = request_.resume && folder_.has_checkpoint();
  require_same_training(processes(), settings(), run(), resumes);
  if (request_.resume && !resumes)
    reporter_.remark(fmt::format("{} contains no checkpoint yet: training starts from the beginning", folder_.path()));
}

void TrainingContext::open_device() { device_ = TrainingDevice(settings(), run(), request_.device, reporter_); }

void TrainingContext::check_folder() {
  if (without_folder_ || !folder_.holds_run() || request_.overwrite) return;
  std::string difference;
  if (folder_.has_config()) {
    const Config there = read_config(folder_.config());
    Config here = kept(Keep::fixed);
    for (const std::string_view name : open_)
      if (const ConfigEntry* decided = there.find(name)) here.set(decided->key, decided->value);
    if (const ConfigEntry* other = there.find(name_of(&TrainSettings::precision));
        request_.resume && other != nullptr && may_keep_precision(there, settings(), run()))
      here.set(other->key, other->value);
    difference = first_difference(comparable(there, request_.resume),
                                  comparable(without_defaults_unknown_to(there, here), request_.resume));
  }
  if (!difference.empty())
    throw UsageError(fmt::format(
        "{} contains a run with a different configuration: {}; {}choose a different --out, or use --overwrite to "
        "replace it",
        folder_.path(), difference,
        request_.resume ? "leave out that option to continue, " : "continue it unchanged with only `--resume`, "));
  if (!request_.resume)
    throw UsageError(
        fmt::format("{} already contains a run; use --resume to continue it, --overwrite to replace it, or choose a "
                    "different --out",
                    folder_.path()));
}

nlohmann::json TrainingContext::card_configuration() {
  nlohmann::json json = to_json(kept(Keep::model));
  if (!chosen_model_.empty()) json["model"] = chosen_model_;
  if (!device_.is_cpu()) json["device"] = device_.name();
  return json;
}

TrainOptions TrainingContext::train_options() {
  TrainOptions options{.trainer = trainer_options(settings(), run()), .sampled_softmax = settings().sampled_softmax};
  TrainerOptions& t = options.trainer;
  t.offload = device_.offload();
  t.processes = request_.processes;
  if (!without_folder_) t.checkpoint = folder_.checkpoint();
  t.resume = request_.resume && folder_.has_checkpoint();
  t.data = fingerprint_of_data(settings());
  t.begins = [this, resume = t.resume] { begin_folder(resume); };
  if (writes()) t.log = folder_.log();
  if (writes()) options.model_file = model_file();
  options.sampling.seed = t.seed;
  return options;
}

/// Called when all checks have passed: removes the files of an earlier run.
void TrainingContext::begin_folder(bool resume) {
  if (!writes()) return;
  folder_.create();
  if (!resume) check_folder();  // another process may have removed it first
  if (!resume) folder_.clear();
  folder_.write_config(kept(Keep::run));
  if (!selection_.is_null()) write_file_atomically(selection_file(folder_), selection_.dump() + "\n");
}

TrainOutcome TrainingContext::outcome(Index parameters) {
  TrainOutcome outcome{
      .run = folder_.path(), .model_file = model_file(), .settings = settings(), .parameters = parameters};
  if (!chosen_model_.empty()) outcome.settings.model = chosen_model_;
  return outcome;
}

void TrainingContext::interrupted_with_checkpoint() const {
  if (without_folder_) throw InterruptedError("interrupted; nothing was saved, because there is no run folder");
  throw InterruptedError(
      fmt::format("interrupted; the checkpoint is {}: continue with `unfold train --out {} --resume`",
                  folder_.checkpoint(), folder_.path()));
}

}  // namespace unfold
