#include "data/schema/inference/column_roles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "base/options/shell_argument.h"
#include "data/schema/column_names.h"
#include "data/schema/describe_schema.h"
#include "data/schema/inference/independent_rows.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr Index kRowsPerGroup = 2;
constexpr Index kRowsPerUnorderedGroup = 3;
constexpr Index kRowsPerCode = 10;             ///< minimum mean number of rows of a code that is read as a category
constexpr Index kRowsOfDay = 5;                ///< minimum mean number of rows of a day, if times of day order the rows
constexpr double kShareOfNumberedPanel = 0.9;  ///< like kShareOfPanel, if integers distinguish the rows

/// Returns the name of a column as an argument in a suggested command.
std::string shell_name(const ColumnSchema& column) { return shell_argument(escape_cell(column.name, kMostOddBytes)); }

class RoleAssignment {
 public:
  RoleAssignment(TableSchema& schema, const SchemaOptions& options, const std::vector<PanelPositions::Pair>& positions,
                 const std::vector<bool>& serial, const ResidualDependence& residuals)
      : schema_(schema), options_(options), positions_(positions), rows_(schema, options, serial, residuals) {}

  void assign() {
    require_no_separate_rows();
    text_ = options_.rows == RowMeaning::sequence ? nullptr : find_text();
    const ColumnSchema* order = options_.rows == RowMeaning::independent ? nullptr : find_order();
    if (text_ != nullptr && is_series(order)) text_ = nullptr;
    if (text_ != nullptr) require_no_sequences();
    const bool apart = text_ != nullptr || options_.rows == RowMeaning::independent;
    const ColumnSchema* group = apart ? nullptr : find_group(order != nullptr);
    if (!apart && group == nullptr && order != nullptr) group = find_panel(*order);
    if (!apart && (group == nullptr || order == nullptr)) find_counted_panel(group, order);
    if (text_ != nullptr) order = nullptr;
    if (!apart && rows_.are_records(group, order, inferred_target(nullptr))) {
      records_ = true;
      group = order = nullptr;
    }
    if (group == nullptr && order != nullptr && are_independent(order)) order = nullptr;
    // A row counter used as the group could not order anything; find_group never returns the order.
    schema_.events = is_event_table(group, order) && predicts_event();
    const bool infers = options_.predict.empty() && options_.infer_roles;
    const ColumnSchema* target = infers ? find_target(group, order) : nullptr;
    for (ColumnSchema& column : schema_.columns) {
      if (named(options_.predict, column)) {
        set(column, ColumnRole::predicted, "set by --predict");
      } else if (target != nullptr && (targets_.empty() ? &column == target : is_one_of_targets(column))) {
        set(column, ColumnRole::predicted, target_reason_);
      } else if (&column == group) {
        set_group(column);
      } else if (&column == order && (column.type == ColumnType::date || !named(options_.read, column))) {
        set(column, ColumnRole::order, order_reason_ + (named(options_.read, column) ? "; read, too (--read)" : ""));
      } else {
        set_reading(column, target);
      }
    }
    decide_rows(group, order);
    if (text_ != nullptr || schema_.independent_rows) read_repeated_codes();
  }

 private:
  static bool named(const std::vector<std::string>& names, const ColumnSchema& column) {
    return std::find(names.begin(), names.end(), column.name) != names.end();
  }
  static void set(ColumnSchema& column, ColumnRole role, std::string reason) {
    column.role = role;
    column.role_reason = std::move(reason);
  }

  void set_group(ColumnSchema& column) {
    set(column, ColumnRole::group, group_reason_);
    if (options_.group || !named(options_.read, column)) return;
    schema_.notes.push_back(
        fmt::format("column {0} groups the rows and is not read, although --read names it: it is the same in all rows "
                    "of a sequence",
                    escape_cell(column.name, 40)));
  }

