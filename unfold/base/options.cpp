#include "unfold/base/options.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "unfold/base/error.h"
#include "unfold/base/text_distance.h"

namespace unfold {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class Number>
bool parse_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

[[noreturn]] void malformed(std::string_view text, const std::string& what) {
  throw UsageError(
      fmt::format("SPEC \"{}\": {}; a SPEC is name:key=value,key=value, for example "
                  "lstm:512,layers=2 or adam:rate=0.002,clip=1",
                  text, what));
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
      if (!first || entry.empty()) malformed(text, fmt::format("\"{}\" is not of the form key=value", entry));
      spec.size = entry;
    } else {
      std::string key(entry.substr(0, equals)), value(entry.substr(equals + 1));
      if (key.empty() || value.empty()) malformed(text, fmt::format("\"{}\" lacks a key or a value", entry));
      for (const auto& [known, unused] : spec.values)
        if (known == key) malformed(text, fmt::format("\"{}\" is given twice", key));
      spec.values.emplace_back(std::move(key), std::move(value));
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

Limits above(double low) { return {low, kInfinity, true, true}; }
Limits at_least(double low) { return {low, kInfinity, false, true}; }
Limits range(double low, double high) { return {low, high, false, false}; }
Limits from_to_below(double low, double high) { return {low, high, false, true}; }

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

void OptionTable::operator()(std::string_view name, double& field, std::string_view help, Limits limits) {
  double* at = &field;
  slots_.push_back({std::string(name), std::string(help), to_string(limits),
                    [at, limits](std::string_view text) {
                      double value = 0;
                      if (!parse_number(text, value) || !limits.contains(value)) return false;
                      *at = value;
                      return true;
                    },
                    [at] { return format_number(*at); }});
}

void OptionTable::operator()(std::string_view name, Index& field, std::string_view help, Limits limits) {
  Index* at = &field;
  slots_.push_back({std::string(name), std::string(help), "whole number, " + to_string(limits),
                    [at, limits](std::string_view text) {
                      Index value = 0;
                      if (!parse_number(text, value) || !limits.contains(static_cast<double>(value))) return false;
                      *at = value;
                      return true;
                    },
                    [at] { return std::to_string(*at); }});
}

void OptionTable::operator()(std::string_view name, bool& field, std::string_view help) {
  bool* at = &field;
  slots_.push_back({std::string(name), std::string(help), "true or false",
                    [at](std::string_view text) {
                      if (text != "true" && text != "false") return false;
                      *at = text == "true";
                      return true;
                    },
                    [at] { return std::string(*at ? "true" : "false"); }});
}

void OptionTable::add_choice(std::string_view name, std::string_view help, const std::vector<std::string>& names,
                             const std::function<void(std::size_t)>& set, const std::function<std::size_t()>& get) {
  std::string listed;
  for (const std::string& choice : names) listed += (listed.empty() ? "" : "|") + choice;
  slots_.push_back({std::string(name), std::string(help), listed,
                    [names, set](std::string_view text) {
                      for (std::size_t i = 0; i < names.size(); ++i) {
                        if (names[i] != text) continue;
                        set(i);
                        return true;
                      }
                      return false;
                    },
                    [names, get] { return names[get()]; }});
}

void OptionTable::set(std::string_view who, std::string_view name, std::string_view value) {
  std::vector<std::string> names;
  for (Slot& slot : slots_) {
    names.push_back(slot.name);
    if (slot.name != name) continue;
    if (!slot.set(value))
      throw UsageError(fmt::format("{}: option {}={} is not possible; {}: {}", who, name, value, name, slot.range));
    return;
  }
  std::string message = fmt::format("{} has no option \"{}\"{}", who, name, did_you_mean(name, names));
  std::string listed;
  for (const std::string& known : names) listed += (listed.empty() ? "" : ", ") + known;
  throw UsageError(message + " (options: " + listed + ")");
}

std::vector<OptionHelp> OptionTable::help() const {
  std::vector<OptionHelp> result;
  for (const Slot& slot : slots_) result.push_back({slot.name, slot.get(), slot.range, slot.help});
  return result;
}

}  // namespace unfold
