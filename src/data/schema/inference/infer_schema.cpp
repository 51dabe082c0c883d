#include "data/schema/inference/infer_schema.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/formats/decompress.h"
#include "base/formats/text_encoding.h"
#include "base/options/shell_argument.h"
#include "base/utf8.h"
#include "data/cells/row_splitter.h"
#include "data/schema/column_names.h"
#include "data/schema/date_parts.h"
#include "data/schema/describe_schema.h"
#include "data/schema/inference/column_profile.h"
#include "data/schema/inference/column_roles.h"
#include "data/schema/inference/panel_pairs.h"
#include "data/schema/inference/panel_positions.h"
#include "data/schema/inference/point_groups.h"
#include "data/schema/inference/residual_dependence.h"
#include "data/schema/inference/table_cells.h"
#include "data/schema/require_column.h"
#include "data/schema/table_layout.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

constexpr std::size_t kLayoutBytes = 256 << 10;
constexpr std::size_t kPieceBytes = 1 << 20;
constexpr std::size_t kLongestRow = 16 << 20;  ///< a quote not closed within this many bytes is ignored
constexpr Index kDistinctBudget = Index{64} << 20, kMostDistinct = 4096, kFewestDistinct = 64;
constexpr const char* kStringsInMemory = "strings in memory";
constexpr Index kBytesPerDistinct = 16;  ///< a slot and its free neighbor

void require_columns(const SchemaOptions& options, const std::vector<std::string>& names) {
  if (options.group) require_column("--group", *options.group, names);
  if (options.order) require_column("--order", *options.order, names);
  if (options.ignore_absent) return;
  for (const auto& [column, type] : options.types) require_column("--types", column, names);
  for (const std::string& column : options.read) require_column("--read", column, names);
  for (const std::string& column : options.predict) require_column("--predict", column, names);
}

bool names_column(const std::vector<std::string>& names, const std::string& column) {
  return std::find(names.begin(), names.end(), column) != names.end();
}

}  // namespace

class SchemaInference::State {
 public:
  State(std::string source, SchemaOptions options) : options_(std::move(options)) {
    schema_.source = std::move(source);
    schema_.stated_missing = options_.missing.spellings;
  }

  void add(std::string_view bytes) {
    if (splitter_ && pending_.empty()) {
      const std::size_t done = read_rows(bytes, false);
      pending_.assign(bytes.substr(done));
      wanted_ = pending_.size() * 2;
      return;
    }
    pending_ += bytes;
    if (!splitter_) {
      if (pending_.size() < kLayoutBytes) return;
      pending_.erase(0, begin(pending_, false));
    } else if (pending_.size() < wanted_) {
      return;
    }
    pending_.erase(0, read_rows(pending_, false));
    wanted_ = pending_.size() * 2;
    if (pending_.size() > kLongestRow) {
      schema_.unclosed_quote = splitter_->line();
      splitter_->ignore_quotes();
      pending_.erase(0, read_rows(pending_, false));
    }
  }

  TableSchema finish() {
    if (!splitter_) pending_.erase(0, begin(pending_, true));
    read_rows(pending_, true);
    return decide(nullptr);
  }

  TableSchema finish(std::string_view bytes, TableCells* cells) {
    cells_ = cells;
    bytes.remove_prefix(begin(bytes, bytes.size() < kLayoutBytes));
    read_rows(bytes, true);
    return decide(nullptr);
  }

