#include "app/settings/train_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include "app/settings/evaluation_split.h"
#include "app/settings/line_lists.h"
#include "app/settings/setting_options.h"
#include "app/settings/step_checks.h"
#include "base/formats/decompress.h"
#include "base/formats/text_encoding.h"
#include "base/options/integer_range.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "data/files/foreign_formats.h"
#include "data/logs/session_lines.h"
#include "data/readers/example_reader.h"
#include "data/readers/fasta.h"
#include "data/readers/file_formats.h"
#include "model/decoding/objective.h"
#include "model/density/mixture_fit.h"
#include "unfold/base/threads/team.h"
#include "unfold/data/tasks/task_spec.h"
#include "unfold/data/text/alphabet.h"
#include "unfold/data/text/split.h"
#include "unfold/model/registry/registry.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

constexpr Index kMostThreads = 1024;
constexpr std::string_view kTf32 = "tf32", kProcessor = "cpu";
constexpr std::string_view kTextFormat = "text", kFastqFormat = "fastq";

bool is_in(const auto& list, std::string_view option) { return std::ranges::find(list, option) != list.end(); }

/// File names need not be valid UTF-8, but the records of a run must be.
ConfigValue in_valid_utf8(ConfigValue value) {
  if (auto* text = std::get_if<std::string>(&value)) *text = replace_invalid_utf8(*text);
  if (auto* texts = std::get_if<std::vector<std::string>>(&value))
    for (std::string& text : *texts) text = replace_invalid_utf8(text);
  return value;
}

/// A new budget replaces an earlier one completely.
void forget_budget(const Given& given, TrainSettings& s) {
  const bool epochs = given.contains(&TrainSettings::epochs), steps = given.contains(&TrainSettings::steps);
  const bool minutes = given.contains(&TrainSettings::minutes);
  if (!epochs && !steps && !minutes) return;
  if (!epochs) s.epochs.reset();
  if (!steps) s.steps.reset();
  if (!minutes) s.minutes.reset();
}

void check_task_options(const TrainSettings& s, const Given& given) {
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
    throw UsageError(fmt::format("--{0} has no effect with --task {1}: {2}; omit --{0}", name, *s.task, why));
  };
  if (!files && given.contains(&TrainSettings::epochs))
    unused(name_of(&TrainSettings::epochs), "its examples are generated without limit");
  if (s.restarts > 1) unused(name_of(&TrainSettings::restarts), "only one network is trained");
  if (s.best_by == "labels") unused("best-by labels", "errors are counted per sequence");
  if (s.label_column) unused(name_of(&TrainSettings::label_column), "the task reads no lines");
}

void check_field_options(const TrainSettings& s, const Given& given) {
  if (s.task || !has_fields(s)) return;
  if (is_fitted_model(s.model))
    throw UsageError(fmt::format(
        "data with fields ({}) requires a model trained by gradients, not {}; --format text reads the file as text",
        *s.format, s.model));
  const ReaderEntry& reader = readers().get(*s.format);
  if (given.contains(&TrainSettings::symbols) && !reader.has_texts)
    throw UsageError(fmt::format("--symbols applies only to text, and {} has none: omit --symbols", *s.format));
  refuse_table_options(given, "DATA", *s.format);
}

/// Throws UsageError for explicitly given options without effect. Stored values are not rejected.
void refuse_unused(const TrainSettings& s, const Given& given) {
  const bool fitted = is_fitted_model(s.model);
  if (fitted && (s.activity_penalty > 0 || s.flow_penalty > 0))
    throw UsageError(
        fmt::format("penalties apply only to gradient-based training; {} is fitted directly: leave them out", s.model));
  for (const auto& [name, asked] :
       {std::pair{name_of(&TrainSettings::early_stop), s.early_stop > 0},
        {name_of(&TrainSettings::best_by), given.contains(&TrainSettings::best_by) && s.best_by.has_value()},
        {name_of(&TrainSettings::validate_every),
         given.contains(&TrainSettings::validate_every) && s.validate_every > 0}})
    if (!fitted && !validates(s) && asked)
      throw UsageError(fmt::format("--{} needs validation, but --split {} leaves no validation data", name, *s.split));
  if (s.follow && s.early_stop > 0)
    throw UsageError("--early-stop needs validation, which --follow does not do: omit --early-stop");
}

