#pragma once
/// Settings of a training run: those that determine the result and those that do not, with their names, checks and
/// applicability.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/settings/defaults.h"
#include "base/options/option_row.h"
#include "unfold/base/formats/config.h"
#include "unfold/data/text/alphabet.h"

namespace unfold {

/// Settings that determine the result: equal settings and equal data give bit-identical models (except for a budget in
/// minutes).
struct TrainSettings {
  std::vector<std::string> data = {};  ///< files; for a task, the folder of its files, if it needs any
  std::string model = kDefaultModel, optimizer = kDefaultOptimizer;
  std::optional<std::string> valid = {}, split = {}, predict_after = {}, mask = {}, valid_mask = {}, task = {};
  std::optional<std::string> precision = {};
  std::optional<std::string> copy_matching_parameters = {};  ///< a run or model file with the initial parameters
  /// Data format: "text", or a format with fields (data/readers/example_reader.h). Default: detected from the files.
  std::optional<std::string> format = {};
  /// For data with fields: comma-separated lists such as "word,pos" and "chunk", "label@end", "value=mixture:5".
  /// `sequences` is a field; consecutive rows with equal values form a sequence.
  std::optional<std::string> read = {}, predict = {}, sequences = {};
  std::optional<std::string> rows = {};     ///< for tables: "independent" or "sequence"; default: the schema decides
  std::optional<std::string> weights = {};  ///< for data with fields: a field with the weight of each example
  /// For tables: descriptions of their columns (data/schema/table_schema.h). `order` is a column.
  std::optional<std::string> order = {}, types = {}, missing = {}, default_missing = {}, decimal = {}, thousands = {},
                             header = {}, comment = {}, bad_rows = {};
  std::optional<std::string> test = {};  ///< for data with fields: a file on which the best model is evaluated at the
                                         ///< end
  std::optional<Index> ahead = {};       ///< distance in positions from the input to the predicted value
  /// For data with fields: predict whole sequences including their end, with "symbol", "stop", or a length model
  /// (model/network/length_model.h). Fields with one value per example are then inputs at the beginning.
  std::optional<std::string> ends = {};
  /// For data with fields: trees over the positions, "heads", "balanced", "left", "right" or "found"
  /// (data/examples/tree_shapes.h).
  std::optional<std::string> trees = {};
  std::optional<std::string> log_rules = {};  ///< for logs: a file of custom rules
  /// For logs: a regular expression that the first line of a record matches (data/logs/log_records.h).
  std::optional<std::string> record_start = {};
  std::string symbols = "chars", unknown = "error";
  Index vocabulary = 0, window = kDefaultWindow, batch = kDefaultBatch, curriculum = 0, seed = 1, sampled_softmax = 0;
  std::optional<std::string> only_label = {};
  bool label_column = false, lines = false, curriculum_each_epoch = false;
  bool whole_sequences =
      false;  ///< if neither this nor `window` is given, the optimizer determines it (sequence_choice.h)
  std::optional<double> epochs = {}, minutes = {}, goal_error = {};
  Index validate_on = 1000;
  double activity_penalty = 0, flow_penalty = 0, label_smoothing = 0;
  std::optional<std::string> feedback = {};                                ///< train/objective/output_feedback.h
  std::optional<std::string> teacher_forcing = {}, forcing_schedule = {};  ///< train/objective/scheduled_sampling.h
  std::optional<std::string> objective = {};  ///< for data with fields: the objective for labels that are evaluated
                                              ///< jointly (SPEC)
  /// For data with fields and tasks: the validation metric that selects the best network: "nats" (default), or the
  /// error rate of "labels" (only for fields) or of "sequences".
  std::optional<std::string> best_by = {};
  double word_dropout = 0;                   ///< for data with fields: fraction of positions whose input is dropped in
                                             ///< training
  Index shift = 0;                           ///< for images: maximum random shift in training, in positions
  std::optional<std::string> gradient = {};  ///< "rtrl", "uoro", ... (optim/rtrl/gradient_method.h); default:
                                             ///< backpropagation through time
  bool follow = false;                       ///< DATA is one stream of bytes, read incrementally
  std::optional<Index> steps = {};
  std::optional<std::string> activations = {};  ///< precision of activations stored for the gradient: "exact" (default)
                                                ///< or "bf16"
  Index restarts = 1, validate_every = 0, early_stop = 0;
  /// For data with fields: whether the model is fitted again to the training and validation part together, "yes" or
  /// "no"; default: for small data (app/train/stages/refit.h).
  std::optional<std::string> refit = {};
  std::optional<Index> shards = {};               ///< number of shards of a batch (docs/processes.md); default: one
  std::optional<std::string> gradient_sums = {};  ///< precision of sums over shards: "exact" (default) or "bf16"
};

/// Value of `symbols` that leaves the choice to the reader.
inline constexpr const char* kAnyText = "auto";
/// Parses "words" (for all text) or "chars,words" (for sources and targets). Throws UsageError.
std::pair<SymbolKind, SymbolKind> parse_symbol_kinds(std::string_view text);

/// Settings that do not affect the model.
struct RunSettings {
  Index threads = 0;                             ///< 0: all available processors
  std::optional<std::string> memory_limit = {};  ///< memory limit for activations, such as "2G" (parse_bytes)
  /// Device for the passes: "cuda", "cuda:1" (graph/device/device.h); default: the CPU. Results are not bit-identical
  /// to the CPU. A run may be resumed on a different device.
  std::optional<std::string> device = {};
  Index sample_every = 0, checkpoint_every = 0, log_every = 100;
};

/// Returns the rows of all settings in the order of config.toml. They refer to `settings` and `run`.
OptionRows setting_rows(TrainSettings& settings, RunSettings& run);

/// Returns the row of --format, which specifies the format of DATA.
OptionRow format_row(TrainSettings& settings);
/// Returns the rows of the settings that describe a table: its sequences, their order, and the types and notation of
/// cells.
OptionRows table_rows(TrainSettings& settings);
/// Returns the rows of --read, --predict and --ahead, which state what a model reads and predicts.
OptionRows choice_rows(TrainSettings& settings);
/// Returns the row of --rows, which states whether each row of a table is an example.
OptionRow row_meaning_row(TrainSettings& settings);

/// Returns the row of --threads, which most subcommands have; 0 stands for all processors.
OptionRow threads_row(Index& threads, Keep keep = Keep::nowhere);

/// Returns the name of the setting that a member of TrainSettings or RunSettings holds.
template <class T>
std::string_view name_of(T TrainSettings::*member);
template <class T>
std::string_view name_of(T RunSettings::*member);

/// Names of the settings that the caller specified. Other settings may be replaced by the stored values of a resumed
/// run or by values that are suitable for the optimizer. A specified setting that does not apply is an error.
///
///   given.contains(&TrainSettings::window)
struct Given : std::set<std::string, std::less<>> {
  using set::contains;
  using set::set;
  template <class Settings, class T>
  bool contains(T Settings::*member) const {
    return contains(name_of(member));
  }
  /// Returns whether one of the settings was specified.
  template <class... Members>
  bool contains_any(Members... members) const {
    return (contains(members) || ...);
  }
  template <class... Members>
  void add(Members... members) {
    (emplace(name_of(members)), ...);
  }
  bool resumed = false;  ///< the other settings come from a run that is continued
};

/// Throws UsageError for a given table option if the format of `file` does not have such columns.
void refuse_table_options(const Given& given, std::string_view file, std::string_view format);

/// Returns the settings whose `Keep` is at least `least`, without those that have no value or do not apply.
Config configuration(const TrainSettings& settings, const RunSettings& run, Keep least);
/// Assigns the entries of a stored configuration except those in `given`. A given budget replaces the stored one
/// completely. Throws UsageError for an unknown key or a value of the wrong type.
void apply_stored(const Config& stored, const Given& given, TrainSettings& settings, RunSettings& run);
/// Assigns a setting from text; a bool is "true", "false", "1" or "0". Throws UsageError for a value that its row does
/// not allow.
void assign_text(std::string_view name, const std::string& value, TrainSettings& settings, RunSettings& run);

/// Removes the device "cpu", and replaces a precision that the CPU does not support (stored by a run on a different
/// device) with float. Returns a note in the latter case.
std::string resolve_device(TrainSettings& settings, RunSettings& run, const Given& given);

/// Returns the part of a configuration that must not differ between a run and its continuation.
Config comparable(const Config& all, bool resume);

/// Removes settings with default values that are missing in the stored configuration. This makes a configuration
/// comparable with one that was stored by an earlier version.
Config without_defaults_unknown_to(const Config& stored, const Config& here);

/// Validates the settings before data is read, converts SPECs to canonical form, in which equal configurations are
/// equal as text, and sets defaults that depend on model and optimizer. Throws UsageError for invalid settings and for
/// specified settings that do not apply.
void make_canonical(TrainSettings& settings, const RunSettings& run, const Given& given);

/// Returns whether the data has fields. REQUIRES resolve_format.
bool has_fields(const TrainSettings& settings);
/// Determines the data format from the first file if none was specified, unless other settings imply text. Returns a
/// note about the result, or an empty string.
std::string resolve_format(TrainSettings& settings, const Given& given);

inline constexpr const char* kLogFormat = "log";  ///< a value of `TrainSettings::format`
/// Default model for logs (docs/logs.md).
inline constexpr const char* kDefaultLogModel = "ngram:3,smoothing=witten-bell";

/// Returns whether a setting applies to the model and data.
bool applies(const OptionRow& setting, const TrainSettings& settings);

/// Returns the error for an option of gradient-based training that was given with a model that is fitted as a whole.
std::string not_by_gradients(std::string_view option, std::string_view model);

/// Returns the kind of the data. REQUIRES resolve_format.
Kind kind_of(const TrainSettings& settings);

/// Parses a size such as "500M" or "2G" in bytes, with the binary multiples K, M, G, T. Throws UsageError.
std::size_t parse_bytes(const std::string& text, std::string_view option = "--memory-limit");

/// Returns the number of threads; 0 stands for all available ones. Throws UsageError for more than 1024.
int thread_count(Index threads);

inline constexpr const char* kDefaultSplit = "90/10";  ///< the default split if there is no validation file

/// A table of all settings and the values that it refers to.
struct SettingTable {
  TrainSettings settings = {};
  RunSettings run = {};
  OptionRows rows = setting_rows(settings, run);
  SettingTable() = default;
  SettingTable(const SettingTable&) = delete;
  SettingTable& operator=(const SettingTable&) = delete;

  /// Returns the settings with their default values.
  static const SettingTable& defaults();
  template <class T>
  const OptionRow& row_of(T TrainSettings::*member) const {
    return row_at(&(settings.*member));
  }
  template <class T>
  const OptionRow& row_of(T RunSettings::*member) const {
    return row_at(&(run.*member));
  }

 private:
  /// REQUIRES the address of a member of `settings` or `run`.
  const OptionRow& row_at(const void* address) const;
};

template <class T>
std::string_view name_of(T TrainSettings::*member) {
  return SettingTable::defaults().row_of(member).name;
}
template <class T>
std::string_view name_of(T RunSettings::*member) {
  return SettingTable::defaults().row_of(member).name;
}

}  // namespace unfold