  void set_reading(ColumnSchema& column, const ColumnSchema* target) const {
    if (!options_.read.empty()) {
      const bool read = named(options_.read, column);
      return set(column, read ? ColumnRole::read : ColumnRole::left_out,
                 read ? "set by --read" : "not among the columns of --read");
    }
    if (is_date_part(column))
      return set(column, ColumnRole::left_out,
                 fmt::format("part of the dates of column {}", schema_.columns[schema_.date_parts->year].name));
    switch (column.type) {
      case ColumnType::constant: return set(column, ColumnRole::left_out, "it has only one value");
      case ColumnType::empty: return set(column, ColumnRole::left_out, "it has no values");
      case ColumnType::identifier:
        if (column.distinct * kRowsPerGroup > column.entries()) {
          return set(column, ColumnRole::left_out, "identifiers differ from row to row");
        }
        return set(column, ColumnRole::left_out,
                   "identifiers; specify --group " + shell_name(column) + " to group the rows");
      case ColumnType::date: return set(column, ColumnRole::read, "calendar features of the date");
      case ColumnType::text: return set_text(column, target);
      default: return set(column, ColumnRole::read, "an input");
    }
  }

  /// Reads codes that repeat, such as a postcode, as categories: their names suggest identifiers, but each stands for
  /// many examples.
  void read_repeated_codes() {
    for (ColumnSchema& column : schema_.columns) {
      if (column.type != ColumnType::identifier || column.stated || column.distinct < 2) continue;
      if (column.entries() < kRowsPerCode * column.distinct || named(options_.predict, column)) continue;
      column.type = ColumnType::category;
      column.class_labels = column.least.has_value();
      column.type_reason = fmt::format("codes that repeat, {} rows each on average",
                                       column.entries() / std::max<Index>(column.distinct, 1));
      if (options_.read.empty() && column.role == ColumnRole::left_out && !is_date_part(column))
        set(column, ColumnRole::read, "an input");
    }
  }

  bool is_date_part(const ColumnSchema& column) const {
    return schema_.date_parts && schema_.date_parts->has(static_cast<std::size_t>(&column - schema_.columns.data()));
  }

  /// Several texts of a row are read as one, unless the first one is predicted.
  void set_text(ColumnSchema& column, const ColumnSchema* target) const {
    if (&column == text_)
      return set(column, ColumnRole::read,
                 column.unit == TextUnit::words ? "each entry is read as words" : "each entry is read as characters");
    if (is_name_of_row(column))
      return set(column, ColumnRole::left_out,
                 fmt::format("names that differ from row to row; use --read to read them, for example --read {}",
                             shell_name(column)));
    const std::string state =
        fmt::format("; use --types {}=category to read each entry as one symbol", shell_name(column));
    if (text_ != nullptr && text_ != target && text_->unit == TextUnit::words && column.unit == TextUnit::words &&
        !named(options_.predict, *text_))
      return set(column, ColumnRole::read,
                 fmt::format("its words follow those of column {}", escape_cell(text_->name, 40)));
    if (text_ != nullptr)
      return set(column, ColumnRole::left_out,
                 fmt::format("column {} is the text of a row; use --read {} to read this column instead",
                             escape_cell(text_->name, 40), shell_name(column)));
    set(column, ColumnRole::left_out, "text in the rows of a series" + state);
  }

  /// Returns the column whose entries are the examples: a text that is predicted or read; the first one with words.
  const ColumnSchema* find_text() const {
    const ColumnSchema* found = nullptr;
    for (const ColumnSchema& column : schema_.columns) {
      if (column.type != ColumnType::text || (!options_.read.empty() && !is_chosen(column))) continue;
      if (options_.group == column.name || options_.order == column.name) continue;
      if (!is_chosen(column) && is_name_of_row(column)) continue;
      if (found == nullptr || (found->unit != TextUnit::words && column.unit == TextUnit::words)) found = &column;
    }
    return found;
  }
  /// Returns whether a text is only the name of each row, such as the model of a car: it is short, nearly all entries
  /// differ, and several other columns describe the rows.
  bool is_name_of_row(const ColumnSchema& column) const {
    constexpr double kDifferent = 0.9;
    constexpr Index kFewestInputs = 3;
    if (column.words >= kWordsOfText) return false;
    if (static_cast<double>(column.distinct) < kDifferent * static_cast<double>(column.entries())) return false;
    const auto inputs = std::ranges::count_if(schema_.columns, [&](const ColumnSchema& other) {
      return is_predictable(other) && !named(options_.predict, other);
    });
    return inputs - (options_.predict.empty() ? 1 : 0) >= kFewestInputs;
  }
  bool is_chosen(const ColumnSchema& column) const {
    return named(options_.read, column) || named(options_.predict, column);
  }

