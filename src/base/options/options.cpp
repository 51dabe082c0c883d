#include "unfold/base/options/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/options/option_aliases.h"
#include "base/options/suggestions.h"
#include "base/printable.h"

namespace unfold {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class Number>
std::optional<OptionValue> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Accepts the suffixes of large numbers: 10k, 1.5M and 2G are thousands, millions and billions.
template <class Number>
std::optional<OptionValue> parse_large_number(std::string_view text) {
  constexpr std::string_view kLetters = "kMG";
  const std::size_t letter = text.empty() ? std::string_view::npos : kLetters.find(text.back());
  if (letter == std::string_view::npos) return parse_number<Number>(text);
  const auto count = parse_number<double>(text.substr(0, text.size() - 1));
  if (!count) return std::nullopt;
  const double value = std::get<double>(*count) * std::array{1e3, 1e6, 1e9}[letter];
  const bool fits = std::fabs(value) < 9e18 && (std::is_same_v<Number, double> || value == std::floor(value));
  return fits ? std::optional<OptionValue>(static_cast<Number>(value)) : std::nullopt;
}

/// The value type of a target, without std::optional.
template <class T>
struct Inner {
  using type = T;
};

template <class T>
struct Inner<std::optional<T>> {
  using type = T;
};

template <class Pointer>
using ValueAt = typename Inner<std::remove_pointer_t<Pointer>>::type;

std::optional<bool> parse_bool(std::string_view text, BoolWords words) {
  if (text == "true") return true;
  if (text == "false") return false;
  if (words == BoolWords::plain) return std::nullopt;
  for (const char* yes : {"1", "yes", "on"})
    if (text == yes) return true;
  for (const char* no : {"0", "no", "off", ""})
    if (text == no) return false;
  return std::nullopt;
}

bool allowed(const Option& option, const OptionValue& value, double number) {
  return !option.limits || option.limits->contains(number) || value == option.fallback;
}

/// Formats limits for a message: "must be at least 1".
std::string metric_name(const Limits& limits) {
  if (std::isinf(limits.high)) return fmt::format("{} {}", limits.low_open ? "above" : "at least", limits.low);
  const char* below = limits.high_open ? "below" : "at most";
  if (std::isinf(limits.low)) return fmt::format("{} {}", below, limits.high);
  if (!limits.low_open && !limits.high_open) return fmt::format("between {} and {}", limits.low, limits.high);
  return fmt::format("{} {} and {} {}", limits.low_open ? "above" : "at least", limits.low, below, limits.high);
}

[[noreturn]] void malformed(std::string_view text, const std::string& what) {
  throw UsageError(
      fmt::format("SPEC {}: {}; a SPEC is name:key=value,key=value, for example "
                  "lstm:512,layers=2 or adam:rate=0.002,clip=1",
                  in_quotes(text), what));
}

}  // namespace

Spec parse_spec(std::string_view text) {
  Spec spec;
  const std::size_t colon = text.find(':');
  spec.name = text.substr(0, colon);
  if (spec.name.empty()) malformed(text, "the name is missing");
  if (colon == std::string_view::npos) return spec;
  std::string_view rest = text.substr(colon + 1);
  for (bool first = true;; first = false) {
    const std::size_t comma = rest.find(',');
    const std::string_view entry = rest.substr(0, comma);
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) {
      if (!first || entry.empty()) malformed(text, in_quotes(entry) + " is not of the form key=value");
      spec.size = entry;
    } else {
      std::string key(entry.substr(0, equals)), value(entry.substr(equals + 1));
      if (key.empty() || value.empty()) malformed(text, in_quotes(entry) + " has no key or no value");
      for (const auto& [known, unused] : spec.values)
        if (name_the_same(known, key)) malformed(text, in_quotes(known) + " is given twice");
      if (is_main_size(key)) {
        if (!spec.size.empty()) malformed(text, fmt::format("\"{}\" sets the size, which is given twice", key));
        spec.size = std::move(value);
      } else {
        spec.values.emplace_back(std::move(key), std::move(value));
      }
    }
    if (comma == std::string_view::npos) return spec;
    rest.remove_prefix(comma + 1);
  }
}

