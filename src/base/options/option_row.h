#pragma once
/// The description of one command-line option. A row is written once, next to the module that owns the setting. The
/// command line of a subcommand, its help, environment variables, configuration file keys, stored configuration, Python
/// keywords, manual page, reference page and the errors for options that do not apply are all derived from its rows
/// (cli/terminal/options.h, app/settings/setting_options.h).
///
///   rows.push_back({.name = NAME, .target = &settings.batch, .placeholder = "N", .help = TEXT, .least = 1,
///                   .keep = Keep::model, .group = OptionGroup::training});

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/options/options.h"

namespace unfold {

/// Where the value of an option is stored after the command has ended.
enum class Keep {
  nowhere,
  run,    ///< in config.toml; may change when a run is resumed, because it does not affect the result
  fixed,  ///< in config.toml and fixed for the run, but not in the model card (file names)
  model   ///< like fixed, and in the model card
};

/// How a command uses the files that an option names.
enum class FileUse {
  none,      ///< the option does not name files
  data,      ///< read
  settings,  ///< read completely before the work begins
  model,     ///< read; the first file or all files are run folders or model files
  written,   ///< written
  printed,   ///< written; "-" stands for standard output
  filled     ///< a folder that is created or filled
};

/// The section of the help in which an option is listed, in the order of the help.
enum class OptionGroup { data, model, training, loss, budget, validation, search, output, execution, general };
std::string_view title(OptionGroup group);  ///< "Data"

/// Kinds of data, and of models for such data, to which an option can apply.
enum class Kind : unsigned {
  text = 1,        ///< running text
  log = 2,         ///< logs
  fields = 4,      ///< data with fields
  task = 8,        ///< examples of a task
  stream = 16,     ///< one stream of bytes, read as it arrives
  sequences = 32,  ///< whole sequences, with their ends
  density = 64,    ///< distributions of vectors
  rolls = 128      ///< pieces of music
};

class Kinds {
 public:
  constexpr Kinds(Kind kind) : bits_(static_cast<unsigned>(kind)) {}
  static constexpr Kinds all() { return Kinds(~0U); }
  constexpr bool contains(Kind kind) const { return (bits_ & static_cast<unsigned>(kind)) != 0; }
  friend constexpr Kinds operator|(Kinds a, Kinds b) { return Kinds(a.bits_ | b.bits_); }
  bool operator==(const Kinds&) const = default;

 private:
  explicit constexpr Kinds(unsigned bits) : bits_(bits) {}
  unsigned bits_;
};
constexpr Kinds operator|(Kind a, Kind b) { return Kinds(a) | Kinds(b); }

/// A default value that depends on what is trained.
struct KindDefault {
  std::string kind, value;  ///< "text", "gru:448,reset=after"
};

/// The definition of an option. The default is the value of the target when the row is created; it may be outside the
/// range [least, most].
struct OptionRow {
  std::string name;  ///< in kebab-case
  OptionTarget target;
  std::string placeholder = {};           ///< placeholder of the value in the help
  std::string help = {};                  ///< empty: the option is accepted but not listed
  std::vector<std::string> choices = {};  ///< if not empty, the only allowed values
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above_least = false;  ///< the lower limit itself is not allowed
  Keep keep = Keep::nowhere;
  std::string default_text = {};  ///< shown instead of the default
  std::string letter = {};        ///< short form: "o" for -o; kDigits for -1 .. -9, where the digit is the value
  FileUse file = FileUse::none;
  OptionGroup group = OptionGroup::general;
  bool common = false;  ///< listed by --help; other options are listed only by --help-all
  Kinds kinds = Kinds::all();
  bool by_gradient = false;                     ///< only for models that are trained by gradients
  std::vector<std::string> aliases = {};        ///< aliases, in addition to those of base/options/option_aliases.h
  std::vector<KindDefault> kind_defaults = {};  ///< defaults that depend on the data, shown in the help
  bool default_varies = false;                  ///< the default depends on the data or on other options
  bool is_input = false;  ///< positional arguments instead of an option; least and most bound their number
};
inline constexpr std::string_view kDigits = "1-9";

using OptionRows = std::vector<OptionRow>;

/// Converts a row to an Option, which parses and checks values. Copies the name, target, help, limits and choices; the
/// current value is the fallback.
Option option_of(const OptionRow& row);

/// Returns the row whose name or alias is `word`; nullptr if there is none.
const OptionRow* find_row(const OptionRows& rows, std::string_view word);
/// Like find_row. Throws a UsageError that begins with `where`, names `verb` and suggests the nearest name.
const OptionRow& need_row(const OptionRows& rows, std::string_view word, std::string_view where, std::string_view verb);

/// Returns the address of the setting that a row sets, which identifies the option within a table; nullptr for choices.
const void* address_of(const OptionTarget& target);

/// Returns the text after "(default": the default text of the row, its defaults by kind, or the current value of the
/// target; empty for flags and options without a value.
std::string default_of(const OptionRow& row);

/// Returns the kinds in words: "text and data with fields".
std::string to_string(Kinds kinds);
/// Returns the error for an option that does not apply: "--mask applies to text; this data has fields: omit --mask".
/// `here`: the kind of data that is present.
std::string not_applicable(std::string_view option, Kinds kinds, std::string_view here);

}  // namespace unfold
