#pragma once
/// The options of one command as a table. Each row defines the command-line option --name, the environment variable
/// UNFOLD_NAME, the key `name` of a configuration file, and the default, which is the value of the target when the row
/// is added. The order of precedence is: command line, environment, --config, stored configuration, default.
///
/// Every error is a UsageError that names the source of the value and suggests the nearest name.

#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/formats/config.h"
#include "base/options/options.h"
#include "base/types.h"

namespace unfold {

/// Where the value of an option is stored after the command has ended.
enum class Keep {
  nowhere,
  run,    ///< in config.toml; may change when a run is resumed, because it does not affect the result
  fixed,  ///< in config.toml, and fixed for the run, but not in the card (file names)
  model   ///< like fixed, and in the model card
};

/// How a command uses the files that an option names.
enum class FileUse {
  none,      ///< the option does not name files
  data,      ///< read
  settings,  ///< read completely before the work begins
  model,     ///< read; the first one, or all, are run folders or model files
  written,   ///< written
  printed,   ///< written; "-" stands for standard output
  filled     ///< a folder that is created or filled
};

/// A file name given by the user, and the option that named it: "--out", or "DATA..." for a positional argument.
struct FileNamed {
  std::string by, path;
};

/// The definition of an option. The default may be outside the range [least, most].
struct OptionRow {
  std::string name;  ///< in kebab-case
  OptionTarget target;
  std::string placeholder = {};           ///< of the value in the help
  std::string help = {};                  ///< empty: the option is accepted but not listed
  std::vector<std::string> choices = {};  ///< if not empty, the only allowed values
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above_least = false;  ///< the lower limit itself is not allowed
  Keep keep = Keep::nowhere;
  std::string default_text = {};  ///< shown instead of the default
  std::string letter = {};        ///< short form: "o" for -o; kDigits for -1 .. -9, each of which is the value itself
  FileUse file = FileUse::none;
};
inline constexpr std::string_view kDigits = "1-9";

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

  /// Parses the arguments after the command name, without assigning values. Returns true if help was requested.
  bool read_arguments(std::span<const std::string> arguments);
  /// Assigns all targets. `stored` is a configuration that overrides the defaults. REQUIRES read_arguments.
  void resolve(const Config* stored = nullptr);

  /// Returns whether the value came from the command line, the environment or --config.
  bool given(std::string_view name) const;
  /// Throws UsageError if one of these options was given: "--NAME WHY; leave it out".
  void refuse(std::initializer_list<std::string_view> names, std::string_view why) const;
  /// The error for missing positional arguments, for commands that check this themselves.
  UsageError missing_inputs() const;
  /// Returns the current values of all rows whose `keep` is at least `least`. Options without a value are omitted.
  Config config(Keep least) const;
  Keep keep(std::string_view name) const;
  /// Returns the files with this use that the current values name, as given by the user, in the order of the rows.
  std::vector<FileNamed> files(FileUse use) const;

  const std::string& verb() const { return verb_; }
  std::string help() const;
  std::vector<std::string> names() const;  ///< names of all options, without positional arguments

  /// Returns UNFOLD_NAME for an option name.
  static std::string variable(std::string_view name);

 private:
  struct Row {
    Option option;
    std::string placeholder = {}, default_text = {}, letter = {};
    Keep keep = Keep::nowhere;
    FileUse file = FileUse::none;
    bool is_input = false;
    bool given = false;
  };
  Row* find(std::string_view name);
  const Row* find(std::string_view name) const;
  void assign_entries(const Config& config, const std::string& file, bool counts_as_given);
  void check_inputs() const;
  UsageError unknown_option(const std::string& argument) const;

  std::string verb_, summary_;
  std::vector<std::string> examples_;
  std::vector<Row> rows_;
  std::optional<InputsRow> inputs_;
  std::optional<std::string> config_file_;
  std::map<std::string, std::vector<std::string>, std::less<>> arguments_;
};

/// Checks the environment: variables of `known_options` and those used elsewhere in the project are allowed; any other
/// UNFOLD_* is a UsageError.
void check_environment(std::span<const std::string> known_options);

}  // namespace unfold
