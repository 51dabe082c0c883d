#include "data/schema/inference/independent_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/schema/column_names.h"
#include "data/schema/describe_schema.h"

namespace unfold {
namespace {

constexpr Index kRowsOfSequence = 4;  ///< groups with fewer rows on average are not sequences if the rows are records
constexpr Index kRowsToCompare = 20;  ///< with fewer rows, their neighbors do not show whether they are a sequence

/// Decides by the columns that depend on the preceding rows whether the rows are a sequence. One of 30 columns seems to
/// depend on them by chance, so a single column decides only if it certainly does. Sorted columns always depend on
/// them.
class SerialColumns {
 public:
  void add_input(const ColumnSchema& column, bool certainly) {
    unsorted_numbers_ = unsorted_numbers_ && !column.sorted && column.type != ColumnType::category;
    if (column.sorted && column.type != ColumnType::category) return;
    const bool counts = !column.sorted;
    ++inputs_;
    serial_ += counts && column.serial ? 1 : 0;
    certain_ += counts && certainly ? 1 : 0;
  }
  void add_target(const ColumnSchema& column, bool certainly) {
    only_sorted_ = only_sorted_ && column.sorted;
    if (column.sorted || is_class_name(column.name)) return;
    decides_ = true;
    target_ = target_ || column.serial;
    certain_target_ = certain_target_ || certainly;
  }
  void add_residuals_of_target(bool depend) { certain_target_ = certain_target_ || depend; }
  bool has_certain_target() const { return certain_target_; }
  /// Returns whether nearly all columns depend on the preceding rows, or the predicted column does and there are only
  /// one or two numbers in addition to it. In a table of examples that was sorted, or put together from several
  /// sources, some columns do.
  bool are_a_sequence() const {
    constexpr Index kFewInputs = 2;
    if (inputs_ == 0) return target_ || only_sorted_;
    const bool nearly_all = inputs_ <= kFewInputs ? certain_ == inputs_ : 5 * serial_ >= 4 * inputs_;
    const bool small = inputs_ <= kFewInputs && unsorted_numbers_ && certain_target_;
    return small || (nearly_all && (target_ || !decides_));
  }
  bool some_depend() const { return serial_ > 0 || target_ || certain_target_; }