/// Sets the defaults for a stream, which is one sequence of bytes, read once.
void settle_follow(TrainSettings& s, const Given& given) {
  if (!s.follow) return;
  if (s.data.size() != 1) throw UsageError("--follow reads one stream; specify one file, or - for standard input");
  if (given.contains(&TrainSettings::symbols) && s.symbols != "bytes")
    throw UsageError(
        "--follow reads bytes, because the characters or words of a stream are not known in advance; leave --symbols "
        "out");
  if (given.contains(&TrainSettings::batch) && s.batch != 1)
    throw UsageError(fmt::format("--follow reads one stream, so --batch must be 1, not {}", s.batch));
  s.symbols = "bytes";
  s.batch = 1;
  s.epochs = 1;
}

bool is_of(const OptionRow& row, auto member) { return row.name == name_of(member); }

/// Returns whether the setting with its current value would be accepted if all settings were given explicitly.
bool may_be_given(const OptionRow& row, const TrainSettings& s) {
  if (s.follow && !row.kinds.contains(Kind::stream)) return false;
  if (s.whole_sequences && is_of(row, &TrainSettings::window)) return false;
  return !is_of(row, &TrainSettings::symbols) || !has_fields(s) || readers().get(*s.format).has_texts;
}

/// Returns whether the setting is only for models that are trained by gradients. A memory limit also bounds counting.
bool needs_gradients(const OptionRow& row, const TrainSettings& s) {
  return row.by_gradient && !(is_of(row, &RunSettings::memory_limit) && is_counted_model(s.model));
}

/// Describes the data and other ways to read them.
std::string description_of(Kind kind, const OptionRow& row) {
  switch (kind) {
    case Kind::task: return "this is a task";
    case Kind::stream: return "this is a stream (--follow)";
    case Kind::fields: return "this data has fields (--format text reads it as text)";
    default: break;
  }
  const char* help = row.kinds.contains(Kind::fields) ? " (--format names a format with fields)" : "";
  return fmt::format("this data is text{}", help);
}

/// Throws UsageError for given settings that do not apply to the model or the data.
void refuse_inapplicable(const TrainSettings& s, const Given& given) {
  const Kind kind = kind_of(s);
  for (const OptionRow& row : SettingTable::defaults().rows) {
    if (!given.contains(row.name)) continue;
    if (is_fitted_model(s.model) && needs_gradients(row, s)) throw UsageError(not_by_gradients(row.name, s.model));
    if (s.format == kLogFormat && row.kinds.contains(Kind::log)) continue;
    if (!row.kinds.contains(kind)) throw UsageError(not_applicable(row.name, row.kinds, description_of(kind, row)));
  }
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
    throw UsageError(
        "--label-column and --only-label apply to lines; headers of FASTA records are skipped: leave them out");
}

bool is_only_for_text(const OptionRow& row) {
  return row.kinds.contains(Kind::text) && !row.kinds.contains(Kind::fields);
}

bool is_only_for_fields(const OptionRow& row) {
  return row.kinds.contains(Kind::fields) && !row.kinds.contains(Kind::text);
}

/// Returns the first row that was given and for which `holds`; nullptr if there is none.
const OptionRow* first_given(const Given& given, const auto& holds) {
  for (const OptionRow& row : SettingTable::defaults().rows)
    if (given.contains(row.name) && holds(row)) return &row;
  return nullptr;
}

/// Returns the option that specifies that DATA is running text; empty if there is none. Training options do not count,
/// because they never change the kind of data.
std::string_view option_of_text(const TrainSettings& s, const Given& given) {
  const auto states_text = [](const OptionRow& row) { return is_only_for_text(row) && row.group == OptionGroup::data; };
  if (const OptionRow* row = first_given(given, states_text)) return row->name;
  if (given.contains(&TrainSettings::symbols)) return name_of(&TrainSettings::symbols);
  return is_fitted_model(s.model) ? name_of(&TrainSettings::model) : std::string_view();
}

