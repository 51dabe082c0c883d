#pragma once
/// The times of the rows of a table: one time zone, one step for all groups, and the positions of the values.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "app/forecast/series_roles.h"
#include "unfold/data/examples/examples.h"

namespace unfold {

/// The cells of one group.
struct GroupRows {
  std::string name = {};
  std::vector<Moment> dates = {};
  std::vector<double> numbers = {};  ///< times that are numbers
  std::vector<Index> lines = {};
  std::vector<std::vector<double>> values = {};  ///< [field][row]
  std::vector<std::string> names = {};           ///< name of the series of each row, while several series are read
                                                 ///< together
};

class SeriesTimes {
 public:
  /// `column`: the column of the times; nullptr: the rows are consecutive steps. `part`: the column that continues it.
  SeriesTimes(std::string source, const ColumnSchema* column, std::optional<TimePart> part)
      : source_(std::move(source)), column_(column), part_(std::move(part)) {}

  bool has_dates() const { return column_ != nullptr && column_->type == ColumnType::date; }
  /// Notes that two columns contain the times.
  void note_parts(std::vector<std::string>& notes) const;
  /// Appends the times of the rows of an example to its group. The rows of times in two columns may be unsorted.
  void add(const Examples& examples, Index example, GroupRows& group);
  /// If the time zones of a column differ, as in summer and winter, all times are converted to the last one.
  void unify_zones(std::vector<GroupRows>& groups, std::vector<std::string>& notes) const;
  /// Throws DataError with `advice` if two rows of a group have the same time.
  void require_different(const GroupRows& group, const std::function<std::string()>& advice) const;
  /// Returns the step of the longest group or, if not all groups have this step, that of the times of all groups. Notes
  /// absent times, which are missing values, and times without a regular step.
  forecasting::TimeIndex common_index(const std::vector<GroupRows>& groups, std::vector<std::string>& notes) const;
  /// Appends one series per field.
  void add_series(const GroupRows& group, const forecasting::TimeIndex& index, std::span<const SeriesField> fields,
                  std::vector<TableSeries>& series) const;

 private:
  void add_joined(const Examples& examples, Index row, GroupRows& group);
  forecasting::DateStyle style() const;
  std::optional<forecasting::TimeIndex> index_of(const GroupRows& group) const;
  GroupRows all_times(const std::vector<GroupRows>& groups) const;
  bool fits(const GroupRows& group, const forecasting::TimeIndex& index) const;
  void note_absent_times(const std::vector<GroupRows>& groups, const forecasting::TimeIndex& index,
                         std::vector<std::string>& notes) const;
  forecasting::TimeIndex start(const GroupRows& group, const forecasting::TimeIndex& index) const;
  std::optional<Index> place_of(const GroupRows& group, const forecasting::TimeIndex& index, std::size_t row) const;

  std::string source_;
  const ColumnSchema* column_;
  std::optional<TimePart> part_;
  std::vector<std::string> cells_;  // the first ones
  std::string last_cell_;
};

}  // namespace unfold