  TableSchema finish(const std::vector<ColumnCells>& columns, Index rows) {
    std::vector<std::string> names;
    names.reserve(columns.size());
    for (const ColumnCells& column : columns) names.push_back(column.name);
    require_columns(options_, names);
    schema_.header = true;
    schema_.header_reason = "the columns have names";
    schema_.layout = "named in memory or in each line";
    begin_columns(names);
    pairs_ = PanelPairs(names, first_rows(columns, rows), std::nullopt);
    for (Index r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns.size(); ++c) profiles_[c].add(columns[c].cell(r), r + 1);
      pairs_.add(profiles_);
      residuals_.add(profiles_);
    }
    rows_ = rows;
    return decide(&columns);
  }

 private:
  static std::vector<std::vector<std::string>> first_rows(const std::vector<ColumnCells>& columns, Index rows) {
    constexpr Index kFirstRows = 500;
    std::vector<std::vector<std::string>> first(at(std::min(rows, kFirstRows)));
    for (std::size_t r = 0; r < first.size(); ++r)
      for (const ColumnCells& column : columns) first[r].emplace_back(column.cell(static_cast<Index>(r)));
    return first;
  }

  /// Decides types and roles. `cells`: the columns of a table in memory; nullptr for a file.
  TableSchema decide(const std::vector<ColumnCells>* cells) {
    schema_.rows = rows_;
    std::vector<ColumnProfile>& profiles = profiles_;
    Index commas = 0, points = 0, ambiguous = 0;
    for (std::size_t c = 0; c < profiles.size(); ++c) {
      if (cells != nullptr && (*cells)[c].numbers) continue;
      const ColumnProfile& profile = profiles[c];
      commas += profile.comma_evidence();
      points += profile.point_evidence();
      ambiguous += profile.ambiguous_commas();
    }
    const PointReading reading = cells == nullptr && commas == 0 && points == 0
                                     ? read_points(profiles, schema_.separator)
                                     : PointReading::decimal;
    const bool comma = commas != points
                           ? commas > points
                           : reading == PointReading::thousands || (schema_.separator == ';' && ambiguous > 0);
    const auto finish = [&](std::size_t c, bool predicted) {
      const ColumnProfile& profile = profiles[c];
      const auto stated = options_.types.find(profile.name());
      ColumnProfile::Context context{.table_decimal = comma ? DecimalMark::comma : DecimalMark::point,
                                     .decimal = options_.decimal,
                                     .thousands = options_.thousands,
                                     .stated = stated == options_.types.end() ? nullptr : &stated->second,
                                     .only_column = profiles.size() == 1,
                                     .predicted = predicted};
      if (cells != nullptr && (*cells)[c].numbers)
        context.decimal = DecimalMark::point, context.thousands = ThousandsMark::none;
      ColumnSchema column = profile.finish(context);
      if (cells != nullptr && !(*cells)[c].numbers && !column.stated) keep_texts(profile, context, column);
      if (c == 0 && unnamed_first_) find_row_names(column);
      return column;
    };
    for (std::size_t c = 0; c < profiles.size(); ++c) {
      schema_.columns.push_back(finish(c, names_column(options_.predict, profiles[c].name())));
      note_hint(profiles[c], schema_.columns.back());
    }
    if (needs_constant_target())
      for (std::size_t c = 0; c < profiles.size(); ++c)
        if (ColumnSchema column = finish(c, true); is_number(column)) schema_.columns[c] = std::move(column);
    for (std::string& note : point_notes(reading, profiles, schema_.columns, options_))
      schema_.notes.push_back(std::move(note));
    note_missing_that_do_not_occur();
    find_panels();
    assign_roles(schema_, options_, positions_.pairs(), find_serial_columns(), residuals_);
    note_class_in_first_column();
    for (const ColumnSchema& column : schema_.columns)
      if (column.exchangeable && column.role != ColumnRole::left_out) note_exchangeable(column);
    return std::move(schema_);
  }

  /// Names the spellings of missing values that are stated for this table but do not occur in it.
  void note_missing_that_do_not_occur() {
    if (!options_.infer_roles) return;
    for (std::size_t s = 0; s < options_.missing.spellings.size(); ++s) {
      const bool occurs =
          std::ranges::any_of(profiles_, [&](const ColumnProfile& profile) { return profile.has_stated_missing(s); });
      if (!occurs)
        schema_.notes.push_back(fmt::format("--missing {}: no cell has this value",
                                            shell_argument(escape_cell(options_.missing.spellings[s], kMostOddBytes))));
    }
  }

  /// Returns whether a series with one value is all that could be predicted.
  bool needs_constant_target() const {
    return options_.infer_roles && options_.predict.empty() &&
           std::ranges::all_of(schema_.columns, [](const ColumnSchema& column) {
             return column.type == ColumnType::date || column.type == ColumnType::empty ||
                    (column.type == ColumnType::constant && !column.stated);
           });
  }

  /// Marks the columns that distinguish rows with equal times.
  void find_panels() {
    if (!pairs_.time()) return;
    for (std::size_t c = 0; c < schema_.columns.size(); ++c) schema_.columns[c].panel = pairs_.are_unique(c);
  }

  /// Marks the columns that depend on the preceding rows, and returns which do according to a stricter test. If the
  /// rows are sorted by a category, the borders between its values do not count. If they are sorted by a number,
  /// columns that are related to it have a trend, which does not count either.
  std::vector<bool> find_serial_columns() {
    constexpr Index kFewestValues = 3;
    SerialDependence::Options comparison;
    for (std::size_t c = 0; c < profiles_.size(); ++c) {
      const ColumnSchema& column = schema_.columns[c];
      if (!column.sorted) continue;
      if (column.type == ColumnType::category)
        comparison.borders = std::max(comparison.borders, profiles_[c].serial().changes());
      const bool measures = is_number(column) && column.distinct >= kFewestValues;
      comparison.trend = comparison.trend || (measures && !is_position_name(column.name) && !is_date_name(column.name));
    }
    std::vector<bool> strictly;
    for (std::size_t c = 0; c < profiles_.size(); ++c) {
      comparison.numbers = is_number(schema_.columns[c]);
      comparison.strictly = false;
      schema_.columns[c].serial = profiles_[c].serial().depends(comparison);
      comparison.strictly = true;
      strictly.push_back(profiles_[c].serial().depends(comparison));
    }
    return strictly;
  }
  static bool is_number(const ColumnSchema& column) {
    return column.type == ColumnType::number || column.type == ColumnType::integer;
  }

  /// Adds a note if the cells suggest a different type.
  void note_hint(const ColumnProfile& profile, const ColumnSchema& column) {
    const std::string name = escape_cell(column.name, kMostOddBytes);
    const bool stated = options_.types.contains(column.name);
    if (column.stated && !stated && column.type_reason == kStringsInMemory)
      schema_.notes.push_back(
          fmt::format("column \"{}\": its strings are numbers; use --types {}=number to read them as numbers", name,
                      shell_argument(name)));
    if (column.stated && (column.type != ColumnType::date || !options_.infer_roles)) return;
    if (const std::string hint = profile.hint_of(column); !hint.empty())
      schema_.notes.push_back(fmt::format("column \"{}\": {}", name, hint));
  }

  /// Adds a note if a table looks like one of the UCR archive: without names, with few different integers in the first
  /// column and only numbers in all others.
  void note_class_in_first_column() {
    constexpr std::size_t kLeastColumns = 10;
    constexpr Index kMostClasses = 100, kRowsPerClass = 2;
    const ColumnSchema& first = schema_.columns.front();
    if (schema_.header || schema_.columns.size() < kLeastColumns || !options_.infer_roles || !options_.predict.empty())
      return;
    const bool classes = first.type == ColumnType::integer && first.role == ColumnRole::read && first.distinct >= 2 &&
                         first.distinct <= kMostClasses && kRowsPerClass * first.distinct <= first.entries();
    const bool numbers = std::all_of(schema_.columns.begin() + 1, schema_.columns.end(),
                                     [](const ColumnSchema& column) { return column.type == ColumnType::number; });
    if (classes && numbers)
      schema_.notes.push_back(
          fmt::format("column {0} has {1} different integers, and the others have numbers without names, as in the UCR "
                      "archive; if column {0} is the class of each row, use --predict {0}=softmax",
                      first.name, first.distinct));
  }

  /// The names of rows, which R and pandas write into a first column without a name, are identifiers.
  static void find_row_names(ColumnSchema& column) {
    const bool texts = column.type == ColumnType::text || column.type == ColumnType::category;
    if (!texts || column.stated || column.missing > 0 || column.distinct != column.entries()) return;
    column.type = ColumnType::identifier;
    column.type_reason = "names of the rows, in a column without a name";
  }

  void note_exchangeable(const ColumnSchema& column) {
    const bool day_first = column.date_format == DateFormat::day_month_year;
    const DateFormat other = day_first ? DateFormat::month_day_year : DateFormat::day_month_year;
    const std::string name = escape_cell(column.name, kMostOddBytes);
    schema_.notes.push_back(
        fmt::format("column \"{}\": no date shows whether the day or the month is first; it is read as {}; if that is "
                    "wrong, use --types {}=date:{}",
                    name, date_pattern(*column.date_format), shell_argument(name), date_pattern(other)));
  }

  /// Strings of a table in memory remain strings even if the same strings in a file would be read as numbers.
  static void keep_texts(const ColumnProfile& profile, ColumnProfile::Context context, ColumnSchema& column) {
    const StatedType category{.type = ColumnType::category, .unit = {}, .date_format = {}};
    const bool numbers = column.type == ColumnType::number || column.type == ColumnType::integer;
    if (numbers) {
      context.stated = &category;
      column = profile.finish(context);
    }
    const bool read_as_numbers =
        column.class_labels || column.type == ColumnType::identifier || column.type == ColumnType::constant;
    if (!numbers && !read_as_numbers) return;
    column.class_labels = false;
    column.least.reset();
    column.stated = true;
    if (numbers) column.type_reason = kStringsInMemory;
  }

  /// Decides the layout from the first bytes and prepares the columns. Returns the number of bytes of a byte order
  /// mark.
  std::size_t begin(std::string_view bytes, bool complete) {
    reject_utf16(schema_.source, bytes);
    const std::string_view text = strip_bom(bytes);
    schema_.byte_order_mark = text.size() != bytes.size();
    const TableLayout layout = table_layout(schema_.source, text, complete, options_);
    require_columns(options_, layout.names);
    schema_.separator = layout.separator;
    schema_.header = layout.header;
    schema_.header_reason = layout.header_reason;
    schema_.notes = layout.notes;
    schema_.periods = layout.periods;
    schema_.blank_separated = options_.types.empty() ? layout.blank_separated : 0;
    header_line_ = layout.header ? layout.first_line : 0;
    titles_ = layout.titles;
    schema_.first_line = layout.first_line;
    line_end_ = layout.line_end;
    begin_columns(layout.names);
    schema_.date_parts = find_date_parts(layout.names, layout.rows, options_);
    pairs_ = PanelPairs(layout.names, layout.rows,
                        schema_.date_parts ? std::optional(schema_.date_parts->year) : std::nullopt);
    positions_ = PanelPositions(layout.names, layout.rows);
    unnamed_first_ = layout.unnamed_first;
    splitter_.emplace(layout.separator, layout.line_end, layout.comment);
    if (cells_ != nullptr) cells_->begin(profiles_.size());
    return bytes.size() - text.size();
  }

  void begin_columns(const std::vector<std::string>& names) {
    const auto columns = static_cast<Index>(names.size());
    const Index bound =
        std::clamp(kDistinctBudget / kBytesPerDistinct / std::max<Index>(columns, 1), kFewestDistinct, kMostDistinct);
    profiles_.reserve(names.size());
    hashes_.resize(names.size());
    for (const std::string& name : names) {
      profiles_.emplace_back(name, bound, options_.missing);
      const auto stated = options_.types.find(name);
      if (stated != options_.types.end() && stated->second.type == ColumnType::date) profiles_.back().expect_dates();
    }
  }

  /// Reads the complete rows, or with `last` all rows; returns the number of bytes read.
  std::size_t read_rows(std::string_view bytes, bool last) {
    std::size_t position = 0;
    while (position < bytes.size()) {
      const RowSplitter::Result result = splitter_->next(bytes, position, last, row_);
      if (result == RowSplitter::Result::incomplete) break;
      if (result == RowSplitter::Result::unclosed_quote) {
        schema_.unclosed_quote = splitter_->line();
        splitter_->ignore_quotes();
        continue;
      }
      add_row();
    }
    return position;
  }

  void add_row() {
    if (row_.line_end) {
      Index& ends = line_end_ == '\r'      ? schema_.line_ends.cr
                    : row_.carriage_return ? schema_.line_ends.crlf
                                           : schema_.line_ends.lf;
      ++ends;
    }
    if (!row_.plain) check_bytes();
    if (row_.comment) {
      ++schema_.comments;
      return;
    }
    if (row_.misplaced_quote) schema_.misplaced_quotes.add(row_.line);
    if (row_.cells.size() == 1 && row_.cells[0].empty()) {
      if (profiles_.size() == 1 && row_.line > schema_.first_line) empty_lines_.push_back(row_.line);
      if (empty_lines_.size() > kMostPendingLines) flush_empty_lines();
      return;
    }
    if (row_.line == header_line_ || (titles_ > 0 && row_.line < schema_.first_line)) return;
    if (row_.cells.size() != profiles_.size()) {
      if (schema_.ragged_rows.size() < kMostRaggedRows)
        schema_.ragged_rows.push_back({row_.line, static_cast<Index>(row_.cells.size())});
      schema_.ragged.add(row_.line);
      return;
    }
    flush_empty_lines();
    if (rows_ == 0) schema_.first_row = row_.line;
    if (cells_ != nullptr) cells_->add_row(row_.cells, row_.line);
    if (schema_.date_parts && schema_.date_parts->compose(row_.cells, date_))
      row_.cells[schema_.date_parts->year] = date_;
    // The hashes of all cells first, so that what they find is loaded in the meantime.
    const std::size_t columns = profiles_.size();
    const std::string_view* const cells = row_.cells.data();
    ColumnProfile* const profiles = profiles_.data();
    std::uint64_t* const hashes = hashes_.data();
    for (std::size_t c = 0; c < columns; ++c) {
      hashes[c] = hash_of_cell(cells[c]);
      profiles[c].prefetch(hashes[c]);
    }
    for (std::size_t c = 0; c < columns; ++c) profiles[c].add(cells[c], row_.line, hashes[c]);
    positions_.prefetch(profiles_);
    pairs_.add(profiles_);
    residuals_.add(profiles_);
    positions_.add(row_.cells, profiles_);
    if (cells_ != nullptr) cells_->add_numbers(row_.cells, profiles_);
    ++rows_;
  }

  /// Empty lines of a table with one column are missing values, except at the beginning and at the end.
  void flush_empty_lines() {
    static const std::vector<std::string_view> kEmptyRow(1);
    for (const Index line : empty_lines_) {
      profiles_[0].add({}, line);
      if (cells_ != nullptr) {
        cells_->add_row(kEmptyRow, line);
        cells_->add_numbers(kEmptyRow, profiles_);
      }
      ++rows_;
    }
    empty_lines_.clear();
  }

  void check_bytes() {
    Index controls = 0;
    for (const char c : row_.bytes) {
      const auto byte = static_cast<unsigned char>(c);
      controls += (byte < 0x20 && c != '\t' && c != '\r' && c != '\n') || byte == 0x7F ? 1 : 0;
    }
    if (controls > 0) schema_.control_characters.add(row_.line, controls);
    std::string_view rest = row_.bytes;
    for (Index bad = find_invalid_utf8(rest); bad >= 0; bad = find_invalid_utf8(rest)) {
      schema_.undecodable.add(row_.line);
      rest.remove_prefix(at(bad) + 1);
    }
  }

  static constexpr std::size_t kMostPendingLines = 1 << 16;

  SchemaOptions options_;
  TableSchema schema_;
  std::string pending_;     ///< bytes that are not yet read
  std::size_t wanted_ = 0;  ///< number of bytes to wait for before the next attempt to read a row
  std::optional<RowSplitter> splitter_;
  TableRow row_;
  std::vector<ColumnProfile> profiles_;
  std::vector<std::uint64_t> hashes_;  ///< of the cells of a row
  PanelPairs pairs_;
  PanelPositions positions_;
  ResidualDependence residuals_;
  TableCells* cells_ = nullptr;
  std::string date_;  ///< date of the row, composed of its parts
  std::vector<Index> empty_lines_;
  Index header_line_ = 0, titles_ = 0, rows_ = 0;
  bool unnamed_first_ = false;  ///< the first column has no name
  char line_end_ = '\n';
};

