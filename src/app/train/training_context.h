#pragma once
/// The context shared by all kinds of training: the request, its settings in their final form, the run folder, the
/// device and the processes.
///
///   TrainingContext context(request, false, reporter);
///   context.prepare();                            // settings that do not depend on the data
///   const auto job = make_training_job(context);
///   job->settle();                                // settings that do
///   context.finish_settings(job->open_settings());
///   TrainOutcome outcome = job->run();

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "app/common/reporter.h"
#include "app/settings/train_settings.h"
#include "app/train/setup/train_processes.h"
#include "app/train/setup/training_device.h"
#include "app/train/train.h"
#include "model/registry/run_folder.h"
#include "unfold/distributed/processes.h"
#include "unfold/model/network/train.h"

namespace unfold {

class TrainingContext {
 public:
  /// Keeps a reference to `reporter`.
  TrainingContext(const TrainRequest& request, bool without_folder, Reporter& reporter)
      : request_(request), without_folder_(without_folder), folder_(request_.out), reporter_(reporter) {}
  TrainingContext(const TrainingContext&) = delete;
  TrainingContext& operator=(const TrainingContext&) = delete;

  /// Checks the request, takes the settings of a resumed run, and finds the format of the data and the device. Throws
  /// UsageError.
  void prepare();
  /// Converts the settings to canonical form and checks them against a run in the folder. `open`: names of
  /// settings that the job still derives from the data. Throws UsageError.
  void finish_settings(const std::set<std::string_view>& open);
  /// Opens the device. Called before anything is written, because the device may not exist. Throws UsageError.
  void open_device();

  TrainSettings& settings() { return request_.settings; }
  const TrainSettings& settings() const { return request_.settings; }
  RunSettings& run() { return request_.run; }
  const Given& given() const { return request_.given; }
  /// Names of the settings that a resumed run had stored; empty if the run is new.
  const Given& stored() const { return stored_; }
  /// Returns whether the run continues with the settings of an earlier one.
  bool continues() const { return continues_; }
  /// Returns whether the run does not start from a checkpoint.
  bool begins() const { return begins_; }
  /// Returns whether a setting is still to be derived from the data.
  bool is_open(std::string_view name) const { return open_.contains(name); }

  Reporter& reporter() const { return reporter_; }
  const RunFolder& folder() const { return folder_; }
  bool without_folder() const { return without_folder_; }
  /// Returns the file of the model; empty without a run folder.
  std::string model_file() const { return without_folder_ ? std::string() : folder_.model(); }
  const TrainingDevice& device() const { return device_; }
  int threads() const { return threads_of_process(request_.run.threads, processes()); }
  Processes& processes() const { return request_.processes != nullptr ? *request_.processes : single_process(); }
  /// Returns the processes of the request; nullptr: only this one.
  Processes* given_processes() const { return request_.processes; }
  /// Returns whether this process writes the run folder.
  bool writes() const { return !without_folder_ && processes().first(); }
  bool resume() const { return request_.resume; }
  /// Returns the seconds since the call began.
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  /// Returns the trainer options that follow from the settings and the folder.
  TrainOptions train_options();
  /// Returns the configuration that is stored with the model.
  nlohmann::json card_configuration();
  /// Sets the SPEC that is stored with the model if it differs from the settings: the one with the graph of the
  /// selected restart.
  void set_chosen_model(std::string spec) { chosen_model_ = std::move(spec); }
  /// Sets how the model of the run was selected; it is kept in the run folder. REQUIRES: begin_folder was not called.
  void set_selection(nlohmann::json selection) { selection_ = std::move(selection); }
  /// Returns how the model of this run, or of the run that it continues, was selected; null if it was not.
  const nlohmann::json& selection() const { return selection_; }
  /// Called when all checks have passed: removes the files of an earlier run and writes the configuration.
  void begin_folder(bool resume);
  /// Returns an outcome with the folder, the model file and the settings.
  TrainOutcome outcome(Index parameters);
  /// Writes the model file if this process writes the run folder.
  void save(const Model& model) const {
    if (writes()) model.save(model_file());
  }
  /// Without a run folder: stores the model for take_model.
  void keep(const Model& model) {
    if (without_folder_) model_bytes_ = model.bytes();
  }
  /// Without a run folder: the contents of the model file.
  std::string take_model() { return std::move(model_bytes_); }
  [[noreturn]] void interrupted_with_checkpoint() const;

 private:
  void check_out() const;
  bool settle_memory();
  void check_folder();
  Config kept(Keep least) { return configuration(settings(), run(), least); }

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  TrainRequest request_;
  bool without_folder_;
  RunFolder folder_;
  Reporter& reporter_;
  std::string model_bytes_ = {};
  std::string chosen_model_ = {};  // empty: as in the settings
  nlohmann::json selection_;
  TrainingDevice device_;
  bool continues_ = false;
  bool begins_ = true;
  Given stored_ = {};
  std::set<std::string_view> open_;
};

}  // namespace unfold