  /// Returns whether the rows form a time series, in which a text is a comment on a row: dates are regular, and there
  /// is a number to predict.
  bool is_series(const ColumnSchema* order) const {
    if (order == nullptr || !options_.read.empty()) return false;
    if (options_.order) return true;
    const bool numbers = std::any_of(schema_.columns.begin(), schema_.columns.end(), [&](const ColumnSchema& column) {
      return (column.type == ColumnType::number || column.type == ColumnType::integer) &&
             (options_.predict.empty() ? !is_class_name(column.name) : named(options_.predict, column));
    });
    const bool classes = std::any_of(schema_.columns.begin(), schema_.columns.end(), [](const ColumnSchema& column) {
      return is_class_name(column.name) && is_predictable(column);
    });
    return order->type == ColumnType::date && order->step.regular && numbers && !classes;
  }

  /// Decides whether each row is an example: as stated, or if nothing orders or groups the rows and neighbors are not
  /// more similar than other rows.
  void decide_rows(const ColumnSchema* group, const ColumnSchema* order) {
    if (text_ != nullptr || options_.rows == RowMeaning::sequence) return;
    if (options_.rows == RowMeaning::independent) {
      schema_.independent_rows = true;
      schema_.rows_reason = kRowsAreStated;
      return;
    }
    if (!options_.infer_roles) return;
    if (group != nullptr || order != nullptr) {
      if (!options_.group && !options_.order) schema_.rows_reason = reason_of_sequences(group, order);
      return;
    }
    schema_.independent_rows = records_ || are_independent(nullptr);
    if (schema_.independent_rows)
      schema_.rows_reason = rows_.reason();
    else if (schema_.columns.size() > 1 && schema_.periods.empty())
      schema_.rows_reason = "no column orders or groups the rows; they are read in the order of the file";
  }

  /// Returns a clause on the column that was chosen to group or order the rows; empty for a series in regular time.
  static std::string reason_of_sequences(const ColumnSchema* group, const ColumnSchema* order) {
    const std::string in_order = order == nullptr ? "" : ", in the order of " + escape_cell(order->name, 40);
    if (group != nullptr)
      return fmt::format("the rows with the same {} follow each other{}", escape_cell(group->name, 40), in_order);
    const bool regular = order->type != ColumnType::date || order->step.regular;
    return regular ? std::string() : "the rows follow each other" + in_order;
  }

  /// Returns the column that is predicted without a group; null if --predict names it.
  const ColumnSchema* inferred_target(const ColumnSchema* order) {
    return options_.predict.empty() ? find_target(nullptr, order) : nullptr;
  }

  bool are_independent(const ColumnSchema* order) { return rows_.are_independent(order, inferred_target(order)); }

  void require_no_separate_rows() const {
    if (options_.rows != RowMeaning::independent || (!options_.group && !options_.order)) return;
    throw UsageError(
        fmt::format("--rows independent makes each row an example, and --{} makes sequences of rows; "
                    "leave one of them out",
                    options_.group ? "group" : "order"));
  }

  void require_no_sequences() const {
    if ((!options_.group && !options_.order) || !options_.infer_roles) return;
    throw UsageError(
        fmt::format("--{0} {1} makes sequences of rows, but each row has a separate text, {2}; omit --{0}, or use "
                    "--types {3}=category to read each text as one symbol",
                    options_.group ? "group" : "order",
                    escape_cell(options_.group ? *options_.group : *options_.order, kMostOddBytes),
                    escape_cell(text_->name, kMostOddBytes), shell_name(*text_)));
  }

  const ColumnSchema* find_order() {
    if (options_.order) {
      order_reason_ = "set by --order";
      return schema_.find(*options_.order);
    }
    if (!options_.infer_roles) return nullptr;
    const ColumnSchema* time_of_day = nullptr;
    for (const ColumnSchema& column : schema_.columns) {
      if (column.type != ColumnType::date || named(options_.predict, column) || options_.group == column.name) continue;
      if (column.date_format == DateFormat::time_of_day) {
        // Times of day start again every day; durations have no order.
        const bool orders = kRowsOfDay * column.step.descents <= column.entries() && !is_duration_name(column.name);
        if (time_of_day == nullptr && orders) time_of_day = &column;
        continue;
      }
      order_reason_ = "the first date column";
      if (schema_.date_parts && &column == &schema_.columns[schema_.date_parts->year])
        order_reason_ += ", " + names_of_parts();
      return &column;
    }
    if (time_of_day != nullptr) {
      order_reason_ = "the only time column";
      return time_of_day;
    }
    for (const ColumnSchema& column : schema_.columns) {
      const bool counts = column.type == ColumnType::identifier && column.least;
      if (counts && is_position_name(column.name) && !is_taken(column)) {
        order_reason_ = "counts the rows and is named like a position";
        return &column;
      }
    }
    return nullptr;
  }

