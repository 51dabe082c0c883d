/// The specification of the fields of a model, from its training examples.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "base/printable.h"
#include "data/examples/derived.h"
#include "data/examples/field_origin.h"
#include "data/text/example_weights.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/data/examples/example_set.h"

namespace unfold {
namespace {

using FieldType = FieldSpecification::Type;

constexpr std::string_view kPrevious = "previous";

/// In larger alphabets, symbols that occur once are dropped, because hardly anything can be learned from one
/// occurrence.
constexpr std::size_t kClosedAlphabet = 500;

Index example_of(const Examples& examples, const ExampleColumn& column, Index entry) {
  if (column.once && !column.source) return entry;
  const std::vector<Index>& ends = column.source ? column.ends : examples.ends;
  return static_cast<Index>(std::ranges::upper_bound(ends, entry) - ends.begin());
}

struct TextCount {
  Index occurrences = 0;
  double weight = 0;  ///< sum over the occurrences
  /// The occurrences; if examples have weights, the share of the total weight. The share is rounded, so that weights
  /// with the same ratios lead to the same order.
  Index rank = 0;
};

std::unordered_map<std::string, TextCount> count_texts(const Examples& examples, const FieldOrigin& origin,
                                                       std::span<const Index> entries) {
  constexpr double kSteps = 1e12;
  const ExampleColumn* weights = examples.find(kExampleWeights);
  std::unordered_map<std::string, TextCount> counts;
  double total = 0;
  for (const Index e : entries) {
    if (!origin.present(e)) continue;
    const double weight = weights == nullptr ? 1 : weights->numbers[at(example_of(examples, *origin.column, e))];
    const auto add = [&](std::string text) {
      TextCount& count = counts[std::move(text)];
      ++count.occurrences;
      count.weight += weight, total += weight;
    };
    std::string text = origin.text(e);
    if (origin.spelt())
      for (std::string& character : spell(text)) add(std::move(character));
    else if (!text.empty())
      add(std::move(text));
  }
  for (auto& [text, count] : counts)
    count.rank = weights == nullptr || !(total > 0) ? count.occurrences : std::llround(count.weight / total * kSteps);
  return counts;
}

/// Returns all distinct strings, by descending frequency, with ties ordered by their bytes. Strings that occur fewer
/// than `least` times are left out; 0: strings that occur once are left out if there are many. An example of weight 2
/// counts like two in the order, but its strings occur only as often as they are there.
std::vector<std::string> distinct_texts(const Examples& examples, const FieldOrigin& origin,
                                        std::span<const Index> entries, Index least) {
  const std::unordered_map<std::string, TextCount> counts = count_texts(examples, origin, entries);
  std::vector<std::pair<std::string, TextCount>> ordered(counts.begin(), counts.end());
  std::ranges::sort(ordered, [](const auto& a, const auto& b) {
    return a.second.rank != b.second.rank ? a.second.rank > b.second.rank : a.first < b.first;
  });
  if (least == 0) least = ordered.size() > kClosedAlphabet ? 2 : 1;
  std::erase_if(ordered, [=](const auto& counted) { return counted.second.occurrences < least; });
  std::vector<std::string> texts;
  texts.reserve(ordered.size());
  for (auto& [text, count] : ordered) texts.push_back(std::move(text));
  return texts;
}

FieldSpecification field_of(const std::string& name, Alphabet symbols) {
  auto alphabet = std::make_shared<const Alphabet>(std::move(symbols));
  const Index size = alphabet->size();
  return {.name = name, .type = FieldType::symbols, .size = size, .alphabet = std::move(alphabet)};
}

[[noreturn]] void refuse_different(const std::string& name) {
  std::string column = name;
  while (const std::optional<DerivedField> derived = parse_derived(column)) column = derived->field;
  const std::string what = column == name ? "its entries" : fmt::format("its parts that are read ({})", name);
  throw DataError(
      fmt::format("column {}: {} are all different in the training data, so nothing can be learned from them; use more "
                  "examples, or read other columns (--read)",
                  in_quotes(column), what));
}

FieldSpecification specify_symbols(const Examples& examples, const FieldOrigin& origin, std::span<const Index> entries,
                                   const std::string& name, bool predicted, const FieldChoice& choice) {
  if (!predicted && choice.hash_bits > 0 && !origin.spelt()) return field_of(name, Alphabet::hashed(choice.hash_bits));
  std::vector<std::string> texts = distinct_texts(examples, origin, entries, predicted ? 1 : choice.least);
  if (texts.empty() && !distinct_texts(examples, origin, entries, 1).empty()) refuse_different(name);
  if (texts.empty())
    throw DataError(fmt::format("field {} is empty: every entry is missing; leave the field out", name));
  if (predicted) {
    std::ranges::sort(texts);
  } else {
    std::erase(texts, kUnknownWord);
    texts.insert(texts.begin(), std::string(kUnknownWord));
  }
  return field_of(name, Alphabet(SymbolKind::entries, std::move(texts)));
}

/// The entries of a column that are not missing, with the weights of their examples (data/text/example_weights.h).
struct WeightedEntries {
  std::vector<Index> entries;
  std::vector<double> weights;  ///< empty: all are 1
};

WeightedEntries present_entries(const Examples& examples, const ExampleColumn& column, std::span<const Index> entries) {
  const ExampleColumn* weights = examples.find(kExampleWeights);
  WeightedEntries found;
  found.entries.reserve(entries.size());
  if (weights != nullptr) found.weights.reserve(entries.size());
  for (const Index e : entries) {
    if (!column.present(e)) continue;
    found.entries.push_back(e);
    if (weights != nullptr) found.weights.push_back(weights->numbers[at(example_of(examples, column, e))]);
  }
  return found;
}

/// Mean and standard deviation; if all numbers are equal, or no number has a weight, a number and 1. Uses two passes to
/// avoid cancellation.
std::pair<double, double> mean_and_deviation(const std::vector<double>& numbers, const std::vector<double>& weights) {
  if (std::ranges::adjacent_find(numbers, std::ranges::not_equal_to()) == numbers.end()) return {numbers.front(), 1};
  const auto weight = [&](std::size_t i) { return weights.empty() ? 1 : weights[i]; };
  double count = weights.empty() ? static_cast<double>(numbers.size()) : 0, sum = 0, squares = 0;
  for (const double w : weights) count += w;
  if (!(count > 0)) return {numbers.front(), 1};
  for (std::size_t i = 0; i < numbers.size(); ++i) sum += weight(i) * numbers[i];
  const double mean = sum / count;
  for (std::size_t i = 0; i < numbers.size(); ++i) squares += weight(i) * ((numbers[i] - mean) * (numbers[i] - mean));
  return {mean, std::sqrt(squares / count)};
}

/// Throws DataError for numbers without a finite standard deviation. Names the cell that is too large, if there is one.
[[noreturn]] void refuse_scale(const Examples& examples, const ExampleColumn& column, std::span<const Index> entries,
                               Index component, const std::string& field) {
  constexpr double kLargestSquared = 1e150;
  const auto number = [&](Index e) { return column.numbers[at(e * column.width + component)]; };
  const Index largest = *std::ranges::max_element(entries, {}, [&](Index e) { return std::fabs(number(e)); });
  if (std::fabs(number(largest)) < kLargestSquared)
    throw DataError(
        fmt::format("field {}: its numbers are too large or too small to be standardized; rescale them", field));
  const std::vector<Index>& lines = column.once ? examples.example_lines : examples.lines;
  const std::string where = at(largest) < lines.size() ? fmt::format("line {}: ", lines[at(largest)]) : std::string();
  throw DataError(
      fmt::format("{}field {}: {:g} is too large for the numbers of the field to be standardized; correct or empty the "
                  "cell, or rescale the numbers",
                  where, field, number(largest)));
}

/// Leaves mean and deviation empty if all numbers are 0 or 1, or are kept unchanged.
void standardize(const Examples& examples, const ExampleColumn& column, const WeightedEntries& present,
                 std::span<const char> kept, FieldSpecification& field) {
  bool bits = true;
  std::vector<double> numbers(present.entries.size());
  for (Index i = 0; i < column.width; ++i) {
    if (at(i) < kept.size() && kept[at(i)] != 0) {
      field.mean.push_back(0);
      field.deviation.push_back(1);
      continue;
    }
    std::ranges::transform(present.entries, numbers.begin(),
                           [&](Index e) { return column.numbers[at(e * column.width + i)]; });
    bits = bits && std::ranges::all_of(numbers, [](double x) { return x == 0 || x == 1; });
    const auto [mean, deviation] = mean_and_deviation(numbers, present.weights);
    if (!std::isfinite(mean) || !std::isfinite(deviation) || deviation == 0)
      refuse_scale(examples, column, present.entries, i, field.name);
    field.mean.push_back(mean);
    field.deviation.push_back(deviation);
  }
  if (!bits) return;
  field.mean.clear();
  field.deviation.clear();
}

/// Divides positive numbers by their geometric mean, so that the mean of their logarithms is 0.
void scale_by_geometric_mean(const ExampleColumn& column, const WeightedEntries& present, FieldSpecification& field) {
  std::vector<double> logarithms(present.entries.size());
  for (Index i = 0; i < column.width; ++i) {
    for (std::size_t k = 0; k < logarithms.size(); ++k) {
      const double x = column.numbers[at(present.entries[k] * column.width + i)];
      if (!(x > 0))
        throw DataError(fmt::format("field {}: {} is not above 0, so it has no logarithm; use {}=normal", field.name, x,
                                    field.name));
      logarithms[k] = x;
      vector_log(&logarithms[k], &logarithms[k], 1);
    }
    double scale = mean_and_deviation(logarithms, present.weights).first;
    vector_exp(&scale, &scale, 1);
    field.mean.push_back(0);
    field.deviation.push_back(scale);
  }
}

FieldSpecification specify_values(const Examples& examples, const ExampleColumn& column, std::span<const Index> entries,
                                  const std::string& name, const FieldChoice& choice) {
  FieldSpecification field{.name = name, .type = FieldType::values, .size = column.width};
  if (std::ranges::none_of(entries, [&](Index e) { return column.present(e); }))
    throw DataError(fmt::format("field {} is empty: every entry is missing; leave the field out", name));
  const auto kept = choice.kept.find(name);
  const WeightedEntries present = present_entries(examples, column, entries);
  if (choice.scaled.contains(name))
    scale_by_geometric_mean(column, present, field);
  else if (!choice.unstandardized.contains(name))
    standardize(examples, column, present, kept == choice.kept.end() ? std::vector<char>() : kept->second, field);
  return field;
}

}  // namespace

std::string FieldRead::name() const {
  if (back == 0) return field;
  return back == 1 ? fmt::format("{} {}", kPrevious, field) : fmt::format("{}({}) {}", kPrevious, back, field);
}

FieldRead parse_read(std::string_view name) {
  if (!name.starts_with(kPrevious)) return {.field = std::string(name)};
  std::string_view rest = name.substr(kPrevious.size());
  if (rest.starts_with(' ')) return {.field = std::string(rest.substr(1)), .back = 1};
  if (!rest.starts_with('(')) return {.field = std::string(name)};
  Index back = 0;
  const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), back);
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  if (error != std::errc() || back < 1 || !rest.starts_with(") ")) return {.field = std::string(name)};
  return {.field = std::string(rest.substr(2)), .back = back};
}

