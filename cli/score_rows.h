#pragma once
/// Output of `unfold score` with one row per line of text. Rows are printed as they are scored or, with --top, the rows
/// with the highest scores at the end. They are followed by the evaluation against labels and a plot.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/plots/roc.h"
#include "cli/terminal/console.h"

namespace unfold {

struct ScoreRowOptions {
  std::string data, normal = "-";
  std::optional<std::string> labels = {}, roc = {}, plot = {};  ///< files
  Index top = 0;  ///< 0: all lines in order; otherwise the `top` highest scores, printed at the end
  bool text = false, summary = false, json = false;
  bool values = false;  ///< each row is a masked value of a line; values have no bits
};

/// The values of a row that are used for sorting, plotting and evaluation.
struct RowScore {
  Index number;  ///< line number, from 1
  double score, bits, bits_per_symbol;
  std::optional<std::string> label = {};  ///< the label contained in the line
  Index lines = 1;                        ///< number of lines of text that the row describes
};

class ScoreRows {
 public:
  /// `score` is the column name of RowScore::score. Reads the label file. Throws DataError.
  ScoreRows(Console& console, const ScoreRowOptions& options, std::string score);

  /// Returns whether labels come from a file.
  bool has_label_file() const { return options_.labels.has_value(); }
  /// Call before the first row, with the column names. Throws UsageError if --roc or --summary is set and there are no
  /// labels.
  void begin(bool labeled, const std::string& heading);
  /// Adds the next line. If the line is to be printed, calls `row` with its label, or with nullptr if it has none.
  void see(const RowScore& scored, const std::function<std::string(const std::string* label)>& row);
  /// Adds a row that describes no line: with --top, it is ranked among the lines. It is not part of the evaluation.
  void rank(const RowScore& scored, const std::function<std::string()>& row);
  /// Call at the end of the text. Prints the --top rows, evaluates the labels and writes the plot. Returns the
  /// evaluation as one line of JSON, or an empty string unless both kinds of labels occur. `source` is used in
  /// messages. Throws DataError.
  std::string finish(const std::string& source);

 private:
  struct Row {
    double score;
    Index number;
    std::string text;
    bool comes_before(const Row& other) const {
      return score != other.score ? score > other.score : number < other.number;
    }
  };
  const std::string& label_of_lines(Index lines) const;
  void keep(const RowScore& scored, const std::function<std::string(const std::string* label)>& row,
            const std::string* label);
  void print_top();
  void draw() const;
  std::string judge(const std::string& source) const;
  std::string why_no_roc(bool normal, const std::string& source) const;

  Console& console_;
  const ScoreRowOptions& options_;
  std::string score_;
  std::vector<std::string> labels_;  // labels that were read from a file
  std::vector<Row> top_;             // a heap with the lowest score in front
  std::vector<double> scores_, totals_, means_;
  std::vector<bool> anomalous_;
  static constexpr std::size_t kMostKinds = 8;
  std::set<std::string> kinds_;  // different labels, at most one more than are shown
  Index lines_ = 0;
};

}  // namespace unfold
