#include "data/examples/transformations/weight_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "data/files/line_parts.h"
#include "data/text/example_weights.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

[[noreturn]] void refuse_weight(const Examples& examples, Index example, const std::string& what) {
  const Index line = examples.example_lines.empty() ? 0 : examples.example_lines[at(example)];
  throw_data_error(examples.source, line, what);
}

/// Returns the entry of an example.
Index weight_entry(const ExampleColumn& weights, const Examples& examples, Index example) {
  if (weights.once || weights.entries() == examples.count()) return example;
  const Index first = examples.begin(example);
  for (Index entry = first + 1; entry < examples.end(example); ++entry)
    if (weights.present(entry) != weights.present(first) || weights.numbers[at(entry)] != weights.numbers[at(first)])
      refuse_weight(examples, example,
                    fmt::format("--weights {0}: {0} differs within an example of {1} positions, but an example has one "
                                "weight; with --rows independent, each row of a table is an example",
                                weights.name, examples.length(example)));
  return first;
}

}  // namespace

std::optional<ExampleColumn> take_column(const std::string& name, Examples& examples) {
  if (name.empty()) return std::nullopt;
  const Index place = &examples.column(name) - examples.columns.data();
  std::optional<ExampleColumn> taken = std::move(examples.columns[at(place)]);
  examples.columns.erase(examples.columns.begin() + place);
  return taken;
}

void add_weights(const ExampleColumn& weights, Examples& examples) {
  if (weights.is_text() || weights.width > 1 || weights.source)
    throw DataError(
        fmt::format("{0}: --weights {1}: {1} does not have one number per example; name a column of numbers",
                    examples.source, weights.name));
  ExampleColumn result{.name = kExampleWeights, .once = true, .width = 1};
  std::vector<Index> kept;
  result.numbers.reserve(examples.ends.size()), kept.reserve(examples.ends.size());
  for (Index e = 0; e < examples.count(); ++e) {
    const Index entry = weight_entry(weights, examples, e);
    const double weight = weights.present(entry) ? weights.numbers[at(entry)] : -1;
    if (!(weight >= 0) || !std::isfinite(weight))
      refuse_weight(examples, e,
                    fmt::format("--weights {0}: {0} is {1}, but weights are numbers of at least 0; 0 leaves an example "
                                "out",
                                weights.name, weights.present(entry) ? fmt::format("{}", weight) : "missing"));
    result.numbers.push_back(weight);
    if (weight > 0) kept.push_back(e);
  }
  if (kept.empty())
    throw DataError(
        fmt::format("{0}: --weights {1}: all weights are 0; increase one of them", examples.source, weights.name));
  examples.columns.push_back(std::move(result));
  if (static_cast<Index>(kept.size()) < examples.count()) examples = subset(examples, kept);
}

std::vector<double> weights_with_mean_one(const ExampleSet& examples) {
  std::vector<double> weights(at(examples.count()), 1.0);
  if (!examples.has(kExampleWeights)) return weights;
  const std::vector<float>& values = examples.column(kExampleWeights).values;
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  if (!(sum > 0)) return weights;
  std::ranges::transform(values, weights.begin(), [&](float weight) {
    return static_cast<double>(weight) * static_cast<double>(values.size()) / sum;
  });
  return weights;
}

}  // namespace unfold
