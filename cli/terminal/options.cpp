#include "cli/terminal/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "base/options/option_aliases.h"
#include "base/options/suggestions.h"
#include "base/printable.h"
#include "unfold/base/error.h"
#include "unfold/model/registry/registry.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

/// Environment variables that are not options. UNFOLD_DATA is the folder of the data sets.
constexpr std::array<std::string_view, 4> kOwnVariables = {"UNFOLD_SIMD", "UNFOLD_DATA", "UNFOLD_BF16", "UNFOLD_TEAM"};

/// Converts arguments to the form that CLI11 requires. CLI11 takes the next word as the value of `--name=`, so an empty
/// value becomes a separate word.
std::vector<std::string> reversed_words(std::span<const std::string> arguments) {
  std::vector<std::string> words;
  for (const std::string& word : arguments) {
    const bool empty_value = word.starts_with("--") && word.size() > 2 && word.find('=') == word.size() - 1;
    words.push_back(empty_value ? word.substr(0, word.size() - 1) : word);
    if (empty_value) words.emplace_back();
  }
  std::ranges::reverse(words);
  return words;
}

/// Returns "; it is part of a SPEC: --optimizer adam:rate=..." if one of the entries has an option of this name;
/// prefers the entry `usual`, otherwise the first one.
std::string in_spec(std::string_view name, const std::vector<EntryHelp>& entries, std::string_view usual,
                    std::string_view form) {
  std::string found;
  for (const EntryHelp& entry : entries) {
    std::vector<std::string> names;
    names.reserve(entry.options.size());
    for (const OptionHelp& known : entry.options) names.push_back(known.name);
    const std::string meant = name_behind(name, names);
    if (meant.empty() || (!found.empty() && entry.name != usual)) continue;
    found = fmt::format("; it is part of a SPEC: {}", fmt::format(fmt::runtime(form), entry.name, meant));
  }
  return found;
}

/// If a SPEC accepts an option that the command does not have, returns a hint that names the SPEC.
std::string where_in_specs(std::string_view name, std::span<const std::string> names) {
  const auto has = [&](const char* option) { return std::ranges::find(names, option) != names.end(); };
  if (has("model") && is_main_size(name)) return "; it is part of a SPEC: --model lstm:128";
  std::string found;
  if (has("optimizer")) found = in_spec(name, optimizers(), "adam", "--optimizer {}:{}=...");
  if (found.empty() && has("model")) found = in_spec(name, models(), "lstm", "--model {}:128,{}=...");
  return found;
}

/// Returns what is wrong with the arguments, without the terms of CLI11.
std::string parse_fault(const CLI::ParseError& error, const OptionRows& rows) {
  std::string text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr || !text.ends_with(" missing")) return text;
  const std::size_t name = text.rfind("--", text.find(':'));
  if (name == std::string::npos) return text;
  const OptionRow* row = find_row(rows, text.substr(name + 2, text.find(':') - name - 2));
  if (row == nullptr || row->placeholder.empty()) return text;
  return fmt::format("--{0} needs a value: --{0} {1}", row->name, row->placeholder);
}

}  // namespace

CommandOptions::CommandOptions(std::string verb, std::string summary, std::vector<std::string> examples)
    : verb_(std::move(verb)), summary_(std::move(summary)), examples_(std::move(examples)) {}

void CommandOptions::add(OptionRow row) {
  if (row.is_input) {
    inputs_ = {.name = row.name,
               .target = std::get<std::vector<std::string>*>(row.target),
               .placeholder = row.placeholder,
               .help = row.help,
               .least = static_cast<std::size_t>(row.least),
               .most = std::isinf(row.most) ? std::string::npos : static_cast<std::size_t>(row.most)};
  }
  states_.push_back({.option = option_of(row)});
  rows_.push_back(std::move(row));
}

void CommandOptions::add_inputs(InputsRow row) {
  add({.name = row.name,
       .target = row.target,
       .placeholder = row.placeholder,
       .help = row.help,
       .least = static_cast<double>(row.least),
       .most = row.most == std::string::npos ? kUnlimited : static_cast<double>(row.most),
       .keep = row.keep,
       .file = row.file,
       .is_input = true});
  inputs_ = std::move(row);
}

