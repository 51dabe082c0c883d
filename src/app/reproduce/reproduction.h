#pragma once
/// Definitions of the tables that `unfold reproduce` runs: rows (methods) x columns (problems). Each cell consists of
/// several seeds of a command `unfold train ...`. The definitions are TOML files (docs/reproduce.md).

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Texts that replace {NAME} in commands.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// A problem. Commands are words separated by spaces; a word can contain the placeholders of fill_in.
struct ReproductionColumn {
  std::string label;
  std::string arguments;             ///< arguments of `unfold train`, before those of the row
  NamedTexts values;                 ///< texts for {NAME} in the commands of this column
  std::vector<std::string> prepare;  ///< commands that write the files for its runs
  std::string floor;              ///< JSON pointer into the output of the last command of `prepare`, to a number that
                                  ///< is subtracted from the measure; empty: none
  std::optional<double> success;  ///< overrides Reproduction::success
  Index line = 0;                 ///< line of the definition
};

/// A method.
struct ReproductionRow {
  std::string label, arguments;
  bool fitted = false;  ///< the model is fitted without gradient descent, so it has no budget and a single seed
  std::map<std::string, std::string> published;  ///< published results by the label of the column
  Index line = 0;
  /// Returns whether it starts from the parameters of the first row's run, {start}.
  bool starts_from_first() const { return arguments.find("{start}") != std::string::npos; }
};

struct ReproductionScale {
  std::vector<std::string> columns;  ///< labels
  Index seeds = 1;
  std::string budget;                       ///< arguments of all runs
  std::optional<std::string> start_budget;  ///< instead of `budget`, for the rows without {start}
  NamedTexts values;
};

/// A table of published results. The tables of a file are run together and form one page, with one section each.
struct Reproduction {
  std::string file, title, source;
  std::string measure;       ///< key under "valid" in the results of `train --json`, or a JSON pointer into the results
  std::string measure_text;  ///< "wrong sequences"
  bool percent = false;      ///< shown in percent
  /// Threshold of the measure for a successful run: an upper bound, or a lower bound if more_is_better.
  std::optional<double> success;
  std::optional<double> success_of_floor;  ///< the same as a fraction of the floor of a column
  bool more_is_better = false;
  bool compares = false;    ///< whether there is no threshold: rows are only compared with each other
  std::string curve;        ///< key in validation events plotted as learning curve; empty: none
  std::string curve_text;   ///< its description if it differs from the measure; empty: it is the measure
  double curve_factor = 1;  ///< factor that converts its unit to the unit of the measure
  /// The x axis of learning curves, "seconds" or "epochs". The latter requires that all rows read the same data. Tables
  /// with `compares` have plots only over epochs.
  std::string curve_over = "seconds";
  std::string data;      ///< path needed in {data}; empty: none
  std::string appendix;  ///< command that prints additional content of the page (Markdown); empty: none
  NamedTexts values;
  std::vector<ReproductionColumn> columns;
  std::vector<ReproductionRow> rows;
  std::map<std::string, ReproductionScale> scales;  ///< by name, "small" and "full"
  Index line = 0;

  /// Throws UsageError "FILE:LINE: WHAT".
  [[noreturn]] void fail(Index at_line, std::string_view what) const;
};

/// Parses a file. Throws UsageError "FILE:LINE: ...".
std::vector<Reproduction> parse_reproductions(std::string_view text, const std::string& filename);

/// Returns the path of a table: `table` itself if it is a path (it contains a slash or ends with ".toml"), otherwise
/// TABLE.toml in bench/tables of the current directory or in ../share/unfold/tables of the program. Throws a UsageError
/// that lists the tables there.
std::string find_reproduction(const std::string& table);

/// Splits a command into words and replaces the placeholders {NAME} in it: those of `values`, which come first and may
/// consist of several words and contain placeholders, and those of `paths`, which do not divide a word. The first of
/// two values with the same name is used. Throws UsageError for unknown names and for values that contain each other.
std::vector<std::string> fill_in(const std::string& command, const NamedTexts& values, const NamedTexts& paths);

}  // namespace unfold