 private:
  Index inputs_ = 0, serial_ = 0, certain_ = 0;
  bool target_ = false, certain_target_ = false, only_sorted_ = true;
  bool unsorted_numbers_ = true;  ///< all inputs are numbers and none is sorted
  bool decides_ = false;          ///< whether a predicted column is neither sorted nor named like a class
};

bool is_irregular(const ColumnSchema& order) { return order.type == ColumnType::date && !order.step.regular; }

bool is_named(const std::vector<std::string>& names, const ColumnSchema& column) {
  return std::ranges::find(names, column.name) != names.end();
}

}  // namespace

bool is_predictable(const ColumnSchema& column) {
  return column.type == ColumnType::number || column.type == ColumnType::integer || column.type == ColumnType::category;
}

/// Returns whether no option decides what the rows are.
bool IndependentRows::may_decide() const {
  return options_.infer_roles && !options_.rows && !options_.order && !options_.group && schema_.periods.empty();
}

bool IndependentRows::is_certainly_serial(const ColumnSchema& column) const {
  return serial_[static_cast<std::size_t>(&column - schema_.columns.data())];
}

bool IndependentRows::is_target(const ColumnSchema& column, const ColumnSchema* inferred) const {
  return &column == inferred || is_named(options_.predict, column);
}

bool IndependentRows::is_input(const ColumnSchema& column) const {
  return options_.read.empty() || is_named(options_.read, column);
}

bool IndependentRows::are_records(const ColumnSchema* group, const ColumnSchema* order, const ColumnSchema* inferred) {
  if (!may_decide()) return false;
  if ((group == nullptr && order == nullptr) || (order != nullptr && !is_irregular(*order))) return false;
  if (group != nullptr && order != nullptr && are_dates_properties(*group, *order, inferred)) return true;
  const ColumnSchema* described = nullptr;
  for (const ColumnSchema& column : schema_.columns) {
    if (&column == group || &column == order) continue;
    const bool named_class = is_class_name(column.name) && column.type == ColumnType::category;
    const bool text = column.words >= kWordsOfText && column.type == ColumnType::category;
    if (described == nullptr && column.distinct > 1 && (named_class || (group != nullptr && text))) described = &column;
  }
  if (described == nullptr) return false;
  if (group == nullptr) {
    const ColumnSchema* identifier = row_identifier();
    if (identifier == nullptr) return false;
    reason_ = fmt::format("each row has its own {} and a {}", escape_cell(identifier->name, 40),
                          escape_cell(described->name, 40));
    return true;
  }
  if (group->entries() >= kRowsOfSequence * group->distinct) return false;
  reason_ = fmt::format("there are only {:.1f} rows per {} on average, and each row has a {}",
                        static_cast<double>(group->entries()) / static_cast<double>(group->distinct),
                        escape_cell(group->name, 40), escape_cell(described->name, 40));
  return true;
}

/// Returns whether a date, such as the begin of a contract, is a property of each row rather than its position among
/// the rows with the same entry, such as a city: the dates are neither regular nor sorted within the groups, each row
/// has a separate identifier or a class, and the other columns do not depend on the preceding rows.
bool IndependentRows::are_dates_properties(const ColumnSchema& group, const ColumnSchema& order,
                                           const ColumnSchema* inferred) {
  constexpr Index kRowsPerDescent = 3, kDescentsPerGroup = 2, kFewestInputs = 2;
  const Index descents = order.step.descents;  // dates sorted within adjacent groups have one descent per group
  const bool unsorted = kRowsPerDescent * descents >= order.entries() && descents >= kDescentsPerGroup * group.distinct;
  const double full = static_cast<double>(group.distinct) * static_cast<double>(order.distinct);
  const bool is_panel = group.panel && static_cast<double>(group.entries()) >= kShareOfPanel * full;
  if (!is_irregular(order) || !unsorted || is_panel || is_identifier_name(group.name)) return false;
  const ColumnSchema* described = nullptr;
  SerialColumns found;
  Index inputs = 0;
  for (const ColumnSchema& column : schema_.columns) {
    if (&column == &group || &column == &order || !is_predictable(column)) continue;
    if (is_target(column, inferred)) {
      if (is_class_name(column.name)) described = &column;
      found.add_target(column, is_certainly_serial(column));
    } else {
      found.add_input(column, is_certainly_serial(column));
      ++inputs;
    }
  }
  const ColumnSchema* identifier = row_identifier();
  if (identifier != nullptr) described = identifier;
  if (described == nullptr || inputs < kFewestInputs || found.are_a_sequence()) return false;
  reason_ = fmt::format("each row has {} {}, and its {} is neither regular nor sorted",
                        identifier != nullptr ? "its own" : "a", escape_cell(described->name, 40),
                        escape_cell(order.name, 40));
  return true;
}

/// Returns a column that is named like an identifier and differs in all rows; null if there is none.
const ColumnSchema* IndependentRows::row_identifier() const {
  const auto found = std::ranges::find_if(schema_.columns, [](const ColumnSchema& column) {
    return column.type == ColumnType::identifier && is_identifier_name(column.name) && column.missing == 0 &&
           column.distinct == column.entries();
  });
  return found == schema_.columns.end() ? nullptr : &*found;
}

bool IndependentRows::are_independent(const ColumnSchema* order, const ColumnSchema* inferred) {
  if (!may_decide()) return false;
  // A few dates that recur in any order, such as the year of a model of a car, have a regular step, too.
  const bool follows =
      order != nullptr && (order->type != ColumnType::date || order->step.order != DateStep::Order::unsorted ||
                           (order->step.regular && 2 * order->distinct >= order->entries()));
  if (follows) return false;
  Index numbers = 0;
  SerialColumns found;
  bool target = false, target_is_class = false, target_is_category = false;
  std::string identifier;
  for (const ColumnSchema& column : schema_.columns) {
    if (is_target(column, inferred)) {
      const bool is_class = is_class_name(column.name);
      if (is_named(options_.read, column)) return false;
      found.add_target(column, is_certainly_serial(column));
      target = target || is_predictable(column);
      target_is_class = target_is_class || is_class;
      target_is_category = target_is_category || column.type == ColumnType::category;
    } else if (column.type == ColumnType::identifier) {
      if (is_identifier_name(column.name) && column.distinct == column.entries()) identifier = column.name;
    } else if (is_predictable(column) && is_input(column)) {
      numbers += column.type == ColumnType::category ? 0 : 1;
      found.add_input(column, is_certainly_serial(column));
    }
  }
  if (!target) return false;
  if (numbers == 0 && !are_records_of_categories(inferred)) return false;
  if (!identifier.empty() && target_is_category && !found.has_certain_target()) {
    reason_ = fmt::format("each row has its own {}", escape_cell(identifier, 40));
    return true;
  }
  found.add_residuals_of_target(have_serial_residuals(inferred));
  if (numbers > 0 && found.are_a_sequence()) return false;
  reason_ = found.some_depend()
                ? "no column orders or groups the rows, although some neighbors are similar"
                : "no column orders or groups the rows, and neighbors are not more similar than other rows";
  return target_is_class || schema_.rows >= kRowsToCompare;
}

/// Returns whether rows without numbers describe a class by several categories, so that they are not the symbols of
/// a sequence with labels: no category has many values, and either there are many categories, or none depends on the
/// preceding rows.
bool IndependentRows::are_records_of_categories(const ColumnSchema* inferred) const {
  constexpr Index kMostValues = 50, kFewestInputs = 2, kManyInputs = 3;
  Index inputs = 0, serial = 0;
  for (const ColumnSchema& column : schema_.columns) {
    const bool predicted = is_target(column, inferred);
    if (predicted ? !is_class_name(column.name) : !is_predictable(column)) {
      if (predicted || column.type == ColumnType::text) return false;
      continue;
    }
    if (!predicted && !is_input(column)) continue;
    if (column.distinct > kMostValues) return false;
    serial += column.serial && !column.sorted ? 1 : 0;
    inputs += predicted ? 0 : 1;
  }
  return inputs >= (serial == 0 ? kFewestInputs : kManyInputs) && schema_.rows >= kRowsToCompare;
}

/// Returns whether the residuals of the only predicted number depend on the preceding rows. If the rows are sorted,
/// residuals may have a trend.
bool IndependentRows::have_serial_residuals(const ColumnSchema* inferred) const {
  const ColumnSchema* target = nullptr;
  std::vector<std::size_t> inputs;
  for (std::size_t c = 0; c < schema_.columns.size(); ++c) {
    const ColumnSchema& column = schema_.columns[c];
    const bool is_number = column.type == ColumnType::number || column.type == ColumnType::integer;
    if (column.sorted && is_predictable(column)) return false;
    if (is_target(column, inferred)) {
      if (target != nullptr || !is_number || is_class_name(column.name)) return false;
      target = &column;
    } else if (is_number && is_input(column)) {
      inputs.push_back(c);
    }
  }
  return target != nullptr && residuals_.depends(static_cast<std::size_t>(target - schema_.columns.data()), inputs);
}

}  // namespace unfold