void CommandOptions::add_common(bool& json, bool& quiet, bool prints_json) {
  add({.name = "config",
       .target = &config_file_,
       .placeholder = "FILE",
       .help = "read options from this file, one `name = value` per line (TOML)",
       .file = FileUse::settings,
       .common = true});
  add({.name = "json",
       .target = &json,
       .help = prints_json ? "print one JSON object and nothing else" : "",
       .common = true});
  add({.name = "quiet", .target = &quiet, .help = "suppress progress and notes", .common = true});
}

const OptionRow& CommandOptions::row_at(const void* target) const {
  for (const OptionRow& row : rows_)
    if (address_of(row.target) == target) return row;
  throw std::logic_error(verb_ + ": no option has this target");
}

std::vector<std::string> CommandOptions::names() const {
  std::vector<std::string> result;
  for (const OptionRow& row : rows_)
    if (!row.is_input) result.push_back(row.name);
  return result;
}

std::string CommandOptions::variable(std::string_view name) {
  std::string result = "UNFOLD_";
  for (const char c : name) result += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return result;
}

UsageError CommandOptions::unknown_option(const std::string& argument) const {
  const std::string option = argument.substr(0, argument.find('='));
  const std::string name = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  const std::string elsewhere = where_in_specs(name, names());
  return UsageError(fmt::format("{0} has no option {1}; see `unfold {0} --help`{2}", verb_, escape_value(option),
                                elsewhere.empty() ? did_you_mean(name, names()) : elsewhere));
}

/// Replaces an alias of an option by its name.
std::string CommandOptions::canonical_word(const std::string& word) const {
  if (!word.starts_with("--") || word.size() == 2) return word;
  const std::size_t end = std::min(word.find('='), word.size());
  const OptionRow* row = find_row(rows_, std::string_view(word).substr(2, end - 2));
  return row == nullptr || row->is_input ? word : "--" + row->name + word.substr(end);
}