/// Returns a note if only an option causes a file to be read as running text although it looks like a different format.
std::string remark_on_text(const TrainSettings& s, std::string_view option) {
  const Input input = Input::open(s.data.front());
  if (input.bytes().empty()) return {};
  const FormatGuess guess = guess_format(input);
  if (guess.format == kTextFormat) return {};
  return fmt::format("{} is read as running text, which --{} is for; --format {} would read it as {} ({})",
                     s.data.front(), option, guess.format, guess.format, guess.why);
}

/// Returns whether the extension of a file allows running text, including logs, which are a special form of text.
bool may_be_text(const std::string& file) {
  const std::span<const std::string_view> named = formats_of_name(file);
  return named.empty() || named.front() == kLogFormat;
}

/// Returns the format determined by the name of the first file, or for plain text by its first lines. `text`: an option
/// that specifies running text; for logs, an option that specifies how to read them.
FormatGuess decided_format(const std::string& file, bool fields, std::string_view text) {
  const std::span<const std::string_view> named = formats_of_name(file);
  const std::string_view format = named.empty() ? std::string_view() : named.front();
  if (format == "arpa")
    throw UsageError(
        fmt::format("{} is an n-gram model, not data; convert it with `unfold import {} --from arpa`", file, file));
  if (format == kLogFormat && (text.empty() || text == name_of(&TrainSettings::model))) return {kLogFormat, "its name"};
  if (format == kFastaFormat) return {std::string(kFastaFormat), "its name"};
  if (fields || !named.empty()) return {};
  if (std::string why = guess_fasta(file); !why.empty()) return {std::string(kFastaFormat), std::move(why)};
  if (text.empty() || text == name_of(&TrainSettings::model))
    if (std::string why = guess_log(file); !why.empty()) return {kLogFormat, std::move(why)};
  return {};
}

/// Throws DataError for a file of another program, which would be read as running text. `bytes`: any bytes are wanted.
void reject_foreign_format(const std::string& file, bool bytes) {
  if (bytes || compression_of(file) != Compression::none) return;
  if (const std::string what = foreign_format(Input::open(file, EmptyInput::allowed).bytes()); !what.empty())
    throw DataError(fmt::format("{} is {} (--format text reads its bytes as text)", file, what));
}

/// Reads the lines of a list of items as sequences. Returns a note, or an empty string if the file is not a list.
std::string recognize_lines(TrainSettings& s, const Given& given) {
  if (s.lines || s.symbols == "words" ||
      given.contains_any(&TrainSettings::lines, &TrainSettings::label_column, &TrainSettings::only_label,
                         &TrainSettings::predict_after, &TrainSettings::mask, &TrainSettings::curriculum))
    return {};
  const std::string why = guess_item_lines(Input::open(s.data.front()).bytes());
  if (why.empty()) return {};
  s.lines = true;
  return fmt::format("{} is read as lines ({}), each a separate sequence; --format text would read it as running text",
                     s.data.front(), why);
}

/// Reads a session file (data/logs/session_lines.h) as a log. `guessed`: the format that the file would be read in.
/// Returns a note, or an empty string if the file is not clearly a session file.
std::string recognize_sessions(TrainSettings& s, const Input& input, std::string_view guessed) {
  if (!formats_of_name(input.name()).empty() || session_evidence(input.bytes()) != SessionEvidence::clear) return {};
  s.format = kLogFormat;
  return fmt::format(
      "{} is read as a log of sessions (each line has an identifier and event numbers); --format {} would read it as "
      "{}",
      input.name(), guessed, guessed == kTextFormat ? "running text" : fmt::format("a {}", guessed));
}

std::string remark_on_sessions(const Input& input) {
  if (session_evidence(input.bytes()) != SessionEvidence::ambiguous) return {};
  return fmt::format(
      "{} is read as running text, but each line looks like the event numbers of one session; --format log finds "
      "unusual sessions",
      input.name());
}

