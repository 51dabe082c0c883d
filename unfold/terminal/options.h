#pragma once
/// The options of one verb as a table. Each row drives four things alike: the option --name of the command line, the
/// variable UNFOLD_NAME of the environment, the key `name` of a configuration file, and the default (what the target
/// holds when the row is added). The command line wins over the environment, that over --config, that over a stored
/// configuration, that over the default.
///
/// Every error is a UsageError that names where the value came from and suggests the nearest name.

#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/config.h"
#include "unfold/base/error.h"
#include "unfold/base/options.h"
#include "unfold/base/types.h"

namespace unfold {

/// Where the value of an option is kept after the command has ended.
enum class Keep {
  nowhere,
  run,    ///< in config.toml: it may differ when a run is resumed, because it does not change what is learnt
  fixed,  ///< in config.toml and the same whenever the run is resumed, but not in the card (names of files)
  model   ///< like fixed, and in the card of the model
};

/// What the files are for that an option names.
enum class FileUse {
  none,      ///< it names no files
  data,      ///< they are read
  settings,  ///< they are read whole before the work begins
  model,     ///< they are read, and the first of them, or all, are run folders or model files
  written,   ///< a file that is written
  printed,   ///< the same, or "-": standard output
  filled     ///< a folder that is made, or filled
};

/// A file as the user named it, and where: "--out", or "DATA..." for what stands without an option.
struct FileNamed {
  std::string by, path;
};

/// What a verb says of an option. The value that the target holds when the row is added may be outside the range.
struct OptionRow {
  std::string name;  ///< in kebab-case
  OptionTarget target;
  std::string placeholder = {};           ///< of the value, for the help
  std::string help = {};                  ///< empty: it is understood, but not listed
  std::vector<std::string> choices = {};  ///< when not empty: the only values allowed
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above_least = false;  ///< the least itself is not allowed
  Keep keep = Keep::nowhere;
  std::string default_text = {};  ///< shown instead of the default
  std::string letter = {};        ///< of a short form: "o" for -o; kDigits for -1 .. -9, each the value itself
  FileUse file = FileUse::none;
};
inline constexpr std::string_view kDigits = "1-9";

/// What stands without an option's name on the command line.
struct InputsRow {
  std::string name;  ///< key in a configuration file; inputs have no variable of the environment
  std::vector<std::string>* target;
  std::string placeholder;
  std::string help;
  std::size_t least = 1, most = 1;
  Keep keep = Keep::nowhere;
  FileUse file = FileUse::none;
};

class VerbOptions {
 public:
  /// `examples`: complete commands; the help starts with them.
  VerbOptions(std::string verb, std::string summary, std::vector<std::string> examples);

  void add(OptionRow row);
  void add_inputs(InputsRow row);
  /// --config, --json and --quiet, which every verb has. `prints_json`: false for a verb that has another option for it
  /// and refuses --json.
  void add_common(bool& json, bool& quiet, bool prints_json = true);

  /// Takes the arguments after the verb apart; nothing is assigned yet. True if help was asked for.
  bool read_arguments(std::span<const std::string> arguments);
  /// Assigns every target anew. REQUIRES read_arguments. `stored` is a configuration that lies above the defaults.
  void resolve(const Config* stored = nullptr);

  /// True if the value came from the command line, the environment or --config.
  bool given(std::string_view name) const;
  /// Throws UsageError where one of these is given: "--NAME WHY; leave it out".
  void refuse(std::initializer_list<std::string_view> names, std::string_view why) const;
  /// For verbs that find out themselves whether inputs are needed.
  UsageError missing_inputs() const;
  /// The present values of all rows kept there or in a later place of Keep. Options without a value are left out.
  Config config(Keep least) const;
  Keep keep(std::string_view name) const;
  /// The files of this use that the present values name, as they were given, in the order of the rows.
  std::vector<FileNamed> files(FileUse use) const;

  const std::string& verb() const { return verb_; }
  std::string help() const;
  std::vector<std::string> names() const;  ///< of all options, without the inputs

  /// UNFOLD_NAME for an option's name.
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

/// The verbs' options and other programs of the project know these variables; any other UNFOLD_* is a UsageError.
void check_environment(std::span<const std::string> known_options);

}  // namespace unfold
