#pragma once
/// Decides whether the rows of a table are separate examples, such as measurements of flowers, orders or tickets, or
/// the steps of sequences.
///
///   IndependentRows rows(schema, options, serial, residuals);
///   if (rows.are_records(group, order, inferred)) reason = rows.reason();

#include <string>
#include <vector>

#include "data/schema/inference/residual_dependence.h"
#include "data/schema/table_schema.h"

namespace unfold {

inline constexpr double kWordsOfText = 3;     ///< mean number of words of entries that describe a row
inline constexpr double kShareOfPanel = 0.5;  ///< minimum fraction of all pairs of a group and a time that occur

/// Returns whether a column contains numbers or classes, which a model may predict.
bool is_predictable(const ColumnSchema& column);

class IndependentRows {
 public:
  /// Keeps references. `serial` and `residuals`: as for assign_roles (column_roles.h).
  IndependentRows(const TableSchema& schema, const SchemaOptions& options, const std::vector<bool>& serial,
                  const ResidualDependence& residuals)
      : schema_(schema), options_(options), serial_(serial), residuals_(residuals) {}

  /// Returns whether the rows of short groups, or rows with separate identifiers and irregular times, are records such
  /// as tickets or orders rather than the steps of sequences: they have texts or a class. `inferred`: the column that
  /// is predicted without group and order; null if --predict names it.
  bool are_records(const ColumnSchema* group, const ColumnSchema* order, const ColumnSchema* inferred);
  /// Returns whether the contents of the rows suggest that each row is a separate example. `order`: a column of dates
  /// that may be only a property of each row, because rows do not follow it. `inferred`: the column that is predicted
  /// with this order; null if --predict names it.
  bool are_independent(const ColumnSchema* order, const ColumnSchema* inferred);
  /// Returns the reason for the last decision that rows are separate examples.
  const std::string& reason() const { return reason_; }

 private:
  bool may_decide() const;
  bool are_dates_properties(const ColumnSchema& group, const ColumnSchema& order, const ColumnSchema* inferred);
  const ColumnSchema* row_identifier() const;
  bool are_records_of_categories(const ColumnSchema* inferred) const;
  bool have_serial_residuals(const ColumnSchema* inferred) const;
  bool is_certainly_serial(const ColumnSchema& column) const;
  bool is_target(const ColumnSchema& column, const ColumnSchema* inferred) const;
  bool is_input(const ColumnSchema& column) const;

  const TableSchema& schema_;
  const SchemaOptions& options_;
  const std::vector<bool>& serial_;
  const ResidualDependence& residuals_;
  std::string reason_;
};

}  // namespace unfold