/// Sets the defaults for logs: each line is a sequence of words, and the model is kDefaultLogModel.
void set_log_defaults(TrainSettings& s, const Given& given) {
  if (s.log_rules && s.format != kLogFormat) throw UsageError("--log-rules requires --format log");
  if (s.record_start && s.format != kLogFormat) throw UsageError("--record-start requires --format log");
  if (s.format != kLogFormat) return;
  if (given.contains(&TrainSettings::symbols) && s.symbols != "words")
    throw UsageError("--format log reads words; leave out --symbols, or add --format text");
  s.symbols = "words";
  s.lines = true;
  s.label_column = s.label_column || s.only_label.has_value();
  if (given.resumed) return;  // all other settings have been stored
  if (!given.contains(&TrainSettings::model)) s.model = kDefaultLogModel;
  // Models that are fitted directly need no validation data.
  if (!s.valid && !s.split && is_fitted_model(s.model)) s.split = "100/0/0";
}

/// Returns the kind of data that a file seems to contain by its name and first lines.
std::string_view kind_of_file(const std::string& file) {
  if (const std::span<const std::string_view> named = formats_of_name(file); !named.empty()) return named.front();
  const Input input = Input::open(file, EmptyInput::allowed);
  if (const FormatGuess guess = guess_format(input); guess.format != kTextFormat)
    return readers().get(guess.format).name;
  if (!guess_fasta(file).empty()) return kFastaFormat;
  if (!guess_log(file).empty()) return kLogFormat;
  return guess_item_lines(input.bytes()).empty() ? "running text" : "list of lines";
}

/// Returns a note if a further file seems to contain another kind of data than the first one; all are read alike.
std::string remark_on_mixed_files(const std::vector<std::string>& files) {
  std::error_code ignored;
  const auto is_file = [&](const std::string& file) { return std::filesystem::is_regular_file(file, ignored); };
  if (files.size() < 2 || !std::ranges::all_of(files, is_file)) return {};
  const std::string_view first = kind_of_file(files.front());
  for (const std::string& file : files)
    if (const std::string_view kind = kind_of_file(file); kind != first)
      return fmt::format(
          "note: the files differ in kind: {} ({}), {} ({}); all are read in the same format, which "
          "--format specifies",
          files.front(), first, file, kind);
  return {};
}

/// Determines the format from the first file.
std::string resolve_by_first_file(TrainSettings& s, const Given& given) {
  if (s.task || s.data.empty() || s.follow) return {};
  if (!s.format && (s.log_rules || s.record_start)) s.format = kLogFormat;
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
  const bool fields = first_given(given, is_only_for_fields) != nullptr;
  Input::keep(s.data.front());
  reject_foreign_format(s.data.front(), s.symbols == "bytes");
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
  if (std::string note = fields ? std::string() : recognize_sessions(s, input, guess.format); !note.empty())
    return note;
  if (guess.format == kTextFormat) {
    if (fields) {
      reject_utf16(input.name(), input.bytes());
      throw UsageError(
          fmt::format("{} looks like running text, which has no fields; specify the format with --format, which also "
                      "reports the line that does not match",
                      s.data.front()));
    }
    if (std::string note = resembles(input); !note.empty()) return note;
    if (std::string note = recognize_lines(s, given); !note.empty()) return note;
    return remark_on_sessions(input);
  }
  s.format = guess.format;
  return fmt::format("{} is read as {} ({}); --format text would read it as running text", s.data.front(), guess.format,
                     guess.why);
}

}  // namespace

bool has_fields(const TrainSettings& s) { return s.format && !is_text_format(*s.format); }

std::string resolve_format(TrainSettings& s, const Given& given) {
  const bool stated = s.format || s.task || s.follow;
  std::string note = resolve_by_first_file(s, given);
  if (stated || given.resumed) return note;
  if (const std::string mixed = remark_on_mixed_files(s.data); !mixed.empty())
    note += (note.empty() ? "" : "; ") + mixed;
  return note;
}

