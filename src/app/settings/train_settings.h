#pragma once
/// Settings of a training run: those that determine the result and those that do not, with their names, checks and
/// applicability.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/formats/config.h"
#include "data/text/alphabet.h"
#include "model/defaults.h"

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
  /// For tables: what is stated about their columns (data/schema/table_schema.h). `order` is a column.
  std::optional<std::string> order = {}, types = {}, missing = {}, decimal = {}, thousands = {}, header = {},
                             comment = {};
  std::optional<std::string> test = {};  ///< for data with fields: a file on which the best model is evaluated at the
                                         ///< end
  std::optional<Index> ahead = {};       ///< distance in positions from the input to the predicted value
  /// For data with fields: predict whole sequences including their end, with "symbol", "stop", or a length model
  /// (model/network/length_model.h). Fields with one value per example are then inputs at the beginning.
  std::optional<std::string> ends = {};
  /// For data with fields: trees over the positions, "heads", "balanced", "left", "right" or "found"
  /// (data/readers/tree_shapes.h).
  std::optional<std::string> trees = {};
  std::optional<std::string> log_rules = {};  ///< for logs: a file of custom rules
  std::string symbols = "chars", unknown = "error";
  Index vocabulary = 0, window = kDefaultWindow, batch = kDefaultBatch, curriculum = 0, seed = 1, sampled_softmax = 0;
  std::optional<std::string> only_label = {};
  bool label_column = false, lines = false;
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
  std::optional<std::string> memory_limit = {};  ///< for activations, such as "2G" (parse_bytes)
  /// Device for the passes: "cuda", "cuda:1" (graph/device/device.h); default: the CPU. Results are not bit-identical
  /// to the CPU. A run may be resumed on a different device.
  std::optional<std::string> device = {};
  Index sample_every = 0, checkpoint_every = 0, log_every = 100;
};

/// Names of the settings that the caller specified. Other settings may be replaced by the stored values of a resumed
/// run or by values that suit the optimizer. A specified setting that does not apply is an error.
using Given = std::set<std::string, std::less<>>;

/// Where the value of a setting is stored.
enum class Stored {
  run,    ///< in config.toml; may change when a run is resumed, because it does not affect the result
  fixed,  ///< in config.toml, and fixed for the run, but not in the card (file names)
  model   ///< like fixed, and in the model card
};

using SettingTarget = std::variant<bool*, Index*, double*, std::string*, std::vector<std::string>*,
                                   std::optional<Index>*, std::optional<double>*, std::optional<std::string>*>;
struct Setting {
  std::string_view name;  ///< in kebab-case: key of config.toml and of the card, name of the command-line option
  SettingTarget target;
  Stored stored;
};
/// Returns all settings in the order of config.toml. They refer to `settings` and `run`.
std::vector<Setting> all_settings(TrainSettings& settings, RunSettings& run);

/// Returns the settings whose `Stored` is at least `least`, without those that have no value or do not apply.
Config configuration(const TrainSettings& settings, const RunSettings& run, Stored least);
/// Assigns the entries of a stored configuration except those in `given`. A given budget replaces the stored one
/// completely. Throws UsageError for an unknown key or a value of the wrong type.
void apply_stored(const Config& stored, const Given& given, TrainSettings& settings, RunSettings& run);
/// Assigns a setting from text; a bool is "true", "false", "1" or "0". Throws UsageError.
void assign_text(std::string_view name, const std::string& value, TrainSettings& settings, RunSettings& run);

/// Removes the device "cpu", and replaces a precision that the CPU does not support, stored by a run on a different
/// device, by float. Returns a note in the latter case.
std::string resolve_device(TrainSettings& settings, RunSettings& run, const Given& given);

/// Returns the part of a configuration that must not differ between a run and its continuation.
Config comparable(const Config& all, bool resume);

/// Removes settings with default values that are missing in the stored configuration. This makes a configuration
/// comparable with one that was stored by an earlier version.
Config without_defaults_unknown_to(const Config& stored, const Config& here);

/// Validates the settings before data are read, converts SPECs to canonical form, so that equal configurations are
/// equal as text, and sets defaults that depend on model and optimizer. Throws UsageError, also for a given setting
/// that does not apply.
void make_canonical(TrainSettings& settings, const RunSettings& run, const Given& given);

/// Returns whether the data have fields. REQUIRES resolve_format.
bool has_fields(const TrainSettings& settings);
/// Determines the data format from the first file if none was specified, unless other settings imply text. Returns a
/// note about the result, or an empty string.
std::string resolve_format(TrainSettings& settings, const Given& given);

inline constexpr const char* kLogFormat = "log";  ///< a value of `TrainSettings::format`
/// Default model for logs (docs/logs.md).
inline constexpr const char* kDefaultLogModel = "ngram:3,smoothing=witten-bell";

/// Returns whether a setting applies to the model and data.
bool applies(std::string_view setting, const TrainSettings& settings);

/// Parses a size such as "500M" or "2G" in bytes, with the binary multiples K, M, G, T. Throws UsageError.
std::size_t parse_bytes(const std::string& text, std::string_view option = "--memory-limit");

/// Returns the number of threads; 0 stands for all available ones. Throws UsageError for more than 1024.
int thread_count(Index threads);

inline constexpr const char* kDefaultSplit = "90/10";  ///< without a validation file

}  // namespace unfold