  std::string names_of_parts() const {
    std::vector<std::string> names;
    for (const ColumnSchema& column : schema_.columns)
      if (is_date_part(column)) names.push_back(escape_cell(column.name, 40));
    return fmt::format("completed by {}", fmt::join(names, ", "));
  }

  bool is_taken(const ColumnSchema& column) const {
    return named(options_.predict, column) || named(options_.read, column) || options_.group == column.name;
  }

  /// Returns whether a column may group the rows: with --read, it does as without, unless it is the only input.
  bool may_group(const ColumnSchema& column) const {
    if (named(options_.predict, column)) return false;
    return !named(options_.read, column) ||
           std::ranges::count_if(schema_.columns, [&](const ColumnSchema& c) { return named(options_.read, c); }) > 1;
  }

  const ColumnSchema* find_group(bool ordered) {
    if (options_.group) {
      group_reason_ = "set by --group";
      return schema_.find(*options_.group);
    }
    if (!options_.infer_roles) return nullptr;
    for (const ColumnSchema& column : schema_.columns) {
      const bool type = column.type == ColumnType::identifier || column.type == ColumnType::category ||
                        column.type == ColumnType::integer;
      if (!type || !may_group(column) || column.class_labels || options_.order == column.name) continue;
      if (!is_group_name(column.name) || column.distinct < 2) continue;
      if (column.distinct * (ordered ? kRowsPerGroup : kRowsPerUnorderedGroup) > column.entries()) continue;
      if (!ordered && (!is_identifier_name(column.name) || column.name.size() <= 2)) continue;
      group_reason_ = fmt::format("{} values that repeat, {} rows each on average", column.distinct,
                                  column.entries() / std::max<Index>(column.distinct, 1));
      return &column;
    }
    return nullptr;
  }

  /// Returns the column that distinguishes the rows of a panel: each time occurs in most groups, at most once in each.
  /// Integers may be measurements, so all times must occur in almost all groups.
  const ColumnSchema* find_panel(const ColumnSchema& order) {
    const bool repeats = order.type == ColumnType::date && 3 * order.distinct <= 2 * order.entries();
    if (options_.group || !options_.infer_roles || !repeats) return nullptr;
    for (const ColumnSchema& column : schema_.columns) {
      const bool texts = column.type == ColumnType::identifier || column.type == ColumnType::category;
      if (!column.panel || (!texts && column.type != ColumnType::integer) || column.missing > 0) continue;
      if (&column == &order || !may_group(column) || is_class_name(column.name) || is_date_part(column)) continue;
      if (is_date_name(column.name) || is_position_name(column.name) || lower_name(column.name) == "quarter") continue;
      if (column.distinct < 2 || column.distinct * kRowsPerGroup > column.entries()) continue;
      const double full = static_cast<double>(column.distinct) * static_cast<double>(order.distinct);
      const double share = texts && !column.class_labels ? kShareOfPanel : kShareOfNumberedPanel;
      if (static_cast<double>(column.entries()) < share * full || !leaves_target(column, order)) continue;
      group_reason_ =
          fmt::format("each {} has its own series: no two rows have the same {} and {}", escape_cell(column.name, 40),
                      escape_cell(column.name, 40), escape_cell(order.name, 40));
      return &column;
    }
    return nullptr;
  }