Kind kind_of(const TrainSettings& s) {
  if (s.task) return Kind::task;
  if (s.follow) return Kind::stream;
  return has_fields(s) ? Kind::fields : Kind::text;
}

OptionRows setting_rows(TrainSettings& settings, RunSettings& run) {
  OptionRows rows;
  add_data_rows(rows, settings);
  add_training_rows(rows, settings);
  add_execution_rows(rows, run);
  return rows;
}

void refuse_table_options(const Given& given, std::string_view file, std::string_view format) {
  if (!is_text_format(format) && readers().get(format).has_sequence_column) return;
  TrainSettings none;
  if (given.contains(&TrainSettings::sequences))
    throw UsageError(fmt::format(
        "--sequences names a column of a table; the format {} defines its sequences: omit --sequences", format));
  OptionRows rows = table_rows(none);
  rows.push_back(row_meaning_row(none));
  for (const OptionRow& row : rows)
    if (given.contains(row.name))
      throw UsageError(
          fmt::format("--{0} applies to tables, and {1} has the format {2}: omit --{0}", row.name, file, format));
}

OptionRow threads_row(Index& threads, Keep keep) {
  return {.name = "threads",
          .target = &threads,
          .placeholder = "N",
          .help = "number of threads; results do not depend on it",
          .least = 0,
          .most = kMostThreads,
          .keep = keep,
          .default_text = "all processors",
          .group = OptionGroup::execution,
          .common = true};
}

std::string not_by_gradients(std::string_view option, std::string_view model) {
  return fmt::format("--{0} applies to models trained by gradients; {1} is fitted in one pass: omit --{0}", option,
                     model);
}

const SettingTable& SettingTable::defaults() {
  static const SettingTable table;
  return table;
}

const OptionRow& SettingTable::row_at(const void* address) const {
  for (const OptionRow& row : rows)
    if (address_of(row.target) == address) return row;
  throw std::logic_error("a setting has no row");
}

Config configuration(const TrainSettings& settings, const RunSettings& run, Keep least) {
  TrainSettings s = settings;
  RunSettings r = run;
  Config result;
  for (const OptionRow& row : setting_rows(s, r)) {
    if (row.keep < least || !applies(row, settings)) continue;
    if (least != Keep::model && !may_be_given(row, settings)) continue;
    if (auto value = value_of(option_of(row))) result.set(row.name, in_valid_utf8(std::move(*value)));
  }
  return result;
}

void apply_stored(const Config& stored, const Given& given, TrainSettings& settings, RunSettings& run) {
  constexpr std::string_view kWhere = "the stored configuration";
  const OptionRows rows = setting_rows(settings, run);
  for (const ConfigEntry& entry : stored.entries()) {
    const OptionRow& row = need_row(rows, entry.key, kWhere, "train");
    if (!given.contains(row.name)) set_option(option_of(row), entry.value, fmt::format("{}: {}", kWhere, row.name));
  }
  forget_budget(given, settings);
}

void assign_text(std::string_view name, const std::string& value, TrainSettings& settings, RunSettings& run) {
  const OptionRows rows = setting_rows(settings, run);
  const Option option = option_of(need_row(rows, name, "settings", "train"));
  if (std::holds_alternative<bool*>(option.target)) {
    const bool on = value == "true" || value == "1";
    if (!on && value != "false" && value != "0")
      throw UsageError(fmt::format("{} must be {}, not {}", option.name, wanted(option), in_quotes(value)));
    set_option(option, on, option.name);
  } else if (auto* const* list = std::get_if<std::vector<std::string>*>(&option.target)) {
    (*list)->push_back(value);
  } else {
    set_option_from_text(option, value, option.name);
  }
}

std::string resolve_device(TrainSettings& s, RunSettings& run, const Given& given) {
  if (run.device == kProcessor) run.device.reset();
  if (run.device || s.precision != kTf32 || given.contains(&TrainSettings::precision)) return {};
  s.precision = "float";
  return "tf32 is supported only on GPUs; training continues in float";
}