std::string to_string(const Spec& spec) {
  std::string text = spec.name;
  char separator = ':';
  if (!spec.size.empty()) {
    text += separator + spec.size;
    separator = ',';
  }
  for (const auto& [key, value] : spec.values) {
    text += separator + key + '=' + value;
    separator = ',';
  }
  return text;
}

std::string_view spec_name(std::string_view text) { return text.substr(0, text.find(':')); }

Limits above(double low) { return {low, kInfinity, true, true}; }
Limits at_least(double low) { return {low, kInfinity, false, true}; }
Limits range(double low, double high) { return {low, high, false, false}; }
Limits half_open_range(double low, double high) { return {low, high, false, true}; }

std::string to_string(const Limits& limits) {
  const std::string low = format_number(limits.low), high = format_number(limits.high);
  if (limits.high == kInfinity) return (limits.low_open ? "above " : "at least ") + low;
  return low + " to " + (limits.high_open ? "below " : "") + high;
}

std::string format_number(double x) {
  char buffer[40];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, x);
  return {buffer, result.ptr};
}

std::optional<OptionValue> parse_value(const Option& option, std::string_view text, BoolWords words) {
  return std::visit(
      [&]<class Target>(const Target&) -> std::optional<OptionValue> {
        if constexpr (std::is_same_v<Target, ChoiceTarget>) {
          return std::string(text);
        } else {
          using T = ValueAt<Target>;
          if constexpr (std::is_same_v<T, bool>) return parse_bool(text, words);
          if constexpr (std::is_same_v<T, Index> || std::is_same_v<T, double>)
            return words == BoolWords::many ? parse_large_number<T>(text) : parse_number<T>(text);
          if constexpr (std::is_same_v<T, std::string>) return std::string(text);
          return std::vector<std::string>{std::string(text)};
        }
      },
      option.target);
}

OptionFault set_value(const Option& option, const OptionValue& value) {
  return std::visit(
      [&]<class Target>(const Target& target) {
        if constexpr (std::is_same_v<Target, ChoiceTarget>) {
          const auto* text = std::get_if<std::string>(&value);
          if (text == nullptr) return OptionFault::malformed;
          const auto found = std::ranges::find(option.choices, *text);
          if (found == option.choices.end()) return OptionFault::no_choice;
          target.set(static_cast<std::size_t>(found - option.choices.begin()));
          return OptionFault::none;
        } else {
          using T = ValueAt<Target>;
          const Index* whole = std::get_if<Index>(&value);
          const T* found = std::get_if<T>(&value);
          if constexpr (std::is_same_v<T, double>) {
            if (found == nullptr && whole == nullptr) return OptionFault::malformed;
            const double number = found != nullptr ? *found : static_cast<double>(*whole);
            if (!allowed(option, value, number)) return OptionFault::out_of_range;
            *target = number;
          } else {
            if (found == nullptr) return OptionFault::malformed;
            if constexpr (std::is_same_v<T, Index>)
              if (!allowed(option, value, static_cast<double>(*found))) return OptionFault::out_of_range;
            if constexpr (std::is_same_v<T, std::string>)
              if (!option.choices.empty() && std::ranges::find(option.choices, *found) == option.choices.end())
                return OptionFault::no_choice;
            *target = *found;
          }
          return OptionFault::none;
        }
      },
      option.target);
}

std::optional<OptionValue> value_of(const Option& option) {
  return std::visit(
      [&]<class Target>(const Target& target) -> std::optional<OptionValue> {
        if constexpr (std::is_same_v<Target, ChoiceTarget>) {
          return option.choices[target.get()];
        } else if constexpr (std::is_same_v<std::remove_pointer_t<Target>, ValueAt<Target>>) {
          return *target;
        } else {
          if (!target->has_value()) return std::nullopt;
          return **target;
        }
      },
      option.target);
}

void clear_value(const Option& option) {
  std::visit(
      []<class Target>(const Target& target) {
        if constexpr (std::is_same_v<Target, ChoiceTarget>)
          target.set(0);
        else
          *target = std::remove_pointer_t<Target>();
      },
      option.target);
}

