#pragma once
/// Options described once. A struct of options has a function `describe(visitor, options)`; from it follow parsing,
/// help text, range checks and the canonical text:
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

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

struct Spec {
  std::string name;
  std::string size;  ///< the bare number, empty if there is none
  std::vector<std::pair<std::string, std::string>> values;
};

/// Throws UsageError showing the text and an example: empty name or key, a key twice, a second bare value.
Spec parse_spec(std::string_view text);
std::string to_string(const Spec& spec);

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
std::string to_string(const Limits& limits);    ///< "> 0", "0 to 1", "0 to below 1"

struct OptionHelp {
  std::string name, value, range, help;  ///< value: the present one, in a fresh struct the default
};

/// The visitor: references to the fields of a struct of options, which must outlive it.
class OptionTable {
 public:
  void operator()(std::string_view name, double& field, std::string_view help, Limits limits);
  void operator()(std::string_view name, Index& field, std::string_view help, Limits limits);
  void operator()(std::string_view name, bool& field, std::string_view help);
  template <class E>
  requires std::is_enum_v<E>
  void operator()(std::string_view name, E& field, std::string_view help,
                  std::initializer_list<std::pair<E, std::string_view>> choices) {
    std::vector<std::string> names;
    std::vector<E> values;
    for (const auto& [value, text] : choices) {
      values.push_back(value);
      names.emplace_back(text);
    }
    E* at = &field;
    add_choice(
        name, help, names, [at, values](std::size_t i) { *at = values[i]; },
        [at, values] {
          std::size_t i = 0;
          while (values[i] != *at) ++i;
          return i;
        });
  }

  /// Throws UsageError naming `who`: an unknown option (with the nearest name), a value out of range or malformed.
  void set(std::string_view who, std::string_view name, std::string_view value);
  std::vector<OptionHelp> help() const;

 private:
  struct Slot {
    std::string name, help, range;
    std::function<bool(std::string_view)> set;  ///< false when the value is malformed or out of range
    std::function<std::string()> get;
  };
  void add_choice(std::string_view name, std::string_view help, const std::vector<std::string>& names,
                  const std::function<void(std::size_t)>& set, const std::function<std::size_t()>& get);
  std::vector<Slot> slots_;
};

/// Sets the fields that a SPEC names. Throws UsageError as OptionTable::set.
template <class Options>
void parse_options(const Spec& spec, Options& options) {
  OptionTable table;
  describe(table, options);
  for (const auto& [key, value] : spec.values) table.set(spec.name, key, value);
}

template <class Options>
std::vector<OptionHelp> help_of(Options options) {
  OptionTable table;
  describe(table, options);
  return table.help();
}

/// A number in its shortest exact form.
std::string format_number(double x);

}  // namespace unfold