Config comparable(const Config& all, bool resume) {
  Config result;
  for (const ConfigEntry& entry : all.entries()) {
    const OptionRow* row = find_row(SettingTable::defaults().rows, entry.key);
    const bool may_differ = resume && row != nullptr && row->group == OptionGroup::budget;
    if (row == nullptr || row->keep < Keep::fixed || may_differ) continue;
    const auto* text = std::get_if<std::string>(&entry.value);
    const bool optimizer = is_of(*row, &TrainSettings::optimizer);
    result.set(entry.key, optimizer && text ? canonical_stored_optimizer(*text) : entry.value);
  }
  return result;
}

Config without_defaults_unknown_to(const Config& stored, const Config& here) {
  Config result;
  for (const ConfigEntry& entry : here.entries()) {
    const OptionRow* row = find_row(SettingTable::defaults().rows, entry.key);
    const bool is_default = row != nullptr && value_of(option_of(*row)) == entry.value;
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
  refuse_inapplicable(s, given);
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
        "--start-from cannot be combined with --restarts: all restarts would have the same initial parameters; "
        "leave one of them out");
  if (s.sampled_softmax > 0 && s.restarts > 1)
    throw UsageError(
        "--sampled-softmax cannot be combined with --restarts, which compares full losses; leave one of "
        "them out");
  if (s.symbols != kAnyText && s.format == "pairs")
    parse_symbol_kinds(s.symbols);
  else if (s.symbols != kAnyText || !has_fields(s))
    s.symbols = to_string(parse_symbol_kind(s.symbols));
  parse_unknown_policy(s.unknown);
  if (run.memory_limit) parse_bytes(*run.memory_limit);
  if (s.only_label && !s.label_column) throw UsageError("--only-label needs --label-column");
  if (s.whole_sequences && given.contains(&TrainSettings::window))
    throw UsageError(given.resumed && !given.contains(&TrainSettings::whole_sequences)
                         ? "the run reads whole sequences, but --window divides them: leave out --window to continue"
                         : "--window cannot be combined with --whole-sequences; leave one of them out");
  if (s.valid && s.split)
    throw UsageError(
        "--valid cannot be combined with --split: validation data is either a file or a part of DATA; leave "
        "one of them out");
  if (s.valid_mask && !s.valid) throw UsageError("--valid-mask requires --valid; --mask covers all of DATA");
  if (s.valid && s.mask.has_value() != s.valid_mask.has_value())
    throw UsageError(
        "with --valid, --mask requires --valid-mask and vice versa: otherwise training and validation losses are not "
        "comparable");
  if (!s.valid && !s.split && !s.follow) s.split = kDefaultSplit;
  refuse_unused(s, given);
  if (!s.epochs && !s.steps && !s.minutes && !is_fitted_model(s.model)) s.epochs = kDefaultEpochs;
}

bool applies(const OptionRow& row, const TrainSettings& s) {
  if (is_of(row, &TrainSettings::follow) && !s.follow) return false;
  if (is_fitted_model(s.model) && needs_gradients(row, s)) return false;
  if (is_fitted_mixture(s.model) && needs_gradients(row, s) && !is_of(row, &TrainSettings::precision)) return false;
  // Earlier versions trained tasks only in float and did not store the precision.
  if (s.task && is_of(row, &TrainSettings::precision)) return s.precision != "float";
  const Kind kind = kind_of(s);
  return row.kinds.contains(kind == Kind::stream ? Kind::text : kind);
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
  require_in_range(name_of(&RunSettings::threads), threads, 0, kMostThreads);
  return threads > 0 ? static_cast<int>(threads) : available_threads();
}

std::pair<SymbolKind, SymbolKind> parse_symbol_kinds(std::string_view text) {
  const std::size_t comma = text.find(',');
  const SymbolKind first = parse_symbol_kind(text.substr(0, comma));
  return {first, comma == std::string_view::npos ? first : parse_symbol_kind(text.substr(comma + 1))};
}

}  // namespace unfold