std::string wanted(const Option& option) {
  return std::visit(
      []<class Target>(const Target&) -> std::string {
        if constexpr (!std::is_same_v<Target, ChoiceTarget>) {
          using T = ValueAt<Target>;
          if constexpr (std::is_same_v<T, bool>) return "true or false";
          if constexpr (std::is_same_v<T, Index>) return "a whole number";
          if constexpr (std::is_same_v<T, double>) return "a number";
          if constexpr (std::is_same_v<T, std::vector<std::string>>) return "a list of strings";
        }
        return "a string";
      },
      option.target);
}

std::string allowed_values(const Option& option) {
  if (!option.choices.empty()) return fmt::format("{}", fmt::join(option.choices, "|"));
  if (!option.limits) return wanted(option);
  const bool whole =
      std::holds_alternative<Index*>(option.target) || std::holds_alternative<std::optional<Index>*>(option.target);
  return (whole ? "whole number, " : "") + to_string(*option.limits);
}

void set_option(const Option& option, const OptionValue& value, std::string_view where) {
  switch (set_value(option, value)) {
    case OptionFault::none: return;
    case OptionFault::malformed:
      throw UsageError(fmt::format("{} must be {}, not {}", where, wanted(option), in_quotes(to_string(value))));
    case OptionFault::out_of_range:
      throw UsageError(fmt::format("{} must be {}, not {}", where, metric_name(*option.limits), to_string(value)));
    case OptionFault::no_choice: break;
  }
  const std::string text = to_string(value);
  throw UsageError(fmt::format("{} must be one of {}, not {}{}", where, fmt::join(option.choices, ", "),
                               in_quotes(text), did_you_mean(text, option.choices)));
}

void set_option_from_text(const Option& option, std::string_view text, std::string_view where) {
  const auto value = parse_value(option, text, BoolWords::many);
  if (!value) throw UsageError(fmt::format("{} must be {}, not {}", where, wanted(option), in_quotes(text)));
  set_option(option, *value, where);
}

void OptionTable::operator()(std::string_view name, double& field, std::string_view help, Limits limits) {
  add({.name = std::string(name), .target = &field, .help = std::string(help), .limits = limits});
}

void OptionTable::operator()(std::string_view name, Index& field, std::string_view help, Limits limits) {
  add({.name = std::string(name), .target = &field, .help = std::string(help), .limits = limits});
}

void OptionTable::operator()(std::string_view name, bool& field, std::string_view help) {
  add({.name = std::string(name), .target = &field, .help = std::string(help)});
}

void OptionTable::set(std::string_view who, std::string_view name, std::string_view value) {
  std::vector<std::string> names;
  for (const Option& option : options_) names.push_back(option.name);
  const std::string meant = name_behind(name, names);
  for (const Option& option : options_) {
    if (option.name != meant) continue;
    const auto parsed = parse_value(option, value, BoolWords::plain);
    if (!parsed || set_value(option, *parsed) != OptionFault::none)
      throw UsageError(fmt::format("{}: invalid option {}={}; {}: {}", who, name, value, name, allowed_values(option)));
    return;
  }
  throw UsageError(fmt::format("{} has no option {}{} (options: {})", who, in_quotes(name), did_you_mean(name, names),
                               fmt::join(names, ", ")));
}

void OptionTable::set(const Spec& spec, std::string_view main) {
  if (!spec.size.empty()) set(spec.name, main.empty() ? spec.size : main, spec.size);
  for (const auto& [key, value] : spec.values) set(spec.name, key, value);
}

std::vector<OptionHelp> OptionTable::help() const {
  std::vector<OptionHelp> result;
  for (const Option& option : options_) {
    const std::optional<OptionValue> value = value_of(option);
    const double* decimal = value ? std::get_if<double>(&*value) : nullptr;
    const std::string text = decimal != nullptr ? format_number(*decimal) : value ? to_string(*value) : "";
    result.push_back({option.name, text, allowed_values(option), option.help});
  }
  return result;
}

UsageError AnyOptions::wrong_type() { return UsageError("the options belong to a different entry of the registry"); }

std::vector<std::pair<std::string, std::string>> non_default_values(const std::vector<OptionHelp>& values,
                                                                    const std::vector<OptionHelp>& defaults) {
  std::vector<std::pair<std::string, std::string>> result;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].value != defaults[i].value) result.emplace_back(values[i].name, values[i].value);
  return result;
}

}  // namespace unfold
