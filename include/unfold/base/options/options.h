#pragma once
/// Option descriptions. An option consists of a name, a pointer to its value, the allowed values and a help text. SPECs
/// (below) and the options of the command are both tables of options.
///
/// A struct of options has a function `describe(visitor, options)`. Parsing, help text, range checks and the canonical
/// text are derived from it:
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

#include "unfold/base/error.h"
#include "unfold/base/formats/config.h"
#include "unfold/base/types.h"

namespace unfold {

/// The range of numbers that an option accepts.
struct Limits {
  double low, high;
  bool low_open, high_open;
  bool contains(double x) const {
    return (low_open ? x > low : x >= low) && (high_open ? x < high : x <= high);  // false for NaN
  }
};
Limits above(double low);                         ///< (low, inf)
Limits at_least(double low);                      ///< [low, inf)
Limits range(double low, double high);            ///< [low, high]
Limits half_open_range(double low, double high);  ///< [low, high)
std::string to_string(const Limits& limits);      ///< "above 0", "0 to 1", "0 to below 1"

/// Target for an option with several choices, of any type. A choice is set and read by its index.
struct ChoiceTarget {
  std::function<void(std::size_t)> set;
  std::function<std::size_t()> get;
};

/// Pointer to the value of an option; the value must outlive the option. An empty std::optional means that no value is
/// set.
using OptionTarget =
    std::variant<bool*, Index*, double*, std::string*, std::vector<std::string>*, std::optional<Index>*,
                 std::optional<double>*, std::optional<std::string>*, ChoiceTarget>;
using OptionValue = ConfigValue;

struct Option {
  std::string name;
  OptionTarget target;
  std::string help;
  std::optional<Limits> limits = {};         ///< limits of a number; without limits, any number is allowed
  std::vector<std::string> choices = {};     ///< if not empty, the only strings allowed
  std::optional<OptionValue> fallback = {};  ///< default value; allowed even if it is outside the limits
};

enum class OptionFault { none, malformed, out_of_range, no_choice };

/// Accepted spellings of true and false.
enum class BoolWords {
  plain,  ///< true, false
  many    ///< true, false, 1, 0, yes, no, on, off; an empty string means false
};

/// Parses a string as the type of the target. Returns std::nullopt if it is malformed.
std::optional<OptionValue> parse_value(const Option& option, std::string_view text, BoolWords words);
/// Sets the target. If the value is invalid, returns the fault and leaves the target unchanged. Integers are accepted
/// for floating-point options.
OptionFault set_value(const Option& option, const OptionValue& value);
/// Returns the current value of the target, or std::nullopt if the target is an empty std::optional.
std::optional<OptionValue> value_of(const Option& option);
/// Resets the target to the empty or zero value of its type, or to the first choice if it has choices.
void clear_value(const Option& option);
std::string wanted(const Option& option);          ///< "a whole number", "true or false"
std::string allowed_values(const Option& option);  ///< all allowed values: "whole number, 1 to 9", "red|green"

/// Sets the target. Throws a UsageError that begins with `where`, the origin of the value ("option --batch",
/// "unfold.toml:3: batch"), and describes the allowed values; for a choice, it suggests the nearest one.
void set_option(const Option& option, const OptionValue& value, std::string_view where);
/// Like set_option, but parses the value from a string; accepts all spellings of true and false.
void set_option_from_text(const Option& option, std::string_view text, std::string_view where);

struct Spec {
  std::string name;
  std::string size;  ///< the bare number; empty if missing
  std::vector<std::pair<std::string, std::string>> values;
};

/// Parses a SPEC. Throws a UsageError that shows the text and an example if a name or key is empty, a key occurs twice,
/// or there is a second bare value.
Spec parse_spec(std::string_view text);
std::string to_string(const Spec& spec);
/// Returns the name of a SPEC, even if the rest is malformed.
std::string_view spec_name(std::string_view text);

struct OptionHelp {
  std::string name, value, range, help;  ///< `value` is the current value (the default, in a new struct)
};

/// The visitor of `describe`: references to the members of a struct of options, which must outlive it.
class OptionTable {
 public:
  void operator()(std::string_view name, double& field, std::string_view help, Limits limits);
  void operator()(std::string_view name, Index& field, std::string_view help, Limits limits);
  void operator()(std::string_view name, bool& field, std::string_view help);
  /// An option with a fixed set of values, each selected by a name.
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

  /// Sets one option. Throws a UsageError that names `who` if the option is unknown (with the nearest name), or if the
  /// value is out of range or malformed.
  void set(std::string_view who, std::string_view name, std::string_view value);
  /// Sets all options of a SPEC. `main` is the option that the bare number sets; if it is empty, a bare number is an
  /// error.
  void set(const Spec& spec, std::string_view main = {});
  std::vector<OptionHelp> help() const;

 private:
  std::vector<Option> options_;
};

/// Type-erased struct of options with value semantics, for registries.
class AnyOptions {
 public:
  AnyOptions() = default;  ///< no options
  template <class Options>
  requires(!std::same_as<Options, AnyOptions>)  //
      AnyOptions(Options options)               // NOLINT(google-explicit-constructor): it is that value
      : value_(std::move(options)),
        describe_([](OptionTable& table, std::any& value) { describe(table, *std::any_cast<Options>(&value)); }) {}

  /// Returns the options as this type. Throws UsageError if the object holds a different type.
  template <class Options>
  Options& as() {
    auto* const options = std::any_cast<Options>(&value_);
    return options != nullptr ? *options : throw wrong_type();
  }
  template <class Options>
  const Options& as() const {
    const auto* const options = std::any_cast<Options>(&value_);
    return options != nullptr ? *options : throw wrong_type();
  }
  friend void describe(OptionTable& table, AnyOptions& options) {
    if (options.describe_ != nullptr) options.describe_(table, options.value_);
  }

 private:
  static UsageError wrong_type();

  std::any value_;
  void (*describe_)(OptionTable&, std::any&) = nullptr;
};

/// The options type of entries without options.
struct NoOptions {};
template <class Visitor>
void describe(Visitor&, NoOptions&) {}

/// Sets the members that a SPEC names. Throws UsageError like OptionTable::set.
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

/// Compares two lists of the same options; returns those whose values differ, as SPEC values.
std::vector<std::pair<std::string, std::string>> non_default_values(const std::vector<OptionHelp>& values,
                                                                    const std::vector<OptionHelp>& defaults);

/// Formats a number in its shortest exact form.
std::string format_number(double x);

}  // namespace unfold
