#pragma once
/// Options described once. An option is a name, a place for its value, what the value may be, and what it is for; SPECs
/// (below) and the options of the command (terminal/options.h) are both tables of them.
///
/// A struct of options has a function `describe(visitor, options)`; from it follow parsing, help text, range checks and
/// the canonical text:
///
///   struct AdamOptions { double rate = 0.002; ... };
///   template <class Visitor>
///   void describe(Visitor& v, AdamOptions& o) {
///     v("rate", o.rate, "step size", above(0));
///   }
///
///   AdamOptions options;
///   parse_options(parse_spec("adam:rate=0.001"), options);
///
/// A SPEC is `name:key=value,key=value`; the first value may be a bare number, the main size: `lstm:512,layers=2`.

#include <any>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "unfold/base/config.h"
#include "unfold/base/types.h"

namespace unfold {

/// The numbers an option may take.
struct Limits {
  double low, high;
  bool low_open, high_open;
  bool contains(double x) const {
    return (low_open ? x > low : x >= low) && (high_open ? x < high : x <= high);  // false for NaN
  }
};
Limits above(double low);                       ///< (low, inf)
Limits at_least(double low);                    ///< [low, inf)
Limits range(double low, double high);          ///< [low, high]
Limits from_to_below(double low, double high);  ///< [low, high)
std::string to_string(const Limits& limits);    ///< "above 0", "0 to 1", "0 to below 1"

/// A target of any type that holds one of several choices, by their number.
struct ChoiceTarget {
  std::function<void(std::size_t)> set;
  std::function<std::size_t()> get;
};

/// Where the value of an option goes; it must outlive the option. An empty optional: no value.
using OptionTarget =
    std::variant<bool*, Index*, double*, std::string*, std::vector<std::string>*, std::optional<Index>*,
                 std::optional<double>*, std::optional<std::string>*, ChoiceTarget>;
using OptionValue = ConfigValue;

/// One option.
struct Option {
  std::string name;
  OptionTarget target;
  std::string help;
  std::optional<Limits> limits = {};         ///< of numbers; none: any number
  std::vector<std::string> choices = {};     ///< when not empty: the only texts allowed
  std::optional<OptionValue> fallback = {};  ///< the default; allowed whatever the limits say
};

enum class OptionFault { none, malformed, out_of_range, no_choice };

/// How true and false may be written.
enum class BoolWords {
  plain,  ///< true, false
  many    ///< also 1, 0, yes, no, on, off, and nothing for false
};

/// The value that a text stands for, of the type of the target; nothing when it is malformed.
std::optional<OptionValue> parse_value(const Option& option, std::string_view text, BoolWords words);
/// Sets the target, or says why not and changes nothing. A whole number is welcome where a decimal is wanted.
OptionFault set_value(const Option& option, const OptionValue& value);
/// What the target holds; nothing for an empty optional.
std::optional<OptionValue> value_of(const Option& option);
/// Back to the value of its type that is empty or zero. Of choices: the first.
void clear_value(const Option& option);
std::string wanted(const Option& option);      ///< "a whole number", "true or false"
std::string range_text(const Option& option);  ///< all that is allowed: "whole number, 1 to 9", "red|green"

/// Sets the target. Throws UsageError that begins with `where`, the place the value came from ("option --batch",
/// "unfold.toml:3: batch"), and says what is wanted; for a choice, with the nearest one.
void set_option(const Option& option, const OptionValue& value, std::string_view where);
/// The same for text, where true and false may be written in many ways.
void set_option_from_text(const Option& option, std::string_view text, std::string_view where);

struct Spec {
  std::string name;
  std::string size;  ///< the bare number, empty if there is none
  std::vector<std::pair<std::string, std::string>> values;
};

/// Throws UsageError showing the text and an example: empty name or key, a key twice, a second bare value.
Spec parse_spec(std::string_view text);
std::string to_string(const Spec& spec);
/// The name of a SPEC, even of a malformed one.
std::string_view spec_name(std::string_view text);

struct OptionHelp {
  std::string name, value, range, help;  ///< value: the present one, in a fresh struct the default
};

/// The visitor: references to the fields of a struct of options, which must outlive it.
class OptionTable {
 public:
  void operator()(std::string_view name, double& field, std::string_view help, Limits limits);
  void operator()(std::string_view name, Index& field, std::string_view help, Limits limits);
  void operator()(std::string_view name, bool& field, std::string_view help);
  /// A field that has one of a few values, each with a word of its own.
  template <class E>
  requires(std::is_enum_v<E> || std::same_as<E, bool>)  //
      void
      operator()(std::string_view name, E& field, std::string_view help,
                 std::initializer_list<std::pair<E, std::string_view>> choices) {
    std::vector<std::string> names;
    std::vector<E> values;
    for (const auto& [value, text] : choices) {
      values.push_back(value);
      names.emplace_back(text);
    }
    E* at = &field;
    ChoiceTarget target{.set = [at, values](std::size_t i) { *at = values[i]; },
                        .get =
                            [at, values] {
                              std::size_t i = 0;
                              while (values[i] != *at) ++i;
                              return i;
                            }};
    add({.name = std::string(name),
         .target = std::move(target),
         .help = std::string(help),
         .choices = std::move(names)});
  }
  void add(Option option) { options_.push_back(std::move(option)); }

  /// Throws UsageError naming `who`: an unknown option (with the nearest name), a value out of range or malformed.
  void set(std::string_view who, std::string_view name, std::string_view value);
  /// Everything that a SPEC says. `main` is the option that its bare number sets; empty: it has none.
  void set(const Spec& spec, std::string_view main = {});
  std::vector<OptionHelp> help() const;

 private:
  std::vector<Option> options_;
};

/// A struct of options of any type, by value: what a registry can hold without knowing it.
class AnyOptions {
 public:
  AnyOptions() = default;  ///< no options
  template <class Options>
  requires(!std::same_as<Options, AnyOptions>)  //
      AnyOptions(Options options)               // NOLINT(google-explicit-constructor): it is that value
      : value_(std::move(options)),
        describe_([](OptionTable& table, std::any& value) { describe(table, *std::any_cast<Options>(&value)); }) {}

  /// REQUIRES that it holds this type: std::bad_any_cast otherwise.
  template <class Options>
  Options& as() {
    return std::any_cast<Options&>(value_);
  }
  template <class Options>
  const Options& as() const {
    return std::any_cast<const Options&>(value_);
  }
  friend void describe(OptionTable& table, AnyOptions& options) {
    if (options.describe_ != nullptr) options.describe_(table, options.value_);
  }

 private:
  std::any value_;
  void (*describe_)(OptionTable&, std::any&) = nullptr;
};

/// For what has no options.
struct NoOptions {};
template <class Visitor>
void describe(Visitor&, NoOptions&) {}

/// Sets the fields that a SPEC names. Throws UsageError as OptionTable::set.
template <class Options>
void parse_options(const Spec& spec, Options& options, std::string_view main = {}) {
  OptionTable table;
  describe(table, options);
  table.set(spec, main);
}

template <class Options>
std::vector<OptionHelp> help_of(Options options) {
  OptionTable table;
  describe(table, options);
  return table.help();
}

/// What differs between two lists of the same options, as the values of a SPEC.
std::vector<std::pair<std::string, std::string>> changed_values(const std::vector<OptionHelp>& values,
                                                                const std::vector<OptionHelp>& defaults);

/// A number in its shortest exact form.
std::string format_number(double x);

}  // namespace unfold
