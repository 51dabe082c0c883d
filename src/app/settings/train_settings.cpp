#include "app/settings/train_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <limits>

#include "app/settings/evaluation_split.h"
#include "app/settings/line_lists.h"
#include "app/settings/step_settings.h"
#include "base/formats/text_encoding.h"
#include "base/options/integer_range.h"
#include "base/options/suggestions.h"
#include "base/printable.h"
#include "base/threads/team.h"
#include "base/utf8.h"
#include "data/readers/example_reader.h"
#include "data/readers/fasta.h"
#include "data/readers/file_formats.h"
#include "data/tasks/task_spec.h"
#include "data/text/alphabet.h"
#include "data/text/split.h"
#include "model/decoding/objective.h"
#include "model/density/mixture_fit.h"
#include "model/registry/registry.h"
#include "optim/optimizer.h"

namespace unfold {
namespace {

constexpr auto kBudget = std::to_array<std::string_view>({"epochs", "steps", "minutes"});
constexpr std::string_view kMemoryLimit = "memory-limit";
/// Options of gradient-based training, not applicable to models that are fitted directly.
constexpr auto kGradientOnly = std::to_array<std::string_view>(
    {"restarts",         "optimizer",       "window",       "batch",           "whole-sequences",
     "curriculum",       "epochs",          "steps",        "minutes",         "validate-every",
     "early-stop",       "resume",          "sample-every", "log-every",       "memory-limit",
     "checkpoint-every", "sampled-softmax", "precision",    "teacher-forcing", "forcing-schedule",
     "gradient",         "follow",          "objective",    "shards",          "gradient-sums",
     "label-smoothing",  "feedback",        "start-from",   "best-by",         "device",
     "activations"});

/// Options for input files, not applicable to tasks.
constexpr auto kFilesOnly =
    std::to_array<std::string_view>({"mask",         "lines",           "trees",           "follow",
                                     "feedback",     "vocabulary",      "word-dropout",    "teacher-forcing",
                                     "read",         "split",           "shift",           "symbols",
                                     "sequences",    "valid-mask",      "predict-after",   "forcing-schedule",
                                     "test",         "valid",           "window",          "unknown",
                                     "log-rules",    "start-from",      "sampled-softmax", "ends",
                                     "ahead",        "format",          "predict",         "objective",
                                     "sample-every", "whole-sequences", "order",           "types",
                                     "missing",      "decimal",         "thousands",       "header",
                                     "comment"});
/// Options for text, not applicable to data with fields.
constexpr auto kTextOnly = std::to_array<std::string_view>(
    {"vocabulary", "lines", "predict-after", "mask", "valid-mask", "label-column", "only-label", "sample-every",
     "sampled-softmax", "activity-penalty", "flow-penalty", "restarts", "curriculum", "log-rules", "follow"});
/// Those of kTextOnly that do not determine how a file is read.
constexpr auto kTextTraining = std::to_array<std::string_view>(
    {"sample-every", "sampled-softmax", "activity-penalty", "flow-penalty", "restarts", "curriculum"});
constexpr auto kFieldsOnly = std::to_array<std::string_view>(
    {"read", "predict", "ahead", "sequences", "test", "word-dropout", "ends", "trees", "shift", "objective", "feedback",
     "best-by", "order", "types", "missing", "decimal", "thousands", "header", "comment"});
/// Options for tables.
constexpr auto kTablesOnly = std::to_array<std::string_view>(
    {"sequences", "order", "types", "missing", "decimal", "thousands", "header", "comment"});
/// Options that require finite data, not applicable to streams.
constexpr auto kEndsOnly =
    std::to_array<std::string_view>({"format", "vocabulary", "label-column", "only-label", "lines", "split", "valid",
                                     "unknown", "predict-after", "mask", "valid-mask", "whole-sequences", "curriculum",
                                     "epochs", "sampled-softmax", "restarts", "validate-every", "start-from"});
constexpr auto kTaskOnly = std::to_array<std::string_view>({"validate-on", "goal-error"});
constexpr std::string_view kTf32 = "tf32", kProcessor = "cpu";
constexpr std::string_view kTextFormat = "text", kFastqFormat = "fastq";

bool is_in(const auto& list, std::string_view option) { return std::ranges::find(list, option) != list.end(); }

std::string_view wanted(const SettingTarget& target) {
  constexpr std::string_view kWanted[] = {"true or false",     "a whole number", "a number", "a string",
                                          "a list of strings", "a whole number", "a number", "a string"};
  return kWanted[target.index()];
}

template <class T>
struct Unwrapped {
  using type = T;
};
template <class T>
struct Unwrapped<std::optional<T>> {
  using type = T;
};
template <class Pointer>
using ValueAt = typename Unwrapped<std::remove_pointer_t<Pointer>>::type;

void assign_value(const Setting& setting, const ConfigValue& value) {
  const bool fits = std::visit(
      [&](auto* target) {
        using T = ValueAt<decltype(target)>;
        const T* found = std::get_if<T>(&value);
        if (found != nullptr) *target = *found;
        if constexpr (std::is_same_v<T, double>)
          if (const Index* whole = std::get_if<Index>(&value)) return *target = static_cast<double>(*whole), true;
        return found != nullptr;
      },
      setting.target);
  if (!fits)
    throw UsageError(fmt::format("the stored configuration: {} must be {}, not {}", setting.name,
                                 wanted(setting.target), in_quotes(to_string(value))));
}

std::optional<ConfigValue> value_of(const Setting& setting) {
  return std::visit(
      [](auto* target) -> std::optional<ConfigValue> {
        if constexpr (requires { target->has_value(); }) {
          if (!target->has_value()) return std::nullopt;
          return ConfigValue(**target);
        } else {
          return ConfigValue(*target);
        }
      },
      setting.target);
}

/// File names need not be valid UTF-8, but the records of a run must be.
ConfigValue in_valid_utf8(ConfigValue value) {
  if (auto* text = std::get_if<std::string>(&value)) *text = replace_invalid_utf8(*text);
  if (auto* texts = std::get_if<std::vector<std::string>>(&value))
    for (std::string& text : *texts) text = replace_invalid_utf8(text);
  return value;
}

const Setting& find_setting(const std::vector<Setting>& all, std::string_view name, const std::string& where) {
  std::vector<std::string> names;
  for (const Setting& setting : all) {
    if (setting.name == name) return setting;
    names.emplace_back(setting.name);
  }
  throw UsageError(
      fmt::format("{}: train has no key {}{}", where, in_quotes(name), did_you_mean(std::string(name), names)));
}

/// A new budget replaces an earlier one completely.
void forget_budget(const Given& given, TrainSettings& s) {
  if (std::ranges::none_of(kBudget, [&](std::string_view name) { return given.contains(name); })) return;
  if (!given.contains("epochs")) s.epochs.reset();
  if (!given.contains("steps")) s.steps.reset();
  if (!given.contains("minutes")) s.minutes.reset();
}

void check_task_options(const TrainSettings& s, const Given& given) {
  for (const std::string_view name : kFilesOnly)
    if (s.task && given.contains(name)) throw UsageError(fmt::format("--{} is for data files, not for a --task", name));
  for (const std::string_view name : kTaskOnly)
    if (!s.task && given.contains(name)) throw UsageError(fmt::format("--{} requires --task", name));
  if (!s.task) return;
  if (is_fitted_model(s.model))
    throw UsageError(fmt::format("--task requires a model trained by gradients, not {}", s.model));
  const bool files = task_needs_files(*s.task);
  if (s.data.size() != (files ? 1 : 0))
    throw UsageError(files ? fmt::format("--task {0} needs one folder: unfold train FOLDER --task {0}", *s.task)
                           : fmt::format("--task {} generates its examples and does not take DATA", *s.task));
  if (!files && !s.steps && !s.minutes)
    throw UsageError(fmt::format("--task {} has no epochs: add --steps or --minutes", *s.task));
  const auto unused = [&](std::string_view name, std::string_view why) {
    throw UsageError(fmt::format("--{} has no effect with --task {}: {}; leave it out", name, *s.task, why));
  };
  if (!files && given.contains("epochs")) unused("epochs", "its examples are generated without limit");
  if (s.restarts > 1) unused("restarts", "only one network is trained");
  if (s.best_by == "labels") unused("best-by labels", "errors are counted by whole sequences");
  if (s.label_column) unused("label-column", "it reads no lines");
}

void check_field_options(const TrainSettings& s, const Given& given) {
  if (s.task) return;
  for (const std::string_view name : kTextOnly)
    if (has_fields(s) && given.contains(name))
      throw UsageError(fmt::format(
          "--{} is for text, not for data with fields ({}); --format text reads the file as text", name, *s.format));
  for (const std::string_view name : kFieldsOnly)
    if (!has_fields(s) && given.contains(name))
      throw UsageError(fmt::format("--{} requires data with fields; specify their format with --format", name));
  if (has_fields(s) && is_fitted_model(s.model))
    throw UsageError(
        fmt::format("data with fields ({}) require a model trained by gradients, not {}; --format text reads "
                    "the file as text",
                    *s.format, s.model));
  if (!has_fields(s)) return;
  const ReaderEntry& reader = readers().get(*s.format);
  if (given.contains("symbols") && !reader.has_texts)
    throw UsageError(fmt::format("--symbols applies only to text, and {} has none: leave it out", *s.format));
  if (given.contains("sequences") && !reader.has_sequence_column)
    throw UsageError(fmt::format(
        "--sequences names a column of a table; the format {} defines its sequences: leave it out", *s.format));
  for (const std::string_view name : kTablesOnly)
    if (given.contains(name) && !reader.has_sequence_column)
      throw UsageError(
          fmt::format("--{} applies to tables, and DATA has the format {}: leave it out", name, *s.format));
}

/// Throws UsageError for explicitly given options without effect. Stored values are not rejected.
void refuse_unused(const TrainSettings& s, const Given& given) {
  const bool fitted = is_fitted_model(s.model);
  if (fitted && (s.activity_penalty > 0 || s.flow_penalty > 0))
    throw UsageError(fmt::format("penalties apply only to gradient-based training; {} is fitted directly", s.model));
  for (const auto& [name, asked] : {std::pair{"early-stop", s.early_stop > 0},
                                    {"best-by", given.contains("best-by") && s.best_by.has_value()},
                                    {"validate-every", given.contains("validate-every") && s.validate_every > 0}})
    if (!fitted && !validates(s) && asked)
      throw UsageError(fmt::format("--{} needs validation, but --split {} leaves no validation data", name, *s.split));
  if (s.follow && s.early_stop > 0)
    throw UsageError("--early-stop needs validation, which --follow does not do: leave it out");
}

/// Sets the defaults for a stream, which is one sequence of bytes, read once.
void settle_follow(TrainSettings& s, const Given& given) {
  if (!s.follow) return;
  for (const std::string_view name : kEndsOnly)
    if (given.contains(name)) throw UsageError(fmt::format("--follow reads an endless stream: leave --{} out", name));
  if (s.data.size() != 1) throw UsageError("--follow reads one stream; specify one file, or - for standard input");
  if (given.contains("symbols") && s.symbols != "bytes")
    throw UsageError(
        "--follow reads bytes, because the characters or words of a stream are not known in advance; leave --symbols "
        "out");
  if (given.contains("batch") && s.batch != 1) throw UsageError("--follow reads one stream, so --batch must be 1");
  s.symbols = "bytes";
  s.batch = 1;
  s.epochs = 1;
}

/// Whether the setting, with the value that it has, is accepted when all settings are given.
bool may_be_given(std::string_view setting, const TrainSettings& s) {
  if (s.follow && is_in(kEndsOnly, setting)) return false;
  if (s.whole_sequences && setting == "window") return false;
  return setting != "symbols" || !has_fields(s) || readers().get(*s.format).has_texts;
}

/// Whether a file can be looked at before it is read.
bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

/// Returns whether a format is a form of running text, as opposed to data with fields.
bool is_text_format(std::string_view format) {
  return format == kTextFormat || format == kLogFormat || format == kFastaFormat;
}

void check_fasta_options(const TrainSettings& s) {
  if (s.format != kFastaFormat) return;
  if (s.symbols == "words")
    throw UsageError("--format fasta reads letters; leave --symbols out, or use --symbols bytes");
  if (s.label_column || s.only_label)
    throw UsageError("--label-column and --only-label apply to lines; headers of FASTA records are skipped");
}

/// The option that states that DATA is running text; empty: there is none. Options of training are not among them: an
/// option never changes the kind of data.
std::string_view option_of_text(const TrainSettings& s, const Given& given) {
  for (const std::string_view name : kTextOnly)
    if (given.contains(name) && !is_in(kTextTraining, name)) return name;
  if (given.contains("symbols")) return "symbols";
  return is_fitted_model(s.model) ? "model" : std::string_view();
}

/// A note for the case that only an option causes a file to be read as running text, although it looks like a different
/// format.
std::string remark_on_text(const TrainSettings& s, std::string_view option) {
  const Input input = Input::open(s.data.front());
  if (input.bytes().empty()) return {};
  const FormatGuess guess = guess_format(input);
  if (guess.format == kTextFormat) return {};
  return fmt::format("{} is read as running text, which --{} is for; --format {} would read it as {} ({})",
                     s.data.front(), option, guess.format, guess.format, guess.why);
}

/// Whether the name of a file leaves open that it is running text: logs are text of a special form.
bool may_be_text(const std::string& file) {
  const std::span<const std::string_view> named = formats_of_name(file);
  return named.empty() || named.front() == kLogFormat;
}

/// The format that the name of the first file decides, or that its first lines show for a text of letters or records.
/// `text`: an option that states running text, which for a log is one that says how to read it.
FormatGuess decided_format(const std::string& file, bool fields, std::string_view text) {
  const std::span<const std::string_view> named = formats_of_name(file);
  const std::string_view format = named.empty() ? std::string_view() : named.front();
  if (format == "arpa")
    throw UsageError(
        fmt::format("{} is an n-gram model, not data; convert it with `unfold import {} --from arpa`", file, file));
  if (format == kLogFormat && (text.empty() || text == "model")) return {kLogFormat, "its name"};
  if (format == kFastaFormat) return {std::string(kFastaFormat), "its name"};
  if (fields || !named.empty()) return {};
  if (std::string why = guess_fasta(file); !why.empty()) return {std::string(kFastaFormat), std::move(why)};
  return {};
}

/// Reads the lines of a list of items as sequences. Returns a note, or an empty string if the file is not a list.
std::string recognize_lines(TrainSettings& s, const Given& given) {
  constexpr const char* kOthers[] = {"lines", "label-column", "only-label", "predict-after", "mask", "curriculum"};
  if (s.lines || s.symbols == "words" || !is_file(s.data.front()) ||
      std::ranges::any_of(kOthers, [&](const char* name) { return given.contains(name); }))
    return {};
  const std::string why = guess_item_lines(Input::open(s.data.front()).bytes());
  if (why.empty()) return {};
  s.lines = true;
  return fmt::format("{} is read as lines ({}), each a separate sequence; --format text would read it as running text",
                     s.data.front(), why);
}

/// Sets the defaults for logs: each line is a sequence of words, and the default model.
void set_log_defaults(TrainSettings& s, const Given& given) {
  if (s.log_rules && s.format != kLogFormat) throw UsageError("--log-rules requires --format log");
  if (s.format != kLogFormat) return;
  if (given.contains("symbols") && s.symbols != "words")
    throw UsageError("--format log reads words; leave out --symbols, or add --format text");
  s.symbols = "words";
  s.lines = true;
  s.label_column = s.label_column || s.only_label.has_value();
  if (given.contains("resume")) return;  // everything else has been stored
  if (!given.contains("model")) s.model = kDefaultLogModel;
  // Models that are fitted directly need no validation data.
  if (!s.valid && !s.split && is_fitted_model(s.model)) s.split = "100/0/0";
}

}  // namespace

bool has_fields(const TrainSettings& s) { return s.format && !is_text_format(*s.format); }

std::string resolve_format(TrainSettings& s, const Given& given) {
  if (s.task || s.data.empty() || s.follow) return {};
  if (s.format) {
    if (s.format == kFastqFormat) s.format = kFastaFormat;
    if (!is_text_format(*s.format)) s.format = readers().get(*s.format).name;
    return {};
  }
  if (std::error_code ignored; std::filesystem::is_directory(s.data.front(), ignored)) {
    s.format = "images";
    return fmt::format("{} is read as images (a folder)", s.data.front());
  }
  const std::string_view text = option_of_text(s, given);
  const bool fields = std::ranges::any_of(kFieldsOnly, [&](std::string_view name) { return given.contains(name); });
  if (!is_file(s.data.front())) {  // a pipe can be read only once
    if (!fields) return {};
    if (std::error_code none; s.data.front() == "-" || std::filesystem::exists(s.data.front(), none))
      throw UsageError(fmt::format(
          "{} can be read only once, so its format cannot be detected; specify it with --format", s.data.front()));
  }
  if (const FormatGuess found = decided_format(s.data.front(), fields, text); !found.format.empty()) {
    s.format = found.format;
    return fmt::format("{} is read as {} ({}); --format text would read it as running text", s.data.front(),
                       found.format, found.why);
  }
  if (!text.empty() && !fields && may_be_text(s.data.front())) {
    const std::string remark = remark_on_text(s, text);
    return remark.empty() ? recognize_lines(s, given) : remark;
  }
  const Input input = Input::open(s.data.front());
  const FormatGuess guess = guess_format(input);
  if (guess.format == kTextFormat) {
    if (fields) {
      reject_utf16(input.name(), input.bytes());
      throw UsageError(
          fmt::format("{} looks like running text, which has no fields; specify the format with --format, which also "
                      "reports the line that does not match",
                      s.data.front()));
    }
    if (std::string note = resembles(input); !note.empty()) return note;
    return recognize_lines(s, given);
  }
  s.format = guess.format;
  return fmt::format("{} is read as {} ({}); --format text would read it as running text", s.data.front(), guess.format,
                     guess.why);
}

std::vector<Setting> all_settings(TrainSettings& s, RunSettings& r) {
  using enum Stored;
  return {
      {"data", &s.data, fixed},
      {"format", &s.format, model},
      {"read", &s.read, model},
      {"predict", &s.predict, model},
      {"ahead", &s.ahead, model},
      {"sequences", &s.sequences, model},
      {"order", &s.order, model},
      {"types", &s.types, model},
      {"missing", &s.missing, model},
      {"decimal", &s.decimal, model},
      {"thousands", &s.thousands, model},
      {"header", &s.header, model},
      {"comment", &s.comment, model},
      {"ends", &s.ends, model},
      {"trees", &s.trees, model},
      {"test", &s.test, fixed},
      {"word-dropout", &s.word_dropout, model},
      {"shift", &s.shift, model},
      {"log-rules", &s.log_rules, fixed},
      {"symbols", &s.symbols, model},
      {"vocabulary", &s.vocabulary, model},
      {"label-column", &s.label_column, model},
      {"only-label", &s.only_label, model},
      {"lines", &s.lines, model},
      {"split", &s.split, model},
      {"valid", &s.valid, fixed},
      {"unknown", &s.unknown, model},
      {"task", &s.task, model},
      {"validate-on", &s.validate_on, model},
      {"goal-error", &s.goal_error, model},
      {"predict-after", &s.predict_after, model},
      {"mask", &s.mask, fixed},
      {"valid-mask", &s.valid_mask, fixed},
      {"model", &s.model, model},
      {"start-from", &s.copy_matching_parameters, fixed},
      {"optimizer", &s.optimizer, model},
      {"window", &s.window, model},
      {"batch", &s.batch, model},
      {"whole-sequences", &s.whole_sequences, model},
      {"curriculum", &s.curriculum, model},
      {"epochs", &s.epochs, model},
      {"steps", &s.steps, model},
      {"minutes", &s.minutes, model},
      {"activity-penalty", &s.activity_penalty, model},
      {"flow-penalty", &s.flow_penalty, model},
      {"label-smoothing", &s.label_smoothing, model},
      {"sampled-softmax", &s.sampled_softmax, model},
      {"gradient", &s.gradient, model},
      {"follow", &s.follow, model},
      {"teacher-forcing", &s.teacher_forcing, model},
      {"feedback", &s.feedback, model},
      {"forcing-schedule", &s.forcing_schedule, model},
      {"objective", &s.objective, model},
      {"precision", &s.precision, model},
      {"activations", &s.activations, model},
      {"seed", &s.seed, model},
      {"restarts", &s.restarts, model},
      {"shards", &s.shards, model},
      {"gradient-sums", &s.gradient_sums, model},
      {"validate-every", &s.validate_every, model},
      {"best-by", &s.best_by, model},
      {"early-stop", &s.early_stop, model},
      {"sample-every", &r.sample_every, run},
      {"checkpoint-every", &r.checkpoint_every, run},
      {"log-every", &r.log_every, fixed},
      {"memory-limit", &r.memory_limit, run},
      {"threads", &r.threads, run},
      {"device", &r.device, run},
  };
}

Config configuration(const TrainSettings& settings, const RunSettings& run, Stored least) {
  TrainSettings s = settings;
  RunSettings r = run;
  Config result;
  for (const Setting& setting : all_settings(s, r)) {
    if (setting.stored < least || !applies(setting.name, settings)) continue;
    if (least != Stored::model && !may_be_given(setting.name, settings)) continue;
    if (auto value = value_of(setting)) result.set(std::string(setting.name), in_valid_utf8(std::move(*value)));
  }
  return result;
}

void apply_stored(const Config& stored, const Given& given, TrainSettings& settings, RunSettings& run) {
  const std::vector<Setting> all = all_settings(settings, run);
  for (const ConfigEntry& entry : stored.entries()) {
    const Setting& setting = find_setting(all, entry.key, "the stored configuration");
    if (!given.contains(entry.key)) assign_value(setting, entry.value);
  }
  forget_budget(given, settings);
}

void assign_text(std::string_view name, const std::string& value, TrainSettings& settings, RunSettings& run) {
  const std::vector<Setting> all = all_settings(settings, run);
  const Setting& setting = find_setting(all, name, "settings");
  const bool fits = std::visit(
      [&](auto* target) {
        using T = ValueAt<decltype(target)>;
        if constexpr (std::is_same_v<T, bool>) {
          const bool on = value == "true" || value == "1";
          if (!on && value != "false" && value != "0") return false;
          *target = on;
        } else if constexpr (std::is_arithmetic_v<T>) {
          T number{};
          const char* end = value.data() + value.size();
          const auto [stop, error] = std::from_chars(value.data(), end, number);
          if (error != std::errc() || stop != end) return false;
          *target = number;
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          target->push_back(value);
        } else {
          *target = value;
        }
        return true;
      },
      setting.target);
  if (!fits) throw UsageError(fmt::format("{} must be {}, not {}", name, wanted(setting.target), in_quotes(value)));
}

std::string resolve_device(TrainSettings& s, RunSettings& run, const Given& given) {
  if (run.device == kProcessor) run.device.reset();
  if (run.device || s.precision != kTf32 || given.contains("precision")) return {};
  s.precision = "float";
  return "tf32 is supported only on GPUs; training continues in float";
}

Config comparable(const Config& all, bool resume) {
  TrainSettings s;
  RunSettings r;
  const std::vector<Setting> settings = all_settings(s, r);
  Config result;
  for (const ConfigEntry& entry : all.entries()) {
    const auto setting = std::ranges::find(settings, entry.key, &Setting::name);
    const bool may_differ = resume && is_in(kBudget, entry.key);
    if (setting == settings.end() || setting->stored < Stored::fixed || may_differ) continue;
    const auto* text = std::get_if<std::string>(&entry.value);
    result.set(entry.key, entry.key == "optimizer" && text ? canonical_stored_optimizer(*text) : entry.value);
  }
  return result;
}

Config without_defaults_unknown_to(const Config& stored, const Config& here) {
  TrainSettings defaults;
  RunSettings run;
  Config result;
  for (const ConfigEntry& entry : here.entries()) {
    bool is_default = false;
    for (const Setting& setting : all_settings(defaults, run))
      if (setting.name == entry.key) is_default = value_of(setting) == entry.value;
    if (!is_default || stored.find(entry.key) != nullptr) result.set(entry.key, entry.value);
  }
  return result;
}

void make_canonical(TrainSettings& s, const RunSettings& run, const Given& given) {
  set_log_defaults(s, given);
  s.model = canonical_model(s.model);
  if (!is_fitted_model(s.model)) {
    ModelSpec spec = parse_model_spec(s.model);
    if (has_random_graph(spec) && graph_seed(spec) == 0) graph_seed(spec) = s.seed;
    s.model = to_string(spec);
  }
  if (is_fitted_model(s.model))
    for (const std::string_view name : kGradientOnly)
      if (given.contains(name) && !(name == kMemoryLimit && is_counted_model(s.model)))
        throw UsageError(
            fmt::format("--{} is for models trained by gradients, but {} is fitted in one pass", name, s.model));
  s.optimizer = canonical_optimizer(s.optimizer);
  if (s.objective) s.objective = canonical_objective(*s.objective);
  if (s.best_by && !is_in(std::array<std::string_view, 3>{"nats", "labels", "sequences"}, *s.best_by))
    throw UsageError(fmt::format("--best-by must be nats, labels or sequences, not {}", in_quotes(*s.best_by)));
  if (!s.precision) s.precision = compares_losses(s.optimizer) && !s.task ? "double" : "float";
  if (!is_in(std::array<std::string_view, 4>{"float", "double", "bf16", kTf32}, *s.precision))
    throw UsageError(
        fmt::format("--precision must be float, double or bf16, or tf32 on a device, not {}", in_quotes(*s.precision)));
  check_task_options(s, given);
  check_field_options(s, given);
  check_fasta_options(s);
  settle_follow(s, given);
  resolve_gradient(s);
  if (s.task) s.task = canonical_task(*s.task);
  check_shards(s);
  check_activations(s, run);
  check_device(s, run);
  if (s.copy_matching_parameters && s.restarts > 1)
    throw UsageError(
        "--start-from cannot be combined with --restarts: all restarts would have the same initial parameters");
  if (s.sampled_softmax > 0 && s.restarts > 1)
    throw UsageError("--sampled-softmax cannot be combined with --restarts, which compares full losses");
  if (s.symbols != kAnyText && s.format == "pairs")
    parse_symbol_kinds(s.symbols);
  else if (s.symbols != kAnyText || !has_fields(s))
    s.symbols = to_string(parse_symbol_kind(s.symbols));
  parse_unknown_policy(s.unknown);
  if (run.memory_limit) parse_bytes(*run.memory_limit);
  if (s.only_label && !s.label_column) throw UsageError("--only-label needs --label-column");
  if (s.whole_sequences && given.contains("window"))
    throw UsageError(given.contains("resume") && !given.contains("whole-sequences")
                         ? "the run reads whole sequences, but --window divides them: leave out --window to continue"
                         : "--window cannot be combined with --whole-sequences");
  if (s.valid && s.split)
    throw UsageError("--valid cannot be combined with --split: validation data are either a file or a part of DATA");
  if (s.valid_mask && !s.valid) throw UsageError("--valid-mask requires --valid; --mask covers all of DATA");
  if (s.valid && s.mask.has_value() != s.valid_mask.has_value())
    throw UsageError(
        "with --valid, --mask requires --valid-mask and vice versa: otherwise training and validation losses are not "
        "comparable");
  if (!s.valid && !s.split && !s.follow) s.split = kDefaultSplit;
  refuse_unused(s, given);
  if (!s.epochs && !s.steps && !s.minutes && !is_fitted_model(s.model)) s.epochs = kDefaultEpochs;
}

bool applies(std::string_view setting, const TrainSettings& s) {
  if (setting == "follow" && !s.follow) return false;
  if (setting == kMemoryLimit && is_counted_model(s.model)) return true;
  if (is_fitted_model(s.model) && is_in(kGradientOnly, setting)) return false;
  if (setting != "precision" && is_in(kGradientOnly, setting) && is_fitted_mixture(s.model)) return false;
  // Earlier versions trained tasks only in float and did not store the precision.
  if (s.task && setting == "precision") return s.precision != "float";
  if (s.task) return !is_in(kFilesOnly, setting);
  return !is_in(kTaskOnly, setting) && !(has_fields(s) ? is_in(kTextOnly, setting) : is_in(kFieldsOnly, setting));
}

std::size_t parse_bytes(const std::string& text, std::string_view option) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  const std::string unit = digits == std::string::npos ? "" : text.substr(digits);
  const std::size_t power = std::string("KMGT").find(unit.empty() ? ' ' : unit[0]);
  if (digits == 0 || text.empty() || text.size() > 15 || unit.size() > 1 ||
      (!unit.empty() && power == std::string::npos))
    throw UsageError(fmt::format("{} must be a number of bytes such as 500M or 2G, not {}", option, in_quotes(text)));
  const std::size_t number = std::stoull(text);
  const std::size_t shift = unit.empty() ? 0 : 10 * (power + 1);
  if (number > (std::numeric_limits<std::size_t>::max() >> shift))
    throw UsageError(fmt::format("{}: {} bytes are too many", option, text));
  return number << shift;
}

int thread_count(Index threads) {
  constexpr Index kMost = 1024;
  require_in_range("threads", threads, 0, kMost);
  return threads > 0 ? static_cast<int>(threads) : available_threads();
}

std::pair<SymbolKind, SymbolKind> parse_symbol_kinds(std::string_view text) {
  const std::size_t comma = text.find(',');
  const SymbolKind first = parse_symbol_kind(text.substr(0, comma));
  return {first, comma == std::string_view::npos ? first : parse_symbol_kind(text.substr(comma + 1))};
}

}  // namespace unfold