SchemaInference::SchemaInference(std::string source, SchemaOptions options)
    : state_(std::make_unique<State>(std::move(source), std::move(options))) {}
SchemaInference::SchemaInference(SchemaInference&&) noexcept = default;
SchemaInference& SchemaInference::operator=(SchemaInference&&) noexcept = default;
SchemaInference::~SchemaInference() = default;
void SchemaInference::add(std::string_view bytes) { state_->add(bytes); }
TableSchema SchemaInference::finish() { return state_->finish(); }
TableSchema SchemaInference::finish(const std::vector<ColumnCells>& columns, Index rows) {
  return state_->finish(columns, rows);
}
TableSchema SchemaInference::finish(std::string_view bytes, TableCells* cells) { return state_->finish(bytes, cells); }

TableSchema infer_table_schema(const std::string& source, std::string_view bytes, const SchemaOptions& options) {
  return SchemaInference(source, options).finish(bytes, nullptr);
}

TableSchema infer_table_schema(const std::string& source, std::string_view bytes, const SchemaOptions& options,
                               TableCells& cells) {
  return SchemaInference(source, options).finish(bytes, &cells);
}

TableSchema infer_table_schema(const std::string& source, const std::vector<ColumnCells>& columns, Index rows,
                               const SchemaOptions& options) {
  return SchemaInference(source, options).finish(columns, rows);
}

TableSchema infer_table_schema_of_file(const std::string& path, const SchemaOptions& options) {
  if (path == "-" || compression_of(path) != Compression::none) {
    const Input input = Input::open(path);
    return infer_table_schema(input.name(), input.bytes(), options);
  }
  const int descriptor = open_for_reading(path);
  const auto close_file = [](const int* open) { ::close(*open); };
  const std::unique_ptr<const int, decltype(close_file)> closing(&descriptor, close_file);
  SchemaInference inference(path, options);
  std::string piece(kPieceBytes, '\0');
  for (;;) {
    const std::size_t size = read_some(descriptor, path, piece.data(), piece.size());
    if (size == 0) return inference.finish();
    inference.add(std::string_view(piece).substr(0, size));
  }
}

}  // namespace unfold
