#include "data/examples/transformations/calendar_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "data/cells/civil_date.h"
#include "numerics/functions.h"
#include "unfold/base/raw_memory.h"

namespace unfold {
namespace {

enum class CalendarPart { hour, weekday, month, gap, trend };
constexpr std::array<std::string_view, 5> kCalendarParts = {"hour", "weekday", "month", "gap", "trend"};
constexpr std::array<Index, 5> kCalendarWidths = {2, 7, 2, 1, 1};
constexpr Index kRowsAtOnce = 256;  ///< whose numbers fit into the first-level cache
constexpr Index kDaySeconds = 86400, kWeekDays = 7, kYearMonths = 12;

/// Returns the day of the week, 0 for Monday. 1970-01-01 was a Thursday.
Index weekday_of(Index days) { return ((days + 3) % kWeekDays + kWeekDays) % kWeekDays; }

/// Returns the sine of an angle in full turns, in [0, 2). Uses a Taylor series over a quarter of a turn, which is
/// bit-identical on every machine, unlike the sine of the C library.
double sine_of_turn(double share) {
  if (share >= 1) share -= 1;
  const double sign = share < 0.5 ? 1 : -1;
  if (share >= 0.5) share -= 0.5;
  const double x = 2 * std::numbers::pi * (share <= 0.25 ? share : 0.5 - share);
  double term = x, sum = x;
  constexpr int kTerms = 12;
  for (int k = 1; k < kTerms; ++k) {
    term = term * x * x / static_cast<double>(-2 * k * (2 * k + 1));
    sum += term;
  }
  return sign * sum;
}

/// Sines and cosines of 0, 1/n, ..., (n - 1)/n of a full turn, computed when they are first needed.
class Circle {
 public:
  explicit Circle(Index steps) : steps_(steps), points_(at(steps), {kUnknown, kUnknown}) {}

  void put(Index step, double* numbers) {
    std::array<double, 2>& point = points_[at(step)];
    if (point[0] == kUnknown) {
      const double share = static_cast<double>(step) / static_cast<double>(steps_);
      point = {sine_of_turn(share), sine_of_turn(share + 0.25)};
    }
    numbers[0] = point[0];
    numbers[1] = point[1];
  }

 private:
  static constexpr double kUnknown = 2;  ///< no sine
  Index steps_;
  std::vector<std::array<double, 2>> points_;
};

/// The months of days. Those of some days are kept, because most dates of a table occur several times.
class Months {
 public:
  Months() : kept_(kKept, {0, 1}) {}

  Index of(Index days) {
    Entry& entry = kept_[static_cast<std::size_t>(days) % kKept];
    if (entry.days != days) entry = {.days = days, .month = civil_from_days(days).month};
    return entry.month;
  }

 private:
  static constexpr std::size_t kKept = 4096;  ///< eleven years
  struct Entry {
    Index days, month;
  };
  std::vector<Entry> kept_;
};

/// Missing entries remain 0.
void replace_by_logarithms(ExampleColumn& column) {
  std::array<double, kRowsAtOnce> logarithms;
  const auto rows = static_cast<Index>(column.numbers.size());
  for (Index begin = 0; begin < rows; begin += kRowsAtOnce) {
    const Index size = std::min(kRowsAtOnce, rows - begin);
    double* const numbers = column.numbers.data() + begin;
    vector_log(numbers, logarithms.data(), size);
    for (Index i = 0; i < size; ++i)
      if (column.present(begin + i)) numbers[i] = logarithms[at(i)];
  }
}

/// Writes the parts of dates into the columns of a table, row by row.
class CalendarWriter {
 public:
  explicit CalendarWriter(std::vector<ExampleColumn>& columns) : columns_(columns) {}

  /// Adds rows whose numbers are 0.
  void resize(Index rows) {
    rows_ = rows;
    for (std::size_t part = 0; part < columns_.size(); ++part) {
      columns_[part].numbers.resize(at(rows * kCalendarWidths[part]));
      if (!columns_[part].missing.empty()) columns_[part].missing.resize(at(rows));
    }
  }
  /// `before`: the moment of the preceding row of the example; null if there is none.
  void put(Index row, const Moment& moment, const Moment* before) {
    hours_.put(moment.second, entry(CalendarPart::hour, row));
    entry(CalendarPart::weekday, row)[weekday_of(moment.days)] = 1;
    months_.put(months_of_days_.of(moment.days) - 1, entry(CalendarPart::month, row));
    const double seconds = moment.seconds();
    if (before != nullptr)
      *entry(CalendarPart::gap, row) = std::max(0.0, seconds - before->seconds()) + 1;
    else
      put_missing(CalendarPart::gap, row);
    *entry(CalendarPart::trend, row) = seconds / static_cast<double>(kDaySeconds);
  }
  void put_missing(Index row) {
    for (std::size_t part = 0; part < columns_.size(); ++part) put_missing(static_cast<CalendarPart>(part), row);
  }

 private:
  double* entry(CalendarPart part, Index row) {
    const auto p = static_cast<std::size_t>(part);
    return columns_[p].numbers.data() + row * kCalendarWidths[p];
  }
  void put_missing(CalendarPart part, Index row) {
    std::vector<char>& missing = columns_[static_cast<std::size_t>(part)].missing;
    if (missing.empty()) missing.resize(at(rows_));
    missing[at(row)] = 1;
  }

  std::vector<ExampleColumn>& columns_;
  Index rows_ = 0;
  Circle hours_{kDaySeconds}, months_{kYearMonths};
  Months months_of_days_;
};

}  // namespace

std::span<const std::string_view> calendar_parts() { return kCalendarParts; }

std::vector<ExampleColumn> calendar_columns(const std::string& name, Index rows, const MomentOfRow& moment_of,
                                            std::span<const Index> ends) {
  std::vector<ExampleColumn> columns;
  for (std::size_t i = 0; i < kCalendarParts.size(); ++i) {
    columns.push_back({.name = fmt::format("{}.{}", name, kCalendarParts[i]), .width = kCalendarWidths[i]});
    columns.back().derived = true;
    columns.back().numbers.reserve(at(rows * kCalendarWidths[i]));
    use_large_pages(columns.back().numbers);
  }
  CalendarWriter calendar(columns);
  std::optional<Moment> preceding;
  std::size_t example = 0;
  const bool each_row = ends.empty();
  for (Index row = 0; row < rows; ++row) {
    if (row % kRowsAtOnce == 0) calendar.resize(std::min(row + kRowsAtOnce, rows));
    while (example < ends.size() && ends[example] <= row) ++example;
    const bool first = each_row || row == 0 || (example > 0 && ends[example - 1] == row);
    const std::optional<Moment> moment = moment_of(row);
    const Moment* before = !first && preceding ? &*preceding : nullptr;
    if (moment)
      calendar.put(row, *moment, before);
    else
      calendar.put_missing(row);
    preceding = moment;
  }
  replace_by_logarithms(columns[static_cast<std::size_t>(CalendarPart::gap)]);
  return columns;
}

}  // namespace unfold
