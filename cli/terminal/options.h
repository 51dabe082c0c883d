#pragma once
/// The options of one command, made of rows (base/options/option_row.h). Each row defines the command-line option
/// --name, the environment variable UNFOLD_NAME, the key `name` of a configuration file, and the default, which is the
/// value of the target when the row is added. The order of precedence is: command line, environment, --config, stored
/// configuration, default.
///
/// Every error is a UsageError that names the source of the value and suggests the nearest name.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options/option_row.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/config.h"
#include "unfold/base/types.h"

namespace unfold {

/// A file name given by the user, and the option that named it: "--out", or "DATA..." for a positional argument.
struct FileNamed {
  std::string by, path;
};

/// The definition of positional arguments.
struct InputsRow {
  std::string name;  ///< key in a configuration file; positional arguments have no environment variable
  std::vector<std::string>* target;
  std::string placeholder;
  std::string help;
  std::size_t least = 1, most = 1;
  Keep keep = Keep::nowhere;
  FileUse file = FileUse::none;
};

class CommandOptions {
 public:
  /// `examples`: complete commands, shown at the beginning of the help.
  CommandOptions(std::string verb, std::string summary, std::vector<std::string> examples);

  void add(OptionRow row);
  void add_inputs(InputsRow row);
  /// Adds --config, --json and --quiet, which every command has. `prints_json`: false for a command that rejects --json
  /// because it has a different option for it.
  void add_common(bool& json, bool& quiet, bool prints_json = true);

  /// Parses the arguments after the command name, without assigning values. Returns true if help was requested, with
  /// --help or --help-all.
  bool read_arguments(std::span<const std::string> arguments);
  /// Assigns all targets. `stored` is a configuration that overrides the defaults. REQUIRES read_arguments.
  void resolve(const Config* stored = nullptr);

  /// Returns whether the value came from the command line, the environment or --config.
  bool given(std::string_view name) const;
  /// Like the function above, for the option that sets `target`. REQUIRES that a row has this target.
  template <class T>
  bool is_given(const T& target) const {
    return is_set(row_at(&target));
  }
  template <class... T>
  bool any_given(const T&... targets) const {
    return (is_given(targets) || ...);
  }
  /// Throws UsageError if an option that sets one of these targets was given: "--NAME WHY; omit --NAME".
  template <class... T>
  void refuse(std::string_view why, const T&... targets) const {
    for (const void* target : {static_cast<const void*>(&targets)...}) refuse_row(row_at(target), why);
  }
  /// Throws UsageError if an option was given that does not apply to `kind`. `here`: a description of the actual data
  /// for the message, such as "this model reads data with fields".
  void require_kind(Kind kind, std::string_view here) const;
  /// Returns the error for missing positional arguments, for commands that check this themselves.
  UsageError missing_inputs() const;
  /// Returns the current values of all rows whose `keep` is at least `least`. Options without a value are omitted.
  Config config(Keep least) const;
  /// Returns the files with this use that the current values name, as given by the user, in the order of the rows.
  std::vector<FileNamed> files(FileUse use) const;

  const std::string& verb() const { return verb_; }
  /// Returns the help: examples, arguments, and the common options or all of them, by group. After read_arguments, the
  /// default is what was requested.
  std::string help() const { return help(all_requested_); }
  std::string help(bool all) const;
  const std::string& summary() const { return summary_; }
  const std::vector<std::string>& examples() const { return examples_; }
  const OptionRows& rows() const { return rows_; }
  std::vector<std::string> names() const;  ///< names of all options, without positional arguments

  /// Returns UNFOLD_NAME for an option name.
  static std::string variable(std::string_view name);

 private:
  struct State {
    Option option;
    bool given = false;
  };
  State& state(const OptionRow& row) { return states_[static_cast<std::size_t>(&row - rows_.data())]; }
  const State& state(const OptionRow& row) const { return const_cast<CommandOptions*>(this)->state(row); }
  bool is_set(const OptionRow& row) const { return state(row).given; }
  const OptionRow& row_at(const void* target) const;
  void refuse_row(const OptionRow& row, std::string_view why) const;
  void assign_entries(const Config& config, const std::string& file, bool counts_as_given);
  void check_inputs() const;
  UsageError unknown_option(const std::string& argument) const;
  std::string canonical_word(const std::string& word) const;
  bool lists_all() const;  ///< whether no option is marked as common; --help then lists all options
  std::string listed(bool all) const;

  std::string verb_, summary_;
  std::vector<std::string> examples_;
  OptionRows rows_;
  std::vector<State> states_;  // states, by row
  bool all_requested_ = false;
  std::optional<InputsRow> inputs_;
  std::optional<std::string> config_file_;
  std::map<std::string, std::vector<std::string>, std::less<>> arguments_;
};

/// Checks the environment: variables of `known_options` and those used elsewhere in the project are allowed; any other
/// UNFOLD_* is a UsageError.
void check_environment(std::span<const std::string> known_options);

}  // namespace unfold
