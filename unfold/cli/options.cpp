#include "unfold/cli/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <type_traits>

#include "unfold/base/error.h"
#include "unfold/base/text_distance.h"
#include "unfold/base/utf8.h"

namespace unfold {
namespace {

template <class T>
struct ValueOf {
  using type = T;
};
template <class T>
struct ValueOf<std::optional<T>> {
  using type = T;
};

template <class T>
inline constexpr bool kIsOptional = !std::is_same_v<T, typename ValueOf<T>::type>;

std::string_view wanted(const OptionTarget& target) {
  return std::visit(
      [](auto* pointer) -> std::string_view {
        using T = typename ValueOf<std::remove_pointer_t<decltype(pointer)>>::type;
        if constexpr (std::is_same_v<T, bool>) return "true or false";
        if constexpr (std::is_same_v<T, Index>) return "a whole number";
        if constexpr (std::is_same_v<T, double>) return "a number";
        if constexpr (std::is_same_v<T, std::vector<std::string>>) return "a list of strings";
        return "a string";
      },
      target);
}

std::optional<ConfigValue> read_target(const OptionTarget& target) {
  return std::visit(
      [](auto* pointer) -> std::optional<ConfigValue> {
        using T = std::remove_pointer_t<decltype(pointer)>;
        if constexpr (kIsOptional<T>) {
          if (!pointer->has_value()) return std::nullopt;
          return ConfigValue(**pointer);
        } else {
          return ConfigValue(*pointer);
        }
      },
      target);
}

void clear_target(const OptionTarget& target) {
  std::visit([](auto* pointer) { *pointer = std::remove_pointer_t<decltype(pointer)>(); }, target);
}

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<bool> parse_bool(std::string_view text) {
  for (const char* yes : {"1", "true", "yes", "on"})
    if (text == yes) return true;
  for (const char* no : {"0", "false", "no", "off", ""})
    if (text == no) return false;
  return std::nullopt;
}

std::string in_quotes(std::string_view text) { return fmt::format("\"{}\"", text); }

/// As CLI11 wants them. It reads `--name=` as if the value were the next word, so an empty value becomes its own word.
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

std::string range_text(const OptionRow& row) {
  if (std::isinf(row.most)) return fmt::format("at least {}", row.least);
  if (std::isinf(row.least)) return fmt::format("at most {}", row.most);
  return fmt::format("between {} and {}", row.least, row.most);
}

}  // namespace

VerbOptions::VerbOptions(std::string verb, std::string summary, std::vector<std::string> examples)
    : verb_(std::move(verb)), summary_(std::move(summary)), examples_(std::move(examples)) {}

void VerbOptions::add(OptionRow row) {
  Row entry{.option = std::move(row), .fallback = std::nullopt};
  entry.fallback = read_target(entry.option.target);
  rows_.push_back(std::move(entry));
}

void VerbOptions::add_inputs(InputsRow row) {
  rows_.push_back({.option = {.name = row.name, .target = row.target, .help = row.help, .keep = row.keep},
                   .fallback = std::nullopt,
                   .is_input = true});
  inputs_ = std::move(row);
}

void VerbOptions::add_common(bool& json, bool& quiet) {
  add({.name = "config",
       .target = &config_file_,
       .placeholder = "FILE",
       .help = "read options from this file, one `name = value` a line (TOML)"});
  add({.name = "json", .target = &json, .help = "print one JSON object and nothing else"});
  add({.name = "quiet", .target = &quiet, .help = "no progress and no remarks"});
}

VerbOptions::Row* VerbOptions::find(std::string_view name) {
  for (Row& row : rows_)
    if (row.option.name == name) return &row;
  return nullptr;
}

const VerbOptions::Row* VerbOptions::find(std::string_view name) const {
  return const_cast<VerbOptions*>(this)->find(name);
}

std::vector<std::string> VerbOptions::names() const {
  std::vector<std::string> result;
  for (const Row& row : rows_)
    if (!row.is_input) result.push_back(row.option.name);
  return result;
}

std::string VerbOptions::variable(std::string_view name) {
  std::string result = "UNFOLD_";
  for (const char c : name) result += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return result;
}

UsageError VerbOptions::unknown_option(const std::string& argument) const {
  const std::string option = argument.substr(0, argument.find('='));
  const std::string name = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  return UsageError(
      fmt::format("{0} has no option {1}; see `unfold {0} --help`{2}", verb_, option, did_you_mean(name, names())));
}

bool VerbOptions::read_arguments(std::span<const std::string> arguments) {
  CLI::App app(summary_, verb_);
  app.set_help_flag();
  app.allow_extras();
  bool help = false;
  app.add_flag("-h,--help", help);
  std::map<std::string, CLI::Option*> parsed;
  std::map<std::string, std::string> single;
  for (const Row& row : rows_) {
    const std::string& name = row.option.name;
    if (row.is_input) continue;
    const std::string spellings = (row.option.letter.empty() ? "--" : "-" + row.option.letter + ",--") + name;
    if (std::holds_alternative<bool*>(row.option.target))
      parsed[name] = app.add_flag(spellings);
    else
      parsed[name] = app.add_option(spellings, single[name])->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  const auto end_of_options = std::ranges::find(arguments, "--");
  try {
    app.parse(reversed_words({arguments.begin(), end_of_options}));
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{}; see `unfold {} --help`", error.what(), verb_));
  }
  if (help) return true;
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
    const bool flag = std::holds_alternative<bool*>(find(name)->option.target);
    arguments_[name] = {flag ? std::string("true") : single[name]};
  }
  if (inputs_ && !inputs.empty()) arguments_[inputs_->name] = inputs;
  return false;
}

void VerbOptions::resolve(const Config* stored) {
  for (Row& row : rows_) {
    row.given = false;
    clear_target(row.option.target);
    if (row.fallback) assign(row, *row.fallback, "default");
  }
  if (stored != nullptr) assign_entries(*stored, "the stored configuration", false);

  const auto config = arguments_.find("config");
  const char* variable_config = std::getenv("UNFOLD_CONFIG");
  if (config != arguments_.end())
    config_file_ = config->second.front();
  else if (variable_config != nullptr)
    config_file_ = variable_config;
  if (config_file_) assign_entries(read_config(*config_file_), *config_file_, true);

  for (Row& row : rows_) {
    if (row.is_input) continue;
    const std::string name = variable(row.option.name);
    if (const char* value = std::getenv(name.c_str()); value != nullptr) {
      assign_text(row, value, "environment variable " + name);
      row.given = true;
    }
  }
  for (const auto& [name, values] : arguments_) {
    Row& row = *find(name);
    if (row.is_input)
      assign(row, values, "command line");
    else
      assign_text(row, values.front(), "option --" + name);
    row.given = true;
  }
  check_inputs();
}

void VerbOptions::assign_entries(const Config& config, const std::string& file, bool counts_as_given) {
  std::vector<std::string> known = names();
  std::erase_if(known, [](const std::string& name) { return name == "config"; });
  if (inputs_) known.push_back(inputs_->name);
  for (const ConfigEntry& entry : config.entries()) {
    const std::string where = entry.line > 0 ? fmt::format("{}:{}", file, entry.line) : file;
    Row* row = find(entry.key);
    if (row == nullptr || entry.key == "config")
      throw UsageError(
          fmt::format("{}: {} has no key {}{}", where, verb_, in_quotes(entry.key), did_you_mean(entry.key, known)));
    assign(*row, entry.value, where + ": " + entry.key);
    row->given = row->given || counts_as_given;
  }
}

void VerbOptions::assign_text(Row& row, const std::string& text, const std::string& where) {
  const auto refuse = [&]() -> UsageError {
    return UsageError(fmt::format("{} wants {}, not {}", where, wanted(row.option.target), in_quotes(text)));
  };
  std::visit(
      [&](auto* pointer) {
        using T = typename ValueOf<std::remove_pointer_t<decltype(pointer)>>::type;
        if constexpr (std::is_same_v<T, bool>) {
          const auto value = parse_bool(text);
          if (!value) throw refuse();
          assign(row, *value, where);
        } else if constexpr (std::is_same_v<T, Index> || std::is_same_v<T, double>) {
          const auto value = parse_number<T>(text);
          if (!value) throw refuse();
          assign(row, *value, where);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          assign(row, std::vector<std::string>{text}, where);
        } else {
          assign(row, text, where);
        }
      },
      row.option.target);
}

void VerbOptions::assign(Row& row, const ConfigValue& value, const std::string& where) {
  const OptionRow& option = row.option;
  const auto refuse = [&]() -> UsageError {
    return UsageError(fmt::format("{} wants {}, not {}", where, wanted(option.target), in_quotes(to_string(value))));
  };
  const auto check_range = [&](double number) {
    if (!(number >= option.least && number <= option.most))
      throw UsageError(fmt::format("{} must be {}, not {}", where, range_text(option), to_string(value)));
  };
  std::visit(
      [&](auto* pointer) {
        using T = typename ValueOf<std::remove_pointer_t<decltype(pointer)>>::type;
        if constexpr (std::is_same_v<T, double>) {
          const Index* whole = std::get_if<Index>(&value);
          const double* decimal = std::get_if<double>(&value);
          if (whole == nullptr && decimal == nullptr) throw refuse();
          const double number = whole != nullptr ? static_cast<double>(*whole) : *decimal;
          if (!row.fallback || value != *row.fallback) check_range(number);
          *pointer = number;
        } else {
          const T* found = std::get_if<T>(&value);
          if (found == nullptr) throw refuse();
          if constexpr (std::is_same_v<T, Index>)
            if (!row.fallback || value != *row.fallback) check_range(static_cast<double>(*found));
          if constexpr (std::is_same_v<T, std::string>)
            if (!option.choices.empty() && std::ranges::find(option.choices, *found) == option.choices.end())
              throw UsageError(fmt::format("{} must be one of {}, not {}{}", where, fmt::join(option.choices, ", "),
                                           in_quotes(*found), did_you_mean(*found, option.choices)));
          *pointer = *found;
        }
      },
      option.target);
}

void VerbOptions::check_inputs() const {
  if (!inputs_) return;
  const std::size_t count = inputs_->target->size();
  if (count < inputs_->least) throw missing_inputs();
  if (count > inputs_->most)
    throw UsageError(fmt::format("{} takes {} {}, not {}: {} is too many; see `unfold {} --help`", verb_, inputs_->most,
                                 inputs_->placeholder, count, in_quotes((*inputs_->target)[inputs_->most]), verb_));
}

UsageError VerbOptions::missing_inputs() const {
  return UsageError(
      fmt::format("{} needs {}: {}; for example: {}", verb_, inputs_->placeholder, inputs_->help, examples_.front()));
}

bool VerbOptions::given(std::string_view name) const {
  const Row* row = find(name);
  return row != nullptr && row->given;
}

Keep VerbOptions::keep(std::string_view name) const {
  const Row* row = find(name);
  return row == nullptr ? Keep::nowhere : row->option.keep;
}

namespace {

/// Names of files need not be valid UTF-8; what is written down about a run must be.
ConfigValue in_valid_utf8(ConfigValue value) {
  if (auto* text = std::get_if<std::string>(&value)) *text = replace_invalid_utf8(*text);
  if (auto* texts = std::get_if<std::vector<std::string>>(&value))
    for (std::string& text : *texts) text = replace_invalid_utf8(text);
  return value;
}

}  // namespace

Config VerbOptions::config(Keep least) const {
  Config result;
  for (const Row& row : rows_) {
    if (row.option.keep == Keep::nowhere || row.option.keep < least) continue;
    if (auto value = read_target(row.option.target)) result.set(row.option.name, in_valid_utf8(std::move(*value)));
  }
  return result;
}

std::string VerbOptions::help() const {
  std::string text;
  for (const std::string& example : examples_)
    text += fmt::format("{}{}\n", &example == &examples_.front() ? "Example: " : "         ", example);
  text += fmt::format("\nunfold {}{}{} [options]\n  {}\n", verb_, inputs_ ? " " : "",
                      inputs_ ? inputs_->placeholder : "", summary_);
  if (inputs_) text += fmt::format("\n  {:<24} {}\n", inputs_->placeholder, inputs_->help);
  text += "\nOptions (also as UNFOLD_NAME in the environment and `name = value` in a --config file):\n";
  for (const Row& row : rows_) {
    const OptionRow& option = row.option;
    if (row.is_input || option.help.empty()) continue;
    std::string left = (option.letter.empty() ? "" : "-" + option.letter + ", ") + "--" + option.name;
    if (!option.placeholder.empty()) left += " " + option.placeholder;
    std::string fallback = option.default_text;
    if (fallback.empty() && row.fallback && !std::holds_alternative<bool>(*row.fallback))
      fallback = to_string(*row.fallback);
    text += fmt::format("  {:<24} {}{}\n", left, option.help,
                        fallback.empty() ? std::string() : fmt::format(" (default {})", fallback));
  }
  text += fmt::format("  {:<24} {}\n", "-h, --help", "this help");
  return text;
}

void check_environment(std::span<const std::string> known_options) {
  std::vector<std::string> known = {"UNFOLD_SIMD", "UNFOLD_DATA", "UNFOLD_BF16"};
  for (const std::string& name : known_options) known.push_back(VerbOptions::variable(name));
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string name(text.substr(0, text.find('=')));
    if (!name.starts_with("UNFOLD_") || std::ranges::find(known, name) != known.end()) continue;
    throw UsageError(
        fmt::format("the environment variable {} belongs to no option; unset it{}", name, did_you_mean(name, known)));
  }
}

}  // namespace unfold
