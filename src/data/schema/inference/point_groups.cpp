#include "data/schema/inference/point_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>

#include "data/schema/describe_schema.h"

namespace unfold {
namespace {

constexpr Index kFewestGroups = 3;           // minimum number of cells such as 1.234
constexpr double kLeastOfThreeDigits = 100;  // integers from here on continue the numbers from 1.000 on downwards

/// How many properties of the table show that it was not written with decimal points.
int continental_marks(const std::vector<ColumnProfile>& profiles, char separator) {
  const bool dates = std::ranges::any_of(profiles, [](const auto& profile) { return profile.has_dotted_dates(); });
  return (separator == ';' ? 1 : 0) + (dates ? 1 : 0);
}

bool shows_thousands(const PointGroups& groups, int marks) {
  if (groups.longer > 0) return true;
  if (groups.three < kFewestGroups || groups.integers == 0) return false;
  return marks == 2 || (marks == 1 && groups.largest_integer >= kLeastOfThreeDigits);
}

bool is_doubtful(const PointGroups& groups, int marks) {
  return groups.three > 0 && (marks > 0 || groups.largest_integer >= kLeastOfThreeDigits);
}

}  // namespace

PointReading read_points(const std::vector<ColumnProfile>& profiles, char separator) {
  const int marks = continental_marks(profiles, separator);
  PointReading reading = PointReading::decimal;
  for (const ColumnProfile& profile : profiles) {
    const std::optional<PointGroups> groups = profile.point_groups();
    if (!groups) continue;
    if (shows_thousands(*groups, marks)) return PointReading::thousands;
    if (is_doubtful(*groups, marks)) reading = PointReading::doubtful;
  }
  return reading;
}

std::vector<std::string> point_notes(PointReading reading, const std::vector<ColumnProfile>& profiles,
                                     const std::vector<ColumnSchema>& columns, const SchemaOptions& options) {
  if (reading == PointReading::decimal || options.decimal || options.thousands) return {};
  constexpr std::size_t kMostNamed = 3;
  std::vector<std::string> names;
  std::string example;
  std::size_t count = 0;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::optional<PointGroups> groups = profiles[c].point_groups();
    const bool numeric = columns[c].type == ColumnType::number || columns[c].type == ColumnType::integer;
    const auto stated = options.types.find(columns[c].name);
    const bool settled = stated != options.types.end() && stated->second.convention;
    if (!groups || groups->three == 0 || !numeric || settled) continue;
    if (count++ == 0) example = groups->example;
    if (names.size() < kMostNamed) names.push_back(fmt::format("\"{}\"", escape_cell(columns[c].name, kMostOddBytes)));
  }
  if (count == 0) return {};
  const std::string place = fmt::format("column{} {}{}", count > 1 ? "s" : "", fmt::join(names, ", "),
                                        count > kMostNamed ? fmt::format(" and {} more", count - kMostNamed) : "");
  if (reading == PointReading::doubtful)
    return {
        fmt::format("{}: \"{}\" is read with a decimal point; if the point separates thousands, use "
                    "--thousands point",
                    place, example)};
  std::string digits = example;
  std::erase(digits, '.');
  return {
      fmt::format("{}: the point is read as a separator of thousands, \"{}\" as {}, because the numbers have "
                  "groups of three digits and no other decimals; if it is a decimal point, use --decimal point",
                  place, example, digits)};
}

}  // namespace unfold
