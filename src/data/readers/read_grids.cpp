/// The format `grids`: a grid is a block of lines, and blocks are separated by empty lines. Every character is a
/// position. A tab may be followed by the labels of the positions of the line, one character each, with `_` for an
/// unknown label.

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "data/files/image_file.h"
#include "data/readers/reader_text.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::string_view kNone = "_";

/// Splits UTF-8 text into characters.
std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> result;
  while (!text.empty()) {
    Index end = 0;
    const bool known = next_code_point(text, end) != kNoCodePoint && end > 0;
    result.emplace_back(text.substr(0, known ? at(end) : 1));
    text.remove_prefix(result.back().size());
  }
  return result;
}

class GridText {
 public:
  explicit GridText(const Input& input) : text_(input) { examples_ = text_.no_examples(); }

  Examples read() {
    for (ReaderLines lines(text_.text()); lines.next();) {
      line_ = lines.number();
      std::string_view line = lines.line();
      if (line.ends_with('\r')) line.remove_suffix(1);
      line.empty() ? end_grid() : take(line);
    }
    end_grid();
    examples_.columns.push_back(std::move(texts_));
    if (labeled_) examples_.columns.push_back(std::move(labels_));
    return std::move(examples_);
  }

 private:
  struct Row {
    std::vector<std::string> texts, labels;
  };

  [[noreturn]] void refuse(const std::string& what) const { throw_data_error(text_.source(), line_, what); }

  void take(std::string_view line) {
    std::vector<std::string_view> cells;
    split_at(line, '\t', cells);
    if (cells.size() > 2)
      refuse("the line has more than one tab; a line is a row of a grid, optionally followed by a tab and its labels");
    const bool labeled = cells.size() == 2;
    if (begun_ && labeled != labeled_)
      refuse(fmt::format("the row has {}, but previous rows {}; write all labels, with {} for unknown ones",
                         labeled ? "labels" : "no labels", labeled_ ? "have them" : "have none", kNone));
    begun_ = true, labeled_ = labeled;
    Row row{.texts = characters_of(cells[0]), .labels = labeled ? characters_of(cells[1]) : std::vector<std::string>()};
    if (row.texts.empty()) refuse("the row has no characters; separate grids with empty lines");
    if (labeled && row.labels.size() != row.texts.size())
      refuse(fmt::format("the row has {} characters, but {} labels; write one label per character", row.texts.size(),
                         row.labels.size()));
    if (static_cast<Index>(row.texts.size()) > kMostSide || static_cast<Index>(rows_.size()) >= kMostSide)
      refuse(fmt::format("a grid has more than {} positions per side; divide it", kMostSide));
    width_ = std::max(width_, static_cast<Index>(row.texts.size()));
    if (width_ * static_cast<Index>(rows_.size() + 1) > kMostPixels)
      refuse(fmt::format("a grid has more than {} positions; divide it", kMostPixels));
    if (rows_.empty()) first_line_ = line_;
    rows_.push_back(std::move(row));
  }

  /// Ends a grid; rows that are shorter than others are padded with empty positions.
  void end_grid() {
    if (rows_.empty()) return;
    const auto height = static_cast<Index>(rows_.size());
    for (Index i = 0; i < height; ++i)
      for (Index j = 0; j < width_; ++j) {
        const Row& row = rows_[at(i)];
        const bool there = j < static_cast<Index>(row.texts.size());
        append(there ? row.texts[at(j)] : std::string(), there, texts_);
        if (labeled_)
          append(there ? row.labels[at(j)] : std::string(kNone), there && row.labels[at(j)] != kNone, labels_);
        examples_.lines.push_back(first_line_ + i);
      }
    examples_.shapes.emplace_back(height, width_);
    examples_.ends.push_back(texts_.entries());
    examples_.example_lines.push_back(first_line_);
    rows_.clear();
    width_ = 0;
  }

  static void append(std::string_view text, bool there, ExampleColumn& column) {
    column.texts.push_back(there ? text : std::string_view());
    mark_entry(column, !there);
  }

  ReaderText text_;
  Examples examples_;
  ExampleColumn texts_{.name = "text"}, labels_{.name = "label"};
  std::vector<Row> rows_;
  Index line_ = 0, first_line_ = 0, width_ = 0;
  bool begun_ = false, labeled_ = false;
};

Examples read_grids(const Input& input, const ReaderOptions& options) {
  if (options.whole.end != SequenceEnd::none)
    throw UsageError("--ends requires sequences and does not apply to grids; leave it out");
  return GridText(input).read();
}

/// Any text is a valid grid, so the format cannot be detected.
std::string guess_grids(const DataSample&) { return {}; }

}  // namespace

ReaderEntry grids_reader() {
  return {
      .name = "grids",
      .help =
          "text as grids: one character per position, one row per line, empty lines between grids; labels after a tab",
      .guess = guess_grids,
      .read = read_grids};
}

}  // namespace unfold