bool CommandOptions::read_arguments(std::span<const std::string> arguments) {
  CLI::App app(summary_, verb_);
  app.set_help_flag();
  app.allow_extras();
  bool help = false;
  all_requested_ = false;
  app.add_flag("-h,--help", help);
  app.add_flag("--help-all", all_requested_);
  std::map<std::string, CLI::Option*> parsed;
  std::map<std::string, std::string> single;
  std::map<std::string, CLI::Option*> digits;  // -1 .. -9
  std::string of_digits;
  for (const OptionRow& row : rows_) {
    const std::string& name = row.name;
    if (row.is_input) continue;
    const bool by_digit = row.letter == kDigits;
    if (by_digit) {
      of_digits = name;
      for (char digit = '1'; digit <= '9'; ++digit) digits[{digit}] = app.add_flag(std::string("-") + digit);
    }
    const std::string spellings = (row.letter.empty() || by_digit ? "--" : "-" + row.letter + ",--") + name;
    if (std::holds_alternative<bool*>(row.target))
      parsed[name] = app.add_flag(spellings);
    else
      parsed[name] = app.add_option(spellings, single[name])->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  const auto end_of_options = std::ranges::find(arguments, "--");
  std::vector<std::string> words;
  for (auto word = arguments.begin(); word != end_of_options; ++word) words.push_back(canonical_word(*word));
  try {
    app.parse(reversed_words(words));
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{}; see `unfold {} --help`", parse_fault(error, rows_), verb_));
  }
  if (help || all_requested_) return true;
  std::vector<std::string> inputs = app.remaining();
  for (const std::string& input : inputs)
    if (input.size() > 1 && input[0] == '-') throw unknown_option(input);
  if (end_of_options != arguments.end()) inputs.insert(inputs.end(), end_of_options + 1, arguments.end());
  if (!inputs_ && !inputs.empty())
    throw UsageError(
        fmt::format("{} takes no input {}; see `unfold {} --help`", verb_, in_quotes(inputs.front()), verb_));
  arguments_.clear();
  for (const auto& [name, option] : parsed) {
    if (option->count() == 0) continue;
    const bool flag = std::holds_alternative<bool*>(find_row(rows_, name)->target);
    arguments_[name] = {flag ? std::string("true") : single[name]};
  }
  for (const auto& [digit, option] : digits) {
    if (option->count() == 0) continue;
    const auto [given, first] = arguments_.try_emplace(of_digits, std::vector<std::string>{digit});
    if (!first)
      throw UsageError(
          fmt::format("{}: -{} and -{} cannot be combined; choose one level", verb_, given->second.front(), digit));
  }
  if (inputs_ && !inputs.empty()) arguments_[inputs_->name] = inputs;
  return false;
}

void CommandOptions::resolve(const Config* stored) {
  for (State& state : states_) {
    state.given = false;
    clear_value(state.option);
    if (state.option.fallback) set_option(state.option, *state.option.fallback, "default");
  }
  if (stored != nullptr) assign_entries(*stored, "the stored configuration", false);

  const auto config = arguments_.find("config");
  const char* variable_config = std::getenv("UNFOLD_CONFIG");
  if (config != arguments_.end())
    config_file_ = config->second.front();
  else if (variable_config != nullptr)
    config_file_ = variable_config;
  if (config_file_) assign_entries(read_config(*config_file_), *config_file_, true);

  for (const OptionRow& row : rows_) {
    const std::string name = variable(row.name);
    if (row.is_input || std::ranges::find(kOwnVariables, name) != kOwnVariables.end()) continue;
    if (const char* value = std::getenv(name.c_str()); value != nullptr) {
      set_option_from_text(state(row).option, value, "environment variable " + name);
      state(row).given = true;
    }
  }
  for (const auto& [name, values] : arguments_) {
    const OptionRow& row = *find_row(rows_, name);
    if (row.is_input)
      set_option(state(row).option, values, "command line");
    else
      set_option_from_text(state(row).option, values.front(), "option --" + name);
    state(row).given = true;
  }
  check_inputs();
}

void CommandOptions::assign_entries(const Config& config, const std::string& file, bool counts_as_given) {
  for (const ConfigEntry& entry : config.entries()) {
    const std::string where = entry.line > 0 ? fmt::format("{}:{}", file, entry.line) : file;
    const OptionRow& row = need_row(rows_, entry.key, where, verb_);
    if (address_of(row.target) == &config_file_)
      throw UsageError(fmt::format("{}: {} cannot be set in a configuration file", where, row.name));
    set_option(state(row).option, entry.value, where + ": " + entry.key);
    state(row).given = state(row).given || counts_as_given;
  }
}

void CommandOptions::check_inputs() const {
  if (!inputs_) return;
  const std::size_t count = inputs_->target->size();
  if (count < inputs_->least) throw missing_inputs();
  if (count > inputs_->most)
    throw UsageError(fmt::format("{} takes {} {}, not {}: {} is too many; see `unfold {} --help`", verb_, inputs_->most,
                                 inputs_->placeholder, count, in_quotes((*inputs_->target)[inputs_->most]), verb_));
}

void CommandOptions::refuse_row(const OptionRow& row, std::string_view why) const {
  if (!is_set(row)) return;
  constexpr std::string_view requires_option = "requires --";
  const bool addable = why.starts_with(requires_option) && why.find(" and ") == std::string_view::npos;
  const std::string_view needed = addable ? why.substr(requires_option.size()) : "";
  throw UsageError(addable ? fmt::format("--{0} {1}: add --{2} or omit --{0}", row.name, why, needed)
                           : fmt::format("--{0} {1}; omit --{0}", row.name, why));
}

void CommandOptions::require_kind(Kind kind, std::string_view here) const {
  for (const OptionRow& row : rows_)
    if (is_set(row) && !row.kinds.contains(kind)) throw UsageError(not_applicable(row.name, row.kinds, here));
}

UsageError CommandOptions::missing_inputs() const {
  return UsageError(
      fmt::format("{} needs {}: {}; for example: {}", verb_, inputs_->placeholder, inputs_->help, examples_.front()));
}

bool CommandOptions::given(std::string_view name) const {
  const OptionRow* row = find_row(rows_, name);
  return row != nullptr && row->name == name && is_set(*row);
}

std::vector<FileNamed> CommandOptions::files(FileUse use) const {
  std::vector<FileNamed> result;
  for (const OptionRow& row : rows_) {
    if (row.file != use) continue;
    const std::string by = row.is_input ? row.placeholder : "--" + row.name;
    const auto add = [&](const std::string& path) {
      if (!path.empty()) result.push_back({by, path});
    };
    const auto value = value_of(state(row).option);
    if (!value) continue;
    if (const auto* one = std::get_if<std::string>(&*value)) add(*one);
    if (const auto* several = std::get_if<std::vector<std::string>>(&*value)) std::ranges::for_each(*several, add);
  }
  return result;
}

Config CommandOptions::config(Keep least) const {
  Config result;
  for (const OptionRow& row : rows_) {
    if (row.keep == Keep::nowhere || row.keep < least) continue;
    if (auto value = value_of(state(row).option)) result.set(row.name, std::move(*value));
  }
  return result;
}

bool CommandOptions::lists_all() const {
  return std::ranges::none_of(rows_,
                              [](const OptionRow& row) { return row.common && row.group != OptionGroup::general; });
}

/// Returns the options by group: the common ones, or all of them.
std::string CommandOptions::listed(bool all) const {
  std::map<OptionGroup, std::string> groups;
  const bool few = lists_all();
  for (const OptionRow& row : rows_) {
    if (row.is_input || row.help.empty() || !(all || few || row.common)) continue;
    std::string left = (row.letter.empty()      ? ""
                        : row.letter == kDigits ? "-1 .. -9, "
                                                : "-" + row.letter + ", ") +
                       "--" + row.name;
    if (!row.placeholder.empty()) left += " " + row.placeholder;
    const std::string fallback = row.kind_defaults.empty() ? default_of(row) : std::string();
    std::string& text = groups[row.group];
    text += fmt::format("  {:<24} {}{}\n", left, row.help,
                        fallback.empty() ? std::string() : fmt::format(" (default {})", fallback));
    for (const auto& [kind, value] : row.kind_defaults)
      text += fmt::format("  {:<26} default for {}: {}\n", "", kind, value);
  }
  groups[OptionGroup::general] += fmt::format("  {:<24} {}\n", "-h, --help", few ? "this help" : "the common options");
  if (!few) groups[OptionGroup::general] += fmt::format("  {:<24} {}\n", "--help-all", "all options");
  std::string text;
  for (const auto& [group, rows] : groups)
    text += fmt::format("\n{}:\n{}", groups.size() > 1 ? title(group) : "Options", rows);
  return text;
}

std::string CommandOptions::help(bool all) const {
  std::string text;
  for (const std::string& example : examples_)
    text += fmt::format("{}{}\n", &example == &examples_.front() ? "Example: " : "         ", example);
  text += fmt::format("\nunfold {}{}{} [options]\n  {}\n", verb_, inputs_ ? " " : "",
                      inputs_ ? inputs_->placeholder : "", summary_);
  if (inputs_) text += fmt::format("\n  {:<24} {}\n", inputs_->placeholder, inputs_->help);
  text += listed(all);
  return text +
         "\nEvery option can also be set as UNFOLD_NAME in the environment and as `name = value` in a --config file.\n";
}

void check_environment(std::span<const std::string> known_options) {
  std::vector<std::string> known(kOwnVariables.begin(), kOwnVariables.end());
  for (const std::string& name : known_options) known.push_back(CommandOptions::variable(name));
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string name(text.substr(0, text.find('=')));
    if (!name.starts_with("UNFOLD_") || std::ranges::find(known, name) != known.end()) continue;
    throw UsageError(fmt::format("the environment variable {} does not correspond to an option; unset it{}", name,
                                 did_you_mean(name, known)));
  }
}

}  // namespace unfold
