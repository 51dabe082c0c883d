#include "app/plots/time_ticks.h"

#include <fmt/format.h>

#include <utility>

#include "data/cells/civil_date.h"

namespace unfold {
namespace {

constexpr Index kTickDaySeconds = 86400;

/// Units of time, by the form of their labels.
enum class TickUnit { years, months, days, seconds };

struct TickStep {
  TickUnit unit;
  Index count;
};

/// Steps from coarse to fine. A week begins on Monday.
constexpr TickStep kTickSteps[] = {
    {TickUnit::years, 1000},   {TickUnit::years, 500},     {TickUnit::years, 200},     {TickUnit::years, 100},
    {TickUnit::years, 50},     {TickUnit::years, 20},      {TickUnit::years, 10},      {TickUnit::years, 5},
    {TickUnit::years, 2},      {TickUnit::years, 1},       {TickUnit::months, 6},      {TickUnit::months, 3},
    {TickUnit::months, 1},     {TickUnit::days, 14},       {TickUnit::days, 7},        {TickUnit::days, 2},
    {TickUnit::days, 1},       {TickUnit::seconds, 43200}, {TickUnit::seconds, 21600}, {TickUnit::seconds, 10800},
    {TickUnit::seconds, 3600}, {TickUnit::seconds, 1800},  {TickUnit::seconds, 900},   {TickUnit::seconds, 300},
    {TickUnit::seconds, 120},  {TickUnit::seconds, 60},    {TickUnit::seconds, 30},    {TickUnit::seconds, 10},
    {TickUnit::seconds, 5},    {TickUnit::seconds, 2},     {TickUnit::seconds, 1},
};

/// Returns a number that is equal for two dates of the same unit.
Index tick_unit_of(const Moment& moment, const TickStep& step) {
  const auto divided = [&](Index x) { return x >= 0 ? x / step.count : -((-x + step.count - 1) / step.count); };
  constexpr Index kMonday = 4;  // 1970-01-05
  switch (step.unit) {
    case TickUnit::seconds: return divided(moment.days * kTickDaySeconds + moment.second);
    case TickUnit::days: return divided(moment.days - kMonday);
    case TickUnit::months: {
      const CivilDate date = civil_from_days(moment.days);
      return divided(date.year * 12 + date.month - 1);
    }
    case TickUnit::years: return divided(civil_from_days(moment.days).year);
  }
  return 0;
}

std::string tick_label(const Moment& moment, const TickStep& step) {
  const CivilDate date = civil_from_days(moment.days);
  std::string text = fmt::format("{:04}", date.year);
  if (step.unit == TickUnit::years) return text;
  text += fmt::format("-{:02}", date.month);
  if (step.unit == TickUnit::months) return text;
  text += fmt::format("-{:02}", date.day);
  if (step.unit == TickUnit::days) return text;
  text += fmt::format(" {:02}:{:02}", moment.second / 3600, moment.second / 60 % 60);
  return step.count >= 60 ? text : text + fmt::format(":{:02}", moment.second % 60);
}

std::vector<AxisTick> ticks_at(const TickStep& step, Index first, Index last,
                               const std::function<std::optional<Moment>(Index)>& moment_of) {
  std::vector<AxisTick> ticks;
  std::optional<Moment> before = first > 0 ? moment_of(first - 1) : std::nullopt;
  for (Index p = first; p <= last; ++p) {
    const std::optional<Moment> moment = moment_of(p);
    if (moment && before && tick_unit_of(*moment, step) != tick_unit_of(*before, step))
      ticks.push_back({static_cast<double>(p), tick_label(*moment, step)});
    if (moment) before = moment;
  }
  return ticks;
}

/// Returns at most `most` ticks at equal distances in the list.
std::vector<AxisTick> thinned_ticks(const std::vector<AxisTick>& ticks, std::size_t most) {
  std::vector<AxisTick> kept;
  const std::size_t each = (ticks.size() + most - 1) / most;
  for (std::size_t i = 0; i < ticks.size(); i += each) kept.push_back(ticks[i]);
  return kept;
}

}  // namespace

std::vector<AxisTick> time_ticks(Index first, Index last,
                                 const std::function<std::optional<Moment>(Index)>& moment_of) {
  constexpr std::size_t kEnough = 3, kMost = 6, kMostWithTimes = 4;  // labels with a time of day are longer
  std::vector<AxisTick> few;
  for (const TickStep& step : kTickSteps) {
    std::vector<AxisTick> ticks = ticks_at(step, first, last, moment_of);
    const std::size_t most = step.unit == TickUnit::seconds ? kMostWithTimes : kMost;
    if (ticks.size() > most) return few.empty() ? thinned_ticks(ticks, most) : few;
    if (ticks.size() >= kEnough) return ticks;
    if (few.empty() && ticks.size() == 2) few = std::move(ticks);
  }
  return few;
}

}  // namespace unfold