DataSpecification specify(const Examples& examples, const FieldChoice& choice, std::string source) {
  if (examples.positions() == 0)
    throw DataError(
        fmt::format("{}: no training data is left; use more data, or a larger training share", examples.source));
  DataSpecification data{.source = std::move(source),
                         .fields = {},
                         .trees = examples.are_trees(),
                         .found = examples.found,
                         .grids = examples.are_grids()};
  const ColumnsByName columns(examples);
  std::unordered_set<std::string> specified;
  const auto add = [&](const std::string& name, bool predicted) {
    if (specified.contains(name)) return;
    const FieldOrigin origin = need_origin(columns, name);
    const bool once = origin.column->once || (predicted && choice.once.contains(name));
    if (once && predicted && std::ranges::find(choice.reads, name) != choice.reads.end())
      throw UsageError(fmt::format("field {} is predicted once per example, so it cannot also be read", name));
    const std::vector<Index> entries = entries_of(examples, *origin.column, once);
    data.fields.push_back(origin.column->is_text() ? specify_symbols(examples, origin, entries, name, predicted, choice)
                                                   : specify_values(examples, *origin.column, entries, name, choice));
    specified.insert(name);
    data.fields.back().once = once;
    data.fields.back().source = origin.column->source;
    data.fields.back().spelt = origin.spelt();
    if (origin.spelt() && (predicted || once || origin.column->source))
      throw UsageError(
          fmt::format("field {} is a character-level field; it cannot be predicted, and it cannot be derived from a "
                      "source or from a field with one entry per example",
                      name));
    if (origin.column->source && predicted)
      throw UsageError(fmt::format("field {} is read as a source, so it cannot be predicted", name));
  };
  for (const std::string& name : choice.predicts) add(name, true);
  for (const std::string& name : choice.reads) add(name, false);
  return data;
}

}  // namespace unfold
