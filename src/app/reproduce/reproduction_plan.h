#pragma once
/// The runs of a table of reproduction.h: which cells are wanted, and the commands that prepare their files and train
/// them.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/common/reporter.h"
#include "app/reproduce/reproduce.h"
#include "app/reproduce/reproduction.h"
#include "app/train/train.h"

namespace unfold {

/// One training run of a cell.
struct PlannedRun {
  std::vector<std::string> arguments;  ///< arguments of `unfold train`, without the folder
  std::string folder;
  Index seed;
  nlohmann::ordered_json result = {};  ///< output of train --json, or {"failed": reason}; in both cases with "command"
  std::string command() const;
};

struct PlannedCell {
  const ReproductionRow* row;
  const ReproductionColumn* column;
  std::vector<PlannedRun> runs;
  double floor = 0;    ///< subtracted from the measure of every run
  double success = 0;  ///< threshold for the measure after this subtraction
};

/// One table of the page.
struct PlannedTable {
  const Reproduction* table;
  const ReproductionScale* scale;
  std::vector<PlannedCell> cells;
  /// Returns the columns that have cells.
  std::vector<const ReproductionColumn*> columns() const {
    std::vector<const ReproductionColumn*> result;
    for (const PlannedCell& cell : cells)
      if (result.empty() || result.back() != cell.column) result.push_back(cell.column);
    return result;
  }
};

class ReproductionPlan {
 public:
  /// Plans the tables of the file that have the requested cells and whose data is available. Throws UsageError.
  ReproductionPlan(const ReproduceRequest& request, Reporter& reporter);
  ReproductionPlan(const ReproductionPlan&) = delete;  // the planned tables point into the parsed ones
  ReproductionPlan& operator=(const ReproductionPlan&) = delete;

  const std::string& name() const { return name_; }  ///< of the file, without its ending
  std::vector<PlannedTable>& tables() { return planned_; }
  const std::vector<PlannedTable>& tables() const { return planned_; }
  /// Returns the commands that write the files of a column.
  std::vector<std::vector<std::string>> prepare_commands(const PlannedTable& planned,
                                                         const ReproductionColumn& column) const;
  /// Returns the commands of the files and of the runs, in the order in which they are run.
  std::vector<std::string> commands() const;
  /// Returns the path of the files that a column prepares, without their endings.
  std::string made_stem(const ReproductionColumn& column) const;
  /// Returns the paths that commands refer to (fill_in).
  NamedTexts paths() const;

 private:
  std::vector<PlannedCell> plan(const Reproduction& table, const ReproductionScale& scale) const;
  bool is_wanted(const Reproduction& table, const ReproductionRow& row, const ReproductionColumn& column) const;
  bool has_data(const Reproduction& table) const;
  void check_names() const;
  std::vector<std::string> arguments_of(const Reproduction& table, const ReproductionScale& scale,
                                        const ReproductionRow& row, const ReproductionColumn& column, Index seed) const;
  std::string run_folder(const ReproductionRow& row, const ReproductionColumn& column, Index seed) const;

  const ReproduceRequest& r_;
  Reporter& reporter_;
  std::string file_, name_;  // the file of the tables, and its name without the ending
  std::vector<Reproduction> tables_;
  std::vector<PlannedTable> planned_;
};

/// Parses the words as arguments of `unfold train`. Throws UsageError.
TrainRequest train_request(const std::vector<std::string>& words);

/// Joins words with spaces.
std::string command_line(const std::vector<std::string>& words);

/// Converts a title to a file name.
std::string slug(const std::string& text);

/// Returns `work()`. Adds file and line to the message of a UsageError.
template <class Work>
auto with_place(const Reproduction& table, Index line, const std::string& what, const Work& work) {
  try {
    return work();
  } catch (const UsageError& error) {
    table.fail(line, fmt::format("{}: {}", what, error.what()));
  }
}

}  // namespace unfold