  /// Sets the group and the order of a panel without dates, whose series are counted by a column of integers.
  void find_counted_panel(const ColumnSchema*& group, const ColumnSchema*& order) {
    if (!options_.infer_roles || !schema_.periods.empty()) return;
    const PanelPositions::Pair* best = nullptr;
    for (const PanelPositions::Pair& pair : positions_) {
      const ColumnSchema &own_order = schema_.columns[pair.order], &own_group = schema_.columns[pair.group];
      if ((order != nullptr && order != &own_order) || (group != nullptr && group != &own_group)) continue;
      if ((order == nullptr && is_taken(own_order)) || (group == nullptr && !may_group(own_group))) continue;
      if (group == nullptr && !can_be_counted(own_group, pair)) continue;
      if (pair.series < 2 || !names_series(pair) || !leaves_target(own_group, own_order)) continue;
      if (best == nullptr || preference(pair) > preference(*best)) best = &pair;
    }
    if (best == nullptr) return;
    const ColumnSchema &own_order = schema_.columns[best->order], &own_group = schema_.columns[best->group];
    const std::string counted = fmt::format("{} increases by the same step within each {}",
                                            escape_cell(own_order.name, 40), escape_cell(own_group.name, 40));
    if (order == nullptr) order = &own_order, order_reason_ = counted;
    if (group == nullptr) group = &own_group, group_reason_ = counted;
  }

  bool can_be_counted(const ColumnSchema& group, const PanelPositions::Pair& pair) const {
    const bool type =
        group.type == ColumnType::identifier || group.type == ColumnType::category || group.type == ColumnType::integer;
    // The last column may be a label.
    const bool is_last = &group == &schema_.columns.back() && options_.predict.empty();
    return type && !is_last && !is_class_name(group.name) && !is_date_part(group) &&
           !(is_position_name(group.name) && !is_position_name(schema_.columns[pair.order].name));
  }

  /// Returns whether the name of the order, or the length of the series, shows that it is not a factor of an
  /// experiment.
  bool names_series(const PanelPositions::Pair& pair) const {
    constexpr Index kNamedRows = 3, kUnnamedRows = 20;
    const std::string& name = schema_.columns[pair.order].name;
    const bool named_order = is_position_name(name) || is_date_name(name);
    return pair.rows >= (named_order ? kNamedRows : kUnnamedRows) * pair.series;
  }

  /// Prefers names of times and groups, then long series.
  std::tuple<bool, bool, Index> preference(const PanelPositions::Pair& pair) const {
    const std::string& order = schema_.columns[pair.order].name;
    return {is_position_name(order) || is_date_name(order), is_group_name(schema_.columns[pair.group].name),
            pair.rows / pair.series};
  }

  /// Returns whether there is something to predict in addition to the group and the order.
  bool leaves_target(const ColumnSchema& group, const ColumnSchema& order) const {
    return !options_.predict.empty() || std::ranges::any_of(schema_.columns, [&](const ColumnSchema& column) {
      return &column != &group && &column != &order && is_predictable(column) && !is_date_part(column);
    });
  }

  bool is_event_table(const ColumnSchema* group, const ColumnSchema* order) {
    if (group == nullptr || order == nullptr) return false;
    bool numbers = false;
    const ColumnSchema* category = nullptr;
    const ColumnSchema* event = nullptr;
    for (const ColumnSchema& column : schema_.columns) {
      if (&column == group || &column == order) continue;
      if (is_class_name(column.name)) return false;
      numbers = numbers || column.type == ColumnType::number || column.type == ColumnType::integer;
      if (column.type != ColumnType::category) continue;
      category = &column;
      if (event == nullptr && is_event_name(column.name)) event = &column;
    }
    event_ = event != nullptr ? event : numbers ? nullptr : category;
    return event_ != nullptr;
  }

  /// Returns whether the event is predicted: by default, or because --predict names it alone.
  bool predicts_event() const {
    const std::vector<std::string>& predict = options_.predict;
    return predict.empty() || (options_.infer_roles && predict.size() == 1 && predict.front() == event_->name);
  }

  /// Returns whether a column has only two values, such as 0 and 1 for holidays.
  static bool is_flag(const ColumnSchema& column) {
    constexpr Index kFewest = 8;  // entries from which two values are conspicuous
    return column.distinct <= 2 && column.entries() >= kFewest;
  }

  /// Returns a column that counts the rows; it is a value only if there is nothing else to predict.
  ColumnSchema* find_counter(const ColumnSchema* group, const ColumnSchema* order) {
    ColumnSchema* last = nullptr;
    for (ColumnSchema& column : schema_.columns)
      if (column.type == ColumnType::identifier && column.least && !is_identifier_name(column.name) &&
          &column != group && &column != order && !named(options_.read, column))
        last = &column;
    return last;
  }

