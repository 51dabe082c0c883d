#pragma once
/// What training is told: settings that decide the result and settings that do not, their names, their checks, and
/// which of them have a meaning for what is trained.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "unfold/base/config.h"
#include "unfold/data/alphabet.h"
#include "unfold/models/defaults.h"

namespace unfold {

/// What decides the result: equal settings and equal data give equal models, bit for bit (but for a budget in minutes).
struct TrainSettings {
  std::vector<std::string> data = {};  ///< files; of a task: the folder of its files, if it needs any
  std::string model = kDefaultModel, optimizer = kDefaultOptimizer;
  std::optional<std::string> valid = {}, split = {}, predict_after = {}, mask = {}, valid_mask = {}, task = {};
  std::optional<std::string> precision = {};
  std::optional<std::string> start_from = {};  ///< a run or model file whose parameters training begins with
  /// How data are read: "text", or a format with fields (readers/example_reader.h); empty: the files say.
  std::optional<std::string> format = {};
  /// Of data with fields: lists of names, as "word,pos" and "chunk", "label@end", "value=mixture:5"; the field whose
  /// equal values, one after another, make a sequence.
  std::optional<std::string> read = {}, predict = {}, sequences = {};
  std::optional<std::string> test = {};  ///< of data with fields: a file that the best model is measured on at the end
  std::optional<Index> ahead = {};       ///< positions from what is read to what is predicted
  /// Of data with fields: what is predicted is a whole sequence, whose end is predicted too: "symbol", "stop", or a
  /// model of lengths (models/length_model.h); what is read once is then given before it begins.
  std::optional<std::string> ends = {};
  /// Of data with fields: trees over them, "heads", "balanced", "left", "right", "found" (readers/tree_shapes.h).
  std::optional<std::string> trees = {};
  std::optional<std::string> log_rules = {};  ///< of a log: a file of its own rules
  std::string symbols = "chars", unknown = "error";
  Index vocabulary = 0, window = kDefaultWindow, batch = kDefaultBatch, curriculum = 0, seed = 1, sampled_softmax = 0;
  std::optional<std::string> only_label = {};
  bool label_column = false, lines = false;
  bool whole_sequences =
      false;  ///< when neither this nor `window` was given, the optimiser decides (sequence_choice.h)
  std::optional<double> epochs = {}, minutes = {}, goal_error = {};
  Index validate_on = 1000;
  double activity_penalty = 0, flow_penalty = 0, label_smoothing = 0;
  std::optional<std::string> feedback = {};                                ///< training/free_positions.h
  std::optional<std::string> teacher_forcing = {}, forcing_schedule = {};  ///< training/own_outputs.h
  std::optional<std::string> objective = {};  ///< data with fields: what is paid for labels judged together (SPEC)
  /// Data with fields and tasks: what the best network is chosen by in validation: "nats" (none), or the share of
  /// "labels" (of fields alone) or of "sequences" that are wrong.
  std::optional<std::string> best_by = {};
  double word_dropout = 0;                   ///< data with fields: share of positions that training leaves unread
  Index shift = 0;                           ///< images: positions by which training moves each at most
  std::optional<std::string> gradient = {};  ///< "rtrl", "uoro", ... (forward/gradient_method.h); none: looking back
  bool follow = false;                       ///< DATA is one stream of bytes, read as it comes
  std::optional<Index> steps = {};
  std::optional<std::string> activations = {};  ///< that are kept for the gradient: "exact" (none) or "bf16"
  Index restarts = 1, validate_every = 0, early_stop = 0;
  std::optional<Index> shards = {};               ///< that a batch is divided into (docs/processes.md); none: one
  std::optional<std::string> gradient_sums = {};  ///< of shards: "exact" (none) or "bf16"
};

/// In place of a kind of symbols: the reader decides.
inline constexpr const char* kAnyText = "auto";
/// "words": of everything; "chars,words": of sources and of their targets. Throws UsageError.
std::pair<SymbolKind, SymbolKind> parse_symbol_kinds(std::string_view text);

/// What changes no bit of the model.
struct RunSettings {
  Index threads = 0;                             ///< 0: every processor available
  std::optional<std::string> memory_limit = {};  ///< for activities, as "2G" (parse_bytes)
  /// That passes run on: "cuda", "cuda:1" (devices/device.h); none: the processor. Its bits are others than those of
  /// the processor; a run may go on on either.
  std::optional<std::string> device = {};
  Index sample_every = 0, checkpoint_every = 0, log_every = 100;
};

/// Names of the settings that the caller chose. The others may be replaced: by what a run that is resumed has stored,
/// by what fits the optimiser. Chosen settings that have no meaning for what is trained are errors.
using Given = std::set<std::string, std::less<>>;

/// Where the value of a setting is kept.
enum class Stored {
  run,    ///< in config.toml: it may differ when a run is resumed, because it does not change what is learnt
  fixed,  ///< in config.toml and the same whenever the run is resumed, but not in the card (names of files)
  model   ///< like fixed, and in the card of the model
};

using SettingTarget = std::variant<bool*, Index*, double*, std::string*, std::vector<std::string>*,
                                   std::optional<Index>*, std::optional<double>*, std::optional<std::string>*>;
struct Setting {
  std::string_view name;  ///< in kebab-case: key of config.toml and of the card, name of the command's option
  SettingTarget target;
  Stored stored;
};
/// All of them, in the order of config.toml. They point into `settings` and `run`.
std::vector<Setting> all_settings(TrainSettings& settings, RunSettings& run);

/// The settings stored there or in a later place of Stored, without those that have no value or no meaning for what is
/// trained. For config.toml also without those that are refused when all others are given, as a window of whole
/// sequences.
Config configuration(const TrainSettings& settings, const RunSettings& run, Stored least);
/// Assigns the entries of a stored configuration but those in `given`. A budget among `given` replaces all that is
/// stored of one. Throws UsageError for a key that is no setting or a value of another type.
void take_stored(const Config& stored, const Given& given, TrainSettings& settings, RunSettings& run);
/// Assigns a setting from text; a bool is "true", "false", "1" or "0". Throws UsageError.
void assign_text(std::string_view name, const std::string& value, TrainSettings& settings, RunSettings& run);

/// "cpu" becomes no device; a precision that the processor lacks, and that the run was begun with elsewhere, float:
/// then a remark says so.
std::string settle_device(TrainSettings& settings, RunSettings& run, const Given& given);

/// What of a configuration must not differ between a run and its continuation.
Config comparable(const Config& all, bool resume);

/// A configuration without settings that have their defaults and that an earlier one, of an earlier version, lacks.
Config without_defaults_unknown_to(const Config& stored, const Config& here);

/// Checks the settings before any data is read and puts SPECs into their canonical form, so that equal configurations
/// are equal texts; fills in what depends on model and optimiser. Throws UsageError, also for a setting that was given
/// and has no meaning for what is trained.
void make_canonical(TrainSettings& settings, const RunSettings& run, const Given& given);

/// Whether the data have fields. REQUIRES that the format is settled.
bool has_fields(const TrainSettings& settings);
/// Settles the format of the data, where nobody gave one: from the first file, unless other settings speak of text.
/// Returns a remark about what was found; empty: nothing is worth saying.
std::string settle_format(TrainSettings& settings, const Given& given);

inline constexpr const char* kLogFormat = "log";  ///< of `TrainSettings::format`
/// The model for logs when nobody says which (docs/logs.md).
inline constexpr const char* kDefaultLogModel = "ngram:3,smoothing=witten-bell";

/// Whether the setting has a meaning for what is trained.
bool applies(std::string_view setting, const TrainSettings& settings);

/// "500M", "2G": bytes, with the binary multiples K, M, G, T. Throws UsageError.
std::size_t parse_bytes(const std::string& text, std::string_view option = "--memory-limit");

/// Threads that 0 stands for. Throws UsageError for more than 1024.
int thread_count(Index threads);

inline constexpr const char* kDefaultSplit = "90/10";  ///< without a file to validate on

}  // namespace unfold
