/// The format `columns`: one position per line, with entries separated by blanks or tabs, and an empty line after each
/// example. CoNLL-2000 and similar formats, CoNLL-U (https://universaldependencies.org/format.html), and frames of
/// measurements.

#include <fmt/format.h>

#include <algorithm>

#include "data/readers/reader_text.h"

namespace unfold {
namespace {

constexpr std::string_view kColumnsHeader = "# columns:";
constexpr std::string_view kDocumentStart = "-DOCSTART-";
constexpr std::size_t kConlluColumns = 10;
constexpr const char* kConlluNames[kConlluColumns] = {"id",    "form", "lemma",  "upos", "xpos",
                                                      "feats", "head", "deprel", "deps", "misc"};
constexpr std::size_t kConlluForm = 1, kConlluLemma = 2;  // in these columns `_` is a word

/// "3", "3-4" (a word of several tokens), "3.1" (a word that is not in the text).
bool is_conllu_id(std::string_view id) {
  return !id.empty() && id[0] >= '0' && id[0] <= '9' && id.find_first_not_of("0123456789.-") == std::string_view::npos;
}

bool is_conllu_word(std::string_view line) {
  std::vector<std::string_view> cells;
  split_at(line, '\t', cells);
  return cells.size() == kConlluColumns && is_conllu_id(cells[0]);
}

/// Returns whether a line holds entries, as opposed to a document mark or a column header.
bool is_columns_data(std::string_view line) {
  const std::string_view shown = without_blanks(line);
  return !shown.empty() && !shown.starts_with(kDocumentStart) && !shown.starts_with(kColumnsHeader);
}

class ColumnsReader {
 public:
  ColumnsReader(const ReaderText& text, const ReaderOptions& options)
      : options_(options), examples_(text.no_examples()), source_(text.source()) {
    for (ReaderLines lines(text.text()); lines.next();) {
      if (!is_columns_data(lines.line()) || lines.line().starts_with('#')) continue;
      conllu_ = is_conllu_word(lines.line());
      break;
    }
    for (ReaderLines lines(text.text()); lines.next();) read_line(lines.line(), lines.number());
    end_example();
  }

  Examples take() {
    for (std::size_t c = 0; c < entries_.size(); ++c) examples_.columns.push_back(column(c));
    return std::move(examples_);
  }

 private:
  void read_line(std::string_view line, Index number) {
    if (first_line_ == 0 && line.starts_with(kColumnsHeader))
      return read_names(line.substr(kColumnsHeader.size()), number);
    if (!is_columns_data(line)) return end_example();
    if (conllu_ && line.starts_with('#')) return;
    cells_.clear();
    while (line.ends_with(' ')) line.remove_suffix(1);
    if (first_line_ == 0) tabs_ = line.find('\t') != std::string_view::npos;
    if (tabs_)
      split_at(line, '\t', cells_);
    else
      split_at_blanks(line, cells_);
    if (first_line_ == 0) begin(number);
    require_count(number);
    if (conllu_ && cells_[0].find_first_of(".-") != std::string_view::npos) return;
    add_position(number);
  }

  void read_names(std::string_view line, Index number) {
    std::vector<std::string_view> names;
    split_at_blanks(line, names);
    names_.assign(names.begin(), names.end());
    std::vector<std::string> sorted = names_;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end())
      throw_data_error(source_, number, fmt::format("two columns are named {}; rename one", *twice));
  }

  void begin(Index number) {
    first_line_ = number;
    entries_.resize(cells_.size());
    if (conllu_ && names_.empty()) names_.assign(std::begin(kConlluNames), std::end(kConlluNames));
    if (names_.empty()) {
      for (std::size_t c = 1; c <= cells_.size(); ++c) names_.push_back(std::to_string(c));
    }
    if (names_.size() == cells_.size()) return;
    throw_data_error(source_, number,
                     fmt::format("the line has {} columns, but the header has {}", cells_.size(), names_.size()));
  }

  void require_count(Index number) const {
    if (cells_.size() == entries_.size()) return;
    throw_data_error(
        source_, number,
        fmt::format("the line has {} columns, but line {} has {}; separate examples with an empty line{}",
                    cells_.size(), first_line_, entries_.size(),
                    tabs_ ? ", and columns with tabs" : ", and use tabs between columns if entries contain blanks"));
  }

  void add_position(Index number) {
    if (example_begin_ == static_cast<Index>(examples_.lines.size())) examples_.example_lines.push_back(number);
    examples_.lines.push_back(number);
    for (std::size_t c = 0; c < cells_.size(); ++c) entries_[c].push_back(cells_[c]);
  }

  void end_example() {
    const Index end = static_cast<Index>(examples_.lines.size());
    if (end == example_begin_) return;
    examples_.ends.push_back(end);
    example_begin_ = end;
  }