  /// Returns whether a numeric column of a series may be one of several measurements, such as those of sensors.
  bool is_measurement(const ColumnSchema& column, const ColumnSchema* group, const ColumnSchema* order) const {
    const bool number = column.type == ColumnType::number || column.type == ColumnType::integer;
    return number && &column != group && &column != order && !named(options_.read, column) && !is_flag(column) &&
           !is_date_part(column) && !is_date_name(column.name) && !is_position_name(column.name) &&
           !is_group_name(column.name) && !is_identifier_name(column.name);
  }

  bool is_one_of_targets(const ColumnSchema& column) const {
    return std::ranges::find(targets_, &column) != targets_.end();
  }

  /// If no column of a series is named like its target, all measurements are predicted. Does nothing if there is only
  /// one, or too many.
  void find_targets(const ColumnSchema* group, const ColumnSchema* order) {
    constexpr std::size_t kMost = 20;
    for (const ColumnSchema& column : schema_.columns)
      if (is_measurement(column, group, order)) targets_.push_back(&column);
    if (targets_.size() < 2 || targets_.size() > kMost) targets_.clear();
  }

  /// Returns the predicted column; null if there is none. Sets `targets_` if several columns are predicted instead.
  const ColumnSchema* find_target(const ColumnSchema* group, const ColumnSchema* order) {
    targets_.clear();
    if (schema_.events) {
      target_reason_ = fmt::format("the next event of each {}, from its earlier ones", escape_cell(group->name, 40));
      return event_;
    }
    const ColumnSchema* last = nullptr;
    const ColumnSchema *quantity = nullptr, *last_quantity = nullptr;  // of a series
    for (const ColumnSchema& column : schema_.columns) {
      if (&column == group || &column == order || named(options_.read, column) || !is_predictable(column)) continue;
      if (is_date_part(column)) continue;
      if (is_class_name(column.name)) {
        target_reason_ = "it is named like a class or target";
        return &column;
      }
      last = &column;
      if (order == nullptr || column.type == ColumnType::category || is_flag(column)) continue;
      last_quantity = &column;
      if (quantity == nullptr && is_quantity_name(column.name)) quantity = &column;
    }
    if (const ColumnSchema* value = schema_.find("value"); value != nullptr && value != group && value != order &&
                                                           !named(options_.read, *value) && is_predictable(*value)) {
      target_reason_ = "it is named value";
      return value;
    }
    if (quantity != nullptr) {
      target_reason_ = "a column of a series that is named like a quantity, from its earlier values";
      return quantity;
    }
    if (last_quantity != nullptr) last = last_quantity;
    if (last == nullptr && text_ != nullptr) {
      target_reason_ = "the next word or character of the text, from the earlier ones";
      return text_;
    }
    if (last == nullptr && group != nullptr) {
      ColumnSchema* counter = find_counter(group, order);
      if (counter == nullptr) return nullptr;
      counter->type = ColumnType::integer;
      counter->type_reason = "integers";
      last = counter;
    }
    if (last == nullptr) return nullptr;
    const bool series = order != nullptr && last->type != ColumnType::category;
    if (series) find_targets(group, order);
    target_reason_ = !targets_.empty()
                         ? "one of the numeric columns of a series, all of which are predicted from their "
                           "earlier values; --predict chooses"
                     : series ? "the last numeric column of a series, from its earlier values"
                              : "the last numeric or categorical column";
    return last;
  }

  TableSchema& schema_;
  const SchemaOptions& options_;
  const std::vector<PanelPositions::Pair>& positions_;
  IndependentRows rows_;
  const ColumnSchema* event_ = nullptr;
  std::vector<const ColumnSchema*> targets_;  ///< several predicted columns; empty if there is at most one
  const ColumnSchema* text_ = nullptr;        ///< rows are examples with separate texts
  bool records_ = false;                      ///< rows are examples, as `rows_` has decided by their groups or dates
  std::string group_reason_, order_reason_, target_reason_;
};

}  // namespace

void assign_roles(TableSchema& schema, const SchemaOptions& options, const std::vector<PanelPositions::Pair>& positions,
                  const std::vector<bool>& serial, const ResidualDependence& residuals) {
  RoleAssignment(schema, options, positions, serial, residuals).assign();
}

}  // namespace unfold
