#pragma once
/// Output of a command's results in a specific format: a file that is written atomically, or standard output for "-".
///
///   ResultFile file(out);
///   file.write(bytes);
///   file.commit();
///
/// Throws RuntimeFailure like AtomicFile and print_result.

#include <optional>
#include <string>
#include <string_view>

#include "cli/terminal/comma_rows.h"
#include "cli/terminal/console.h"
#include "unfold/base/formats/file.h"

namespace unfold {

/// What separates the cells of tables: tabs, or commas as in CSV (comma_rows.h).
enum class CellSeparator { tab, comma };

/// Returns the separator of a table in the format "tsv", "csv" or another one; if no format is chosen, it follows from
/// the name of the output file.
inline CellSeparator separator_of(std::string_view format, bool chosen, std::string_view out) {
  return format == "csv" || (!chosen && is_csv_name(out)) ? CellSeparator::comma : CellSeparator::tab;
}

class ResultFile {
 public:
  /// `separator`: of the cells in the file; those that are written to this object are separated by tabs.
  explicit ResultFile(const std::string& path, CellSeparator separator = CellSeparator::tab) {
    if (path != "-") file_.emplace(path);
    if (separator == CellSeparator::comma) commas_.emplace();
  }
  void write(std::string_view bytes) {
    if (commas_)
      put(commas_->next(bytes));
    else
      put(bytes);
  }
  void commit() {
    if (commas_) put(commas_->finish());
    file_ ? file_->commit() : flush_results();
  }

 private:
  void put(std::string_view bytes) { file_ ? file_->write(bytes) : print_result(bytes); }

  std::optional<AtomicFile> file_;
  std::optional<CommaRows> commas_;
};

}  // namespace unfold