  bool is_missing(std::size_t c, std::string_view entry) const {
    if (conllu_ && c != kConlluForm && c != kConlluLemma) return entry == "_";
    return entry.empty();
  }

  /// Measurements contain a decimal point or an exponent; integers may be classes and are kept as strings.
  bool is_measured(const std::vector<std::string_view>& entries) const {
    if (conllu_) return false;
    const auto is_number = [](std::string_view entry) { return number_of(entry).kind != NumberText::Kind::none; };
    const auto has_fraction = [](std::string_view entry) {
      return number_of(entry).kind == NumberText::Kind::number && entry.find_first_of(".eE") != std::string_view::npos;
    };
    return std::all_of(entries.begin(), entries.end(), is_number) &&
           std::any_of(entries.begin(), entries.end(), has_fraction);
  }

  ExampleColumn column(std::size_t c) const {
    const RequestedType wanted = requested_type(options_, names_[c]);
    const bool numbers =
        wanted == RequestedType::as_they_look ? is_measured(entries_[c]) : wanted == RequestedType::numbers;
    if (numbers) return number_column(source_, names_[c], entries_[c], examples_.lines);
    ExampleColumn result{.name = names_[c]};
    result.texts.reserve(entries_[c].size());
    for (const std::string_view entry : entries_[c]) {
      const bool missing = is_missing(c, entry);
      result.texts.push_back(missing ? std::string_view() : entry);
      mark_entry(result, missing);
    }
    return result;
  }

  const ReaderOptions& options_;
  Examples examples_;
  std::string source_;
  bool conllu_ = false, tabs_ = false;
  Index first_line_ = 0, example_begin_ = 0;
  std::vector<std::string> names_;
  std::vector<std::string_view> cells_;
  std::vector<std::vector<std::string_view>> entries_;  // entries, by column
};

Examples read_columns(const Input& input, const ReaderOptions& options) {
  const ReaderText text(input);
  return ColumnsReader(text, options).take();
}

bool looks_like_conllu(const DataSample& sample) {
  bool any = false;
  for (const std::string_view line : sample.lines) {
    if (line.empty() || line.starts_with('#')) continue;
    if (!is_conllu_word(line)) return false;
    any = true;
  }
  return any;
}

/// Statistics that distinguish columns from lines of prose.
struct ColumnsShape {
  Index columns = 0, positions = 0, examples = 0;
  bool ragged = false, tabs = false, numbers = true, commas = true, semicolons = true;
};

ColumnsShape columns_shape(const DataSample& sample) {
  ColumnsShape shape;
  std::vector<std::string_view> cells;
  bool inside = false;
  for (const std::string_view line : sample.lines) {
    if (!is_columns_data(line)) {
      inside = false;
      continue;
    }
    if (shape.positions == 0) shape.tabs = line.find('\t') != std::string_view::npos;
    cells.clear();
    shape.tabs ? split_at(line, '\t', cells) : split_at_blanks(line, cells);
    const auto count = static_cast<Index>(cells.size());
    shape.ragged |= shape.positions > 0 && count != shape.columns;
    shape.columns = count;
    ++shape.positions;
    if (!inside) ++shape.examples;
    inside = true;
    shape.commas &= line.find(',') != std::string_view::npos;
    shape.semicolons &= line.find(';') != std::string_view::npos;
    shape.numbers &= std::all_of(cells.begin(), cells.end(), [](std::string_view cell) {
      return number_of(cell).kind == NumberText::Kind::number;
    });
  }
  return shape;
}

std::string guess_columns(const DataSample& sample) {
  if (looks_like_conllu(sample)) return "the ten columns of CoNLL-U";
  if (!sample.lines.empty() && sample.lines[0].starts_with(kColumnsHeader)) return "a header with column names";
  const ColumnsShape shape = columns_shape(sample);
  constexpr Index kFewestLines = 3;
  const bool table = !shape.tabs && (shape.commas || shape.semicolons);
  if (shape.ragged || shape.columns < 2 || shape.positions < kFewestLines || table) return {};
  const char* between = shape.tabs ? "tabs" : "blanks";
  if (shape.examples > 1 && shape.positions > shape.examples) {
    return fmt::format("{} columns separated by {}, examples separated by empty lines", shape.columns, between);
  }
  if (shape.numbers && !shape.tabs) return fmt::format("{} columns of numbers separated by blanks", shape.columns);
  if (ends_in(sample.name, {".conll", ".iob", ".iob2", ".bio"})) return fmt::format("{} columns", shape.columns);
  return {};
}

}  // namespace

ReaderEntry columns_reader() {
  return {.name = "columns",
          .help = "one position per line, columns separated by blanks or tabs, an empty line between examples; CoNLL-U",
          .guess = guess_columns,
          .read = read_columns};
}

}  // namespace unfold
