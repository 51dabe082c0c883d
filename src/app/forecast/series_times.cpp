#include "app/forecast/series_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "data/cells/civil_date.h"
#include "data/cells/date_cell.h"
#include "data/cells/date_step.h"
#include "data/schema/describe_schema.h"
#include "unfold/base/error.h"

namespace unfold {

using forecasting::DateStyle;
using forecasting::TimeIndex;

namespace {
constexpr std::size_t kKeptTimes = 1000;

/// Returns whether clocks may be set back at a local time: in the first hours of a Sunday in spring or autumn.
bool may_be_set_back(const Moment& moment) {
  constexpr Index kFourHours = 4 * 60 * 60, kSunday = 6;
  const Index month = civil_from_days(moment.days).month;
  const bool season = month == 3 || month == 4 || (month >= 9 && month <= 11);
  return moment.has_time && !moment.zone && moment.second < kFourHours && weekday_of(moment.days) == kSunday && season;
}
}  // namespace

void SeriesTimes::note_parts(std::vector<std::string>& notes) const {
  if (!part_) return;
  std::string numbers;
  if (part_->kind == TimePart::Kind::hour_end)
    numbers = "; the hours 1 to 24 are the ends of the hours, so 1 is read as 00:00";
  if (part_->kind == TimePart::Kind::period)
    numbers = fmt::format("; the numbers 1 to {} are equal parts of the day, so 1 is read as 00:00", part_->periods);
  notes.push_back(fmt::format("{}: columns \"{}\" and \"{}\" are read together as the times of the rows{}", source_,
                              escape_cell(column_->name, 40), escape_cell(part_->column, 40), numbers));
}

void SeriesTimes::add_joined(const Examples& examples, Index row, GroupRows& group) {
  const ExampleColumn &dates = examples.column(column_->name), &parts = examples.column(part_->column);
  const std::string_view date = dates.texts[row];
  const std::string_view part = parts.present(row) ? parts.texts[row] : std::string_view();
  const std::optional<Moment> moment = joined_moment(date, part, *part_, *column_->date_format);
  if (!moment)
    throw DataError(
        fmt::format("{}: line {}: \"{}\" and \"{}\" in columns \"{}\" and \"{}\" are not a time; correct "
                    "the cells, or remove the row",
                    source_, examples.lines[at(row)], escape_cell(date, 40), escape_cell(part, 40),
                    escape_cell(column_->name, 40), escape_cell(part_->column, 40)));
  group.dates.push_back(*moment);
  last_cell_ = joined_time(date, part, *part_);
  if (cells_.size() < kKeptTimes) cells_.push_back(last_cell_);
}

void SeriesTimes::add(const Examples& examples, Index example, GroupRows& group) {
  const ExampleColumn& times = examples.column(column_->name);
  for (Index r = examples.begin(example); r < examples.end(example); ++r) {
    if (part_) {
      add_joined(examples, r, group);
      continue;
    }
    if (has_dates() && cells_.size() < kKeptTimes) cells_.emplace_back(times.texts[r]);
    if (has_dates() && r + 1 == examples.end(example)) last_cell_ = times.texts[r];
    if (has_dates())
      group.dates.push_back(*parse_date(times.texts[r], *column_->date_format));
    else
      group.numbers.push_back(times.numbers[at(r)]);
  }
}

void SeriesTimes::unify_zones(std::vector<GroupRows>& groups, std::vector<std::string>& notes) const {
  if (last_cell_.empty()) return;
  if (part_) return;
  const std::optional<Index> zone = parse_date(last_cell_, *column_->date_format)->zone;
  bool differ = false;
  for (GroupRows& group : groups)
    for (Moment& moment : group.dates) {
      if (moment.zone == zone) continue;
      differ = true;
      constexpr Index kDay = 86400;
      const Index seconds = moment.epoch_seconds() + zone.value_or(0) * 60;
      moment.days = (seconds >= 0 ? seconds : seconds - kDay + 1) / kDay;
      moment.second = seconds - moment.days * kDay;
      moment.zone = zone;
    }
  if (differ)
    notes.push_back(fmt::format("{}: the time zones of column \"{}\" differ; the output uses the last one", source_,
                                escape_cell(column_->name, 40)));
}

void SeriesTimes::require_different(const GroupRows& group, const std::function<std::string()>& advice) const {
  for (std::size_t i = 1; i < group.lines.size() && column_ != nullptr; ++i) {
    const bool equal = has_dates() ? group.dates[i].seconds() == group.dates[i - 1].seconds()
                                   : group.numbers[i] == group.numbers[i - 1];
    if (!equal) continue;
    const bool set_back = has_dates() && may_be_set_back(group.dates[i]);
    throw DataError(
        fmt::format("{}: lines {} and {} have the same time{}; {}{}", source_,
                    std::min(group.lines[i - 1], group.lines[i]), std::max(group.lines[i - 1], group.lines[i]),
                    group.name.empty() ? "" : fmt::format(" and group \"{}\"", escape_cell(group.name, 40)),
                    set_back ? "if the clock was set back in this night, write the times in UTC or with their offset, "
                               "such as 2024-10-27T01:00+01:00; "
                             : "",
                    advice()));
  }
}

TimeIndex SeriesTimes::common_index(const std::vector<GroupRows>& groups, std::vector<std::string>& notes) const {
  if (column_ == nullptr || groups.empty()) return {};
  const auto longest = std::ranges::max_element(groups, {}, [](const GroupRows& group) { return group.lines.size(); });
  const auto all_fit = [&](const std::optional<TimeIndex>& index) {
    return index && std::ranges::all_of(groups, [&](const GroupRows& group) { return fits(group, *index); });
  };
  std::optional<TimeIndex> index = index_of(*longest);
  if (!all_fit(index) && groups.size() > 1) index = index_of(all_times(groups));
  if (!all_fit(index)) index.reset();
  if (index) note_absent_times(groups, *index, notes);
  if (!index)
    notes.push_back(fmt::format(
        "{}: the times of column \"{}\" have no regular step; the rows are treated as consecutive steps; to keep "
        "the times, add a row with empty values for each missing time",
        source_, escape_cell(column_->name, 40)));
  else if (index->has_years())
    notes.push_back(fmt::format("{}: column \"{}\" is read as years with fractions, {} steps in a year", source_,
                                escape_cell(column_->name, 40), index->calendar_periods().front()));
  else if (index->has_closed_days() && index->step_name() != "working days")
    notes.push_back(fmt::format("{}: the dates of column \"{}\" are {}; the forecast has no other days", source_,
                                escape_cell(column_->name, 40), index->step_name()));
  return index.value_or(TimeIndex{});
}

std::optional<TimeIndex> SeriesTimes::index_of(const GroupRows& group) const {
  return has_dates() ? TimeIndex::of_dates(group.dates, style()) : TimeIndex::of_numbers(group.numbers);
}

/// Returns the different times of all groups in ascending order.
GroupRows SeriesTimes::all_times(const std::vector<GroupRows>& groups) const {
  GroupRows all;
  for (const GroupRows& group : groups) {
    all.dates.insert(all.dates.end(), group.dates.begin(), group.dates.end());
    all.numbers.insert(all.numbers.end(), group.numbers.begin(), group.numbers.end());
  }
  const auto keep_different = [](auto& times, const auto& key) {
    std::ranges::sort(times, {}, key);
    const auto same = [&key](const auto& a, const auto& b) { return key(a) == key(b); };
    times.erase(std::unique(times.begin(), times.end(), same), times.end());
  };
  keep_different(all.dates, [](const Moment& moment) { return moment.seconds(); });
  keep_different(all.numbers, [](double time) { return time; });
  return all;
}

void SeriesTimes::note_absent_times(const std::vector<GroupRows>& groups, const TimeIndex& index,
                                    std::vector<std::string>& notes) const {
  Index complete = 0, present = 0;
  for (const GroupRows& group : groups) {
    if (group.lines.empty()) continue;
    complete += *place_of(group, start(group, index), group.lines.size() - 1) + 1;
    present += static_cast<Index>(group.lines.size());
  }
  if (complete == present) return;
  const std::string& step = index.step_name();
  notes.push_back(fmt::format("{}: column \"{}\"{}: {} of the {} times{} do not occur; they are read as missing values",
                              source_, escape_cell(column_->name, 40), step.empty() ? "" : fmt::format(", {}", step),
                              complete - present, complete,
                              groups.size() == 1 ? " from the first to the last row" : " of all series"));
}

DateStyle SeriesTimes::style() const {
  std::vector<std::string> cells = cells_;
  cells.push_back(last_cell_);
  const bool weeks = part_ && part_->kind == TimePart::Kind::week;
  return DateStyle::of_cells(cells, weeks ? DateFormat::week : *column_->date_format);
}

/// Returns whether the time index of a group does not have many more positions than rows.
bool SeriesTimes::fits(const GroupRows& group, const TimeIndex& index) const {
  constexpr Index kMostGaps = 100;  // maximum ratio of positions to rows
  const TimeIndex own = start(group, index);
  Index last = 0;
  for (std::size_t i = 0; i < group.lines.size(); ++i) {
    const std::optional<Index> place = place_of(group, own, i);
    if (!place || (i > 0 && *place <= last)) return false;
    last = *place;
  }
  return last < kMostGaps * (static_cast<Index>(group.lines.size()) + 10);
}

TimeIndex SeriesTimes::start(const GroupRows& group, const TimeIndex& index) const {
  return has_dates() ? index.starting_at(group.dates.front()) : index.starting_at(group.numbers.front());
}

std::optional<Index> SeriesTimes::place_of(const GroupRows& group, const TimeIndex& index, std::size_t row) const {
  return has_dates() ? index.place(group.dates[row]) : index.place(group.numbers[row]);
}

void SeriesTimes::add_series(const GroupRows& group, const TimeIndex& index, std::span<const SeriesField> fields,
                             std::vector<TableSeries>& all) const {
  const TimeIndex own = index.has_times() ? start(group, index) : index;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    TableSeries& series = all.emplace_back();
    series.group = group.name, series.field = fields[f].name, series.index = own;
    if (!index.has_times()) {
      series.values = group.values[f];
      series.irregular = group.dates;
      continue;
    }
    for (std::size_t i = 0; i < group.lines.size(); ++i) {
      series.values.resize(at(*place_of(group, own, i)) + 1, std::numeric_limits<double>::quiet_NaN());
      series.values.back() = group.values[f][i];
    }
  }
}

}  // namespace unfold
