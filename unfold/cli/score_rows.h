#pragma once
/// Rows of `unfold score`, one for each line of a text: printed as they come or, with --top, the most surprising ones
/// after the end; then what labels say about them, and a picture.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "unfold/report/roc.h"
#include "unfold/terminal/console.h"

namespace unfold {

struct ScoreRowOptions {
  std::string data, normal = "-";
  std::optional<std::string> labels = {}, roc = {}, plot = {};  ///< files
  Index top = 0;  ///< 0: every line in its order; else so many of the most surprising ones, after the end
  bool text = false, summary = false, json = false;
  bool values = false;  ///< a row is a value that stands in a line: it has no bits of its own
};

/// What rows are ordered, drawn and judged by.
struct RowScore {
  Index number;  ///< of the line, from 1
  double score, bits, bits_per_symbol;
  std::optional<std::string> label = {};  ///< that stands in the line
};

class ScoreRows {
 public:
  /// `score`: the name of RowScore::score. Reads the file of labels. Throws DataError.
  ScoreRows(Console& console, const ScoreRowOptions& options, std::string score);

  /// Whether labels come from a file.
  bool has_label_file() const { return options_.labels.has_value(); }
  /// Before the first row: its columns by their names. Throws UsageError where --roc or --summary lack labels.
  void begin(bool labelled, const std::string& heading);
  /// The next line. `row` is called if its row is to be printed, with its label or nullptr.
  void see(const RowScore& scored, const std::function<std::string(const std::string* label)>& row);
  /// The end of the text: --top, labels, the picture. Returns what labels say (JSON in one line), empty where there are
  /// none of both kinds. `source` is for messages. Throws DataError.
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
  void keep(const RowScore& scored, const std::function<std::string(const std::string* label)>& row,
            const std::string* label);
  void print_top();
  void draw() const;
  std::string judge(const std::string& source) const;

  Console& console_;
  const ScoreRowOptions& options_;
  std::string score_;
  std::vector<std::string> labels_;  // of a file
  std::vector<Row> top_;             // a heap, the least surprising in front
  std::vector<double> scores_, totals_, means_;
  std::vector<bool> anomalous_;
  Index lines_ = 0;
};

}  // namespace unfold
