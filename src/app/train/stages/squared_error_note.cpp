#include "app/train/stages/squared_error_note.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/printable.h"
#include "train/prediction_metrics.h"

namespace unfold {
namespace {

using Values = std::vector<double>;

constexpr double kHardlyBetter = 0.95;

/// Returns the present numbers of a field, in units of the data.
Values values_of(const ExampleSet& examples, const FieldSpecification& field) {
  const FieldColumn& column = examples.column(field.name);
  Values values;
  values.reserve(column.present.size());
  for (std::size_t e = 0; e < column.present.size(); ++e)
    if (column.present[e] != 0) values.push_back(restored(field, 0, static_cast<double>(column.values[e])));
  return values;
}

Values distances(const Values& values, double center) {
  Values result(values.size());
  std::ranges::transform(values, result.begin(), [&](double x) { return std::abs(x - center); });
  return result;
}

/// Returns the share of the squared deviations from the mean that the largest hundredth of them has.
double share_of_largest(const Values& values) {
  constexpr std::size_t kHundredth = 100;
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  Values squares = distances(values, mean);
  for (double& x : squares) x *= x;
  const auto largest = static_cast<std::ptrdiff_t>((values.size() + kHundredth - 1) / kHundredth);
  std::ranges::nth_element(squares, squares.begin() + largest - 1, std::greater<>());
  return std::accumulate(squares.begin(), squares.begin() + largest, 0.0) /
         std::accumulate(squares.begin(), squares.end(), 0.0);
}

}  // namespace

std::vector<std::string> squared_error_notes(const FieldFigures& figures, const ExampleSet& training,
                                             const ExampleSet& measured) {
  constexpr double kMost = 0.5, kPercent = 100;
  constexpr std::size_t kFewestValues = 100;  // a hundredth of them is at least one
  std::vector<std::string> notes;
  for (const HeadFigures& head : figures.heads) {
    const auto nmse = std::ranges::find(head.measures, "nmse", &Measures::value_type::first);
    if (nmse == head.measures.end() || nmse->second <= kHardlyBetter || std::isnan(head.median_absolute_error))
      continue;
    const FieldSpecification& field = measured.data().field(head.field);
    const Values known = values_of(training, field), values = values_of(measured, field);
    if (known.empty() || values.empty()) continue;
    const double of_median = median_of_values(distances(values, median_of_values(known)));
    const double share = values.size() < kFewestValues ? 0 : share_of_largest(values);
    std::string note =
        fmt::format("note: the squared error of {} is {} than that of its mean (nmse {:.4g})", in_quotes(head.field),
                    nmse->second < 1 ? "hardly smaller" : "not smaller", nmse->second);
    if (share > kMost)
      note += fmt::format(
          ", because values far from the others dominate it: 1 % of the values have {:.0f} % of the squared "
          "deviations; "
          "check them",
          kPercent * share);
    note += fmt::format(". The median absolute error is {:.4g}, and {:.4g} if the median is always predicted",
                        head.median_absolute_error, of_median);
    notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace unfold
