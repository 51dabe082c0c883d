#include "unfold/data/examples/example_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "data/examples/derived.h"
#include "data/examples/templates.h"
#include "data/text/example_weights.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using Type = FieldSpecification::Type;

constexpr std::string_view kPrevious = "previous";

/// The columns of examples by name, for many lookups. Refers to the examples.
class ColumnsByName {
 public:
  explicit ColumnsByName(const Examples& examples) : examples_(examples) {
    for (const ExampleColumn& column : examples.columns) columns_.try_emplace(column.name, &column);
  }
  /// Returns null if there is none.
  const ExampleColumn* find(std::string_view name) const {
    const auto found = columns_.find(name);
    return found == columns_.end() ? nullptr : found->second;
  }
  const Examples& examples() const { return examples_; }

 private:
  const Examples& examples_;
  std::unordered_map<std::string_view, const ExampleColumn*> columns_;
};

/// Returns null if there is none. Throws DataError if files disagree on its type.
const ExampleColumn* find_readable(const ColumnsByName& columns, const std::string& name) {
  const ExampleColumn* column = columns.find(name);
  if (column != nullptr && !column->clash.empty()) throw DataError(column->clash);
  return column;
}

/// A column by its name, or a derived field with its source column and derivation steps.
class Origin {
 public:
  Origin() = default;
  Origin(const ColumnsByName& columns, std::string name) {
    if (columns.find(name) == nullptr)
      for (const TemplatePart& part : parse_template(name)) add(columns, part);
    if (!parts_.empty()) return;
    const Examples& examples = columns.examples();
    while ((column = find_readable(columns, name)) == nullptr) {
      std::optional<DerivedField> derived = parse_derived(name);
      if (!derived || (derived->kind == DerivedField::Kind::characters && !steps_.empty())) return;
      name = derived->field;
      runs_ = runs_ || derived->kind == DerivedField::Kind::run;
      steps_.push_back(std::move(*derived));
    }
    if (!steps_.empty() && !column->is_text()) column = nullptr;
    if (!runs_ || column == nullptr) return;
    starts_.assign(at(column->entries()), static_cast<char>(column->once));
    for (Index e = 0; e < examples.count() && !column->once; ++e) {
      const Range own = column->source ? column->chain(e) : Range{examples.begin(e), examples.end(e)};
      if (!own.empty()) starts_[at(own.begin)] = 1;
    }
  }

  std::string text(Index entry) const { return parts_.empty() ? text(entry, 0) : joined(entry); }

  /// A template is always present, even if its text is empty.
  bool present(Index entry) const { return !parts_.empty() || column->present(entry); }

  const ExampleColumn* column = nullptr;  ///< null: there is none; for a template: the column of its first part
  bool spelt() const { return !steps_.empty() && steps_.front().kind == DerivedField::Kind::characters; }

 private:
  /// If one part has no column, the template has none.
  void add(const ColumnsByName& columns, const TemplatePart& part) {
    Origin origin(columns, part.field);
    const bool fits = origin.column != nullptr && origin.column->is_text() && !origin.column->once &&
                      !origin.column->source && !origin.spelt();
    column = fits && (parts_.empty() || column != nullptr) ? origin.column : nullptr;
    ends_ = &columns.examples().ends;
    parts_.emplace_back(std::move(origin), part.offset);
  }

  /// Returns the joined texts of all parts; empty if one is missing.
  std::string joined(Index entry) const {
    const auto end = std::ranges::upper_bound(*ends_, entry);
    const Index first = end == ends_->begin() ? 0 : *(end - 1);
    std::string result;
    for (const auto& [origin, offset] : parts_) {
      const Index other = entry + offset;
      if (&origin != &parts_.front().first) result += '|';
      if (other < first) {
        result += fmt::format("_B{}", other - first);
      } else if (other >= *end) {
        result += fmt::format("_B+{}", other - *end + 1);
      } else {
        const std::string text = origin.column->present(other) ? origin.text(other) : std::string();
        if (text.empty()) return {};
        result += text;
      }
    }
    return result;
  }

  /// Returns the string after the derivation steps from `step` on; the last step is applied first.
  std::string text(Index entry, std::size_t step) const {
    if (step == steps_.size()) return column->texts[at(entry)];
    const DerivedField& derived = steps_[step];
    std::string result = derive(derived, text(entry, step + 1));
    if (derived.kind != DerivedField::Kind::run) return result;
    for (Index back = 1; back < derived.count; ++back) {
      if (starts_[at(entry)] != 0) return "<s> " + result;
      result = text(--entry, step + 1) + ' ' + result;
    }
    return result;
  }

  std::vector<DerivedField> steps_;
  std::vector<char> starts_;  // whether an entry is the first of its example; only for n-grams
  bool runs_ = false;
  std::vector<std::pair<Origin, Index>> parts_;  // parts of a template, with their offsets
  const std::vector<Index>* ends_ = nullptr;     // ends of the examples
};

Origin need_origin(const ColumnsByName& columns, const std::string& name) {
  Origin origin(columns, name);
  if (origin.column == nullptr) columns.examples().column(name);  // throws
  return origin;
}

/// Returns where the examples begin, for messages.
std::string begin_of(const Examples& examples) {
  const std::vector<Index>& lines = examples.lines.empty() ? examples.example_lines : examples.lines;
  return lines.empty() ? examples.source : fmt::format("{}, line {}", examples.source, lines.front());
}

/// Returns "FILE, line 12", as far as known.
std::string position_in_total(const Examples& examples, const ExampleColumn& column, Index entry) {
  if (column.source) {
    const auto example = std::ranges::upper_bound(column.ends, entry) - column.ends.begin();
    return examples.example_lines.empty()
               ? fmt::format("{}, example {}", examples.source, example + 1)
               : fmt::format("{}, line {}", examples.source, examples.example_lines[at(example)]);
  }
  const std::vector<Index>& lines = column.once ? examples.example_lines : examples.lines;
  if (lines.empty()) return fmt::format("{}, {} {}", examples.source, column.once ? "example" : "position", entry + 1);
  return fmt::format("{}, line {}", examples.source, lines[at(entry)]);
}

/// Returns the entries of a column that a field uses: all, or the last one of each example for a field with one entry
/// per example.
std::vector<Index> entries_of(const Examples& examples, const ExampleColumn& column, bool once) {
  std::vector<Index> entries;
  if (once && !column.once) {
    entries.reserve(examples.ends.size());
    for (Index e = 0; e < examples.count(); ++e) {
      if (examples.length(e) == 0)
        throw DataError(
            fmt::format("{}: example {} has no positions, so it has no {}", examples.source, e + 1, column.name));
      entries.push_back(examples.end(e) - 1);
    }
    return entries;
  }
  entries.resize(at(column.entries()));
  std::iota(entries.begin(), entries.end(), Index{0});
  return entries;
}

/// In larger alphabets, symbols that occur once are dropped, because hardly anything can be learned from one
/// occurrence.
constexpr std::size_t kClosedAlphabet = 500;

/// Returns all distinct strings, by descending frequency, with ties ordered by their bytes. Strings that occur fewer
/// than `least` times are left out; 0: strings that occur once are left out if there are many.
std::vector<std::string> distinct_texts(const Origin& origin, std::span<const Index> entries, Index least) {
  std::unordered_map<std::string, Index> counts;
  for (const Index e : entries)
    if (origin.present(e)) {
      std::string text = origin.text(e);
      if (origin.spelt())
        for (std::string& character : spell(text)) ++counts[std::move(character)];
      else if (!text.empty())
        ++counts[std::move(text)];
    }
  std::vector<std::pair<std::string, Index>> ordered(counts.begin(), counts.end());
  std::ranges::sort(ordered, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  if (least == 0) least = ordered.size() > kClosedAlphabet ? 2 : 1;
  std::erase_if(ordered, [=](const auto& counted) { return counted.second < least; });
  std::vector<std::string> texts;
  texts.reserve(ordered.size());
  for (auto& [text, count] : ordered) texts.push_back(std::move(text));
  return texts;
}

FieldSpecification field_of(const std::string& name, Alphabet symbols) {
  auto alphabet = std::make_shared<const Alphabet>(std::move(symbols));
  const Index size = alphabet->size();
  return {.name = name, .type = Type::symbols, .size = size, .alphabet = std::move(alphabet)};
}

FieldSpecification specify_symbols(const Origin& origin, std::span<const Index> entries, const std::string& name,
                                   bool predicted, const FieldChoice& choice) {
  if (!predicted && choice.hash_bits > 0 && !origin.spelt()) return field_of(name, Alphabet::hashed(choice.hash_bits));
  std::vector<std::string> texts = distinct_texts(origin, entries, predicted ? 1 : choice.least);
  if (texts.empty()) throw DataError(fmt::format("field {} is empty: every entry is missing", name));
  if (predicted) {
    std::ranges::sort(texts);
  } else {
    std::erase(texts, kUnknownWord);
    texts.insert(texts.begin(), std::string(kUnknownWord));
  }
  return field_of(name, Alphabet(SymbolKind::entries, std::move(texts)));
}

/// Returns the numbers of one component that are not missing.
std::vector<double> numbers_of(const ExampleColumn& column, std::span<const Index> entries, Index component) {
  std::vector<double> numbers;
  numbers.reserve(entries.size());
  for (const Index e : entries)
    if (column.present(e)) numbers.push_back(column.numbers[at(e * column.width + component)]);
  return numbers;
}

/// Mean and standard deviation; if all numbers are equal, that number and 1. Uses two passes to avoid cancellation.
std::pair<double, double> mean_and_deviation(const std::vector<double>& numbers) {
  if (std::ranges::adjacent_find(numbers, std::ranges::not_equal_to()) == numbers.end()) return {numbers.front(), 1};
  const auto count = static_cast<double>(numbers.size());
  double sum = 0, squares = 0;
  for (const double x : numbers) sum += x;
  const double mean = sum / count;
  for (const double x : numbers) squares += (x - mean) * (x - mean);
  return {mean, std::sqrt(squares / count)};
}

/// Leaves mean and deviation empty if all numbers are 0 or 1, or are kept unchanged.
void standardize(const ExampleColumn& column, std::span<const Index> entries, std::span<const char> kept,
                 FieldSpecification& field) {
  bool bits = true;
  for (Index i = 0; i < column.width; ++i) {
    if (at(i) < kept.size() && kept[at(i)] != 0) {
      field.mean.push_back(0);
      field.deviation.push_back(1);
      continue;
    }
    const std::vector<double> numbers = numbers_of(column, entries, i);
    bits = bits && std::ranges::all_of(numbers, [](double x) { return x == 0 || x == 1; });
    const auto [mean, deviation] = mean_and_deviation(numbers);
    if (!std::isfinite(mean) || !std::isfinite(deviation) || deviation == 0)
      throw DataError(
          fmt::format("field {}: its numbers are too large or too small to be standardized; rescale them", field.name));
    field.mean.push_back(mean);
    field.deviation.push_back(deviation);
  }
  if (!bits) return;
  field.mean.clear();
  field.deviation.clear();
}

FieldSpecification specify_values(const ExampleColumn& column, std::span<const Index> entries, const std::string& name,
                                  const FieldChoice& choice) {
  FieldSpecification field{.name = name, .type = Type::values, .size = column.width};
  if (std::ranges::none_of(entries, [&](Index e) { return column.present(e); }))
    throw DataError(fmt::format("field {} is empty: every entry is missing", name));
  const auto kept = choice.kept.find(name);
  if (!choice.unstandardized.contains(name))
    standardize(column, entries, kept == choice.kept.end() ? std::vector<char>() : kept->second, field);
  return field;
}

FieldColumn encode_symbols(const Examples& examples, const Origin& origin, std::span<const Index> entries,
                           const FieldSpecification& field, bool predicted, UnknownPolicy unknown) {
  FieldColumn result;
  const ExampleColumn& column = *origin.column;
  result.symbols.assign(entries.size(), kNoSymbol);
  for (std::size_t k = 0; k < entries.size(); ++k) {
    const Index e = entries[k];
    if (!origin.present(e)) continue;
    const std::string text = origin.text(e);
    if (text.empty()) continue;
    Symbol symbol = field.alphabet->find(text);
    if (symbol == kNoSymbol && predicted && unknown == UnknownPolicy::skip) {
      result.unseen[static_cast<Index>(k)] = text;
      continue;
    }
    if (symbol == kNoSymbol && predicted)
      throw DataError(
          fmt::format("{}: field {} is \"{}\", which did not occur in training; remove the line, train on data that "
                      "contains it, or, in eval, count it as wrong with --unknown skip",
                      position_in_total(examples, column, e), field.name, text));
    if (symbol == kNoSymbol) symbol = field.alphabet->unknown();
    result.symbols[k] = symbol;
  }
  return result;
}

/// Characters that did not occur in training are unknown.
FieldColumn encode_spelling(const Origin& origin, std::span<const Index> entries, const FieldSpecification& field) {
  FieldColumn result;
  for (const Index e : entries) {
    if (origin.column->present(e))
      for (const std::string& character : spell(origin.text(e))) {
        const Symbol symbol = field.alphabet->find(character);
        result.symbols.push_back(symbol == kNoSymbol ? field.alphabet->unknown() : symbol);
      }
    result.ends.push_back(static_cast<Index>(result.symbols.size()));
  }
  return result;
}

/// Limit after standardization, so that the likelihood of predicted values stays finite (loss/deviation.h).
constexpr float kLargestNumber = 1e14F;

FieldColumn encode_values(const Examples& examples, const ExampleColumn& column, std::span<const Index> entries,
                          const FieldSpecification& field) {
  if (column.is_text())
    throw DataError(
        fmt::format("{}: field {} contains text, but the model expects numbers", begin_of(examples), field.name));
  if (column.width != field.size)
    throw DataError(fmt::format("{}: field {} contains {} numbers per position, but the model expects {}",
                                examples.source, field.name, column.width, field.size));
  FieldColumn result;
  const auto width = at(column.width);
  result.values.assign(entries.size() * width, 0.0F);
  result.present.assign(entries.size(), 0);
  for (std::size_t k = 0; k < entries.size(); ++k) {
    if (!column.present(entries[k])) continue;
    result.present[k] = 1;
    for (std::size_t i = 0; i < width; ++i) {
      const double x = column.numbers[at(entries[k]) * width + i];
      const auto z = static_cast<float>(field.mean.empty() ? x : (x - field.mean[i]) / field.deviation[i]);
      if (!(std::fabs(z) <= kLargestNumber))
        throw DataError(fmt::format("{}: field {} is {}, which is too large",
                                    position_in_total(examples, column, entries[k]), field.name, x));
      result.values[k * width + i] = z;
    }
  }
  return result;
}

/// Appends chains [first, last) of one column to another.
void append_chains(const FieldColumn& from, Index first, Index last, Index size, FieldColumn& to);

/// Appends entries [begin, end) of one column to another.
void append(const FieldColumn& from, Index begin, Index end, Index size, FieldColumn& to) {
  for (auto unseen = from.unseen.lower_bound(begin); unseen != from.unseen.end() && unseen->first < end; ++unseen)
    to.unseen[static_cast<Index>(to.symbols.size()) + unseen->first - begin] = unseen->second;
  if (!from.symbols.empty())
    to.symbols.insert(to.symbols.end(), from.symbols.begin() + begin, from.symbols.begin() + end);
  if (from.present.empty()) return;
  to.present.insert(to.present.end(), from.present.begin() + begin, from.present.begin() + end);
  to.values.insert(to.values.end(), from.values.begin() + begin * size, from.values.begin() + end * size);
}

void append_chains(const FieldColumn& from, Index first, Index last, Index size, FieldColumn& to) {
  for (Index i = first; i < last; ++i) {
    append(from, from.chain(i).begin, from.chain(i).end, size, to);
    to.ends.push_back((to.ends.empty() ? 0 : to.ends.back()) + from.chain(i).size());
  }
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
    const Origin origin = need_origin(columns, name);
    const bool once = origin.column->once || (predicted && choice.once.contains(name));
    if (once && predicted && std::ranges::find(choice.reads, name) != choice.reads.end())
      throw UsageError(fmt::format("field {} is predicted once per example, so it cannot also be read", name));
    const std::vector<Index> entries = entries_of(examples, *origin.column, once);
    data.fields.push_back(origin.column->is_text() ? specify_symbols(origin, entries, name, predicted, choice)
                                                   : specify_values(*origin.column, entries, name, choice));
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

namespace {

/// Returns the specification of the weights of examples, a column of an ExampleSet.
const FieldSpecification& weight_specification() {
  static const FieldSpecification field{.name = kExampleWeights, .type = Type::values, .size = 1, .once = true};
  return field;
}

const FieldSpecification& field_of_column(const DataSpecification& data, std::string_view name) {
  return name == kExampleWeights ? weight_specification() : data.field(name);
}

FieldColumn weights_in(const Examples& examples, const ExampleColumn& column) {
  if (column.width != 1 || column.entries() != examples.count())
    throw UsageError(fmt::format("{}: the weights must be one number per example", examples.source));
  FieldColumn weights = encode_values(examples, column, entries_of(examples, column, true), weight_specification());
  for (Index e = 0; e < examples.count(); ++e)
    if (weights.present[at(e)] == 0 || !(weights.values[at(e)] >= 0))
      throw DataError(
          fmt::format("{}: the weight of example {} is missing or below 0; use 0 to leave the example out of the loss",
                      examples.source, e + 1));
  return weights;
}

}  // namespace

ExampleSet::ExampleSet(const Examples& examples, std::shared_ptr<const DataSpecification> data,
                       std::span<const std::string> predicts, UnknownPolicy unknown)
    : source_(examples.source),
      data_(std::move(data)),
      ends_(examples.ends),
      parents_(examples.parents),
      shapes_(examples.shapes) {
  if (data_->trees != examples.are_trees() || data_->grids != examples.are_grids())
    throw DataError(fmt::format("{}: it contains {}, but the model reads {}", source_,
                                examples.are_trees()   ? "trees"
                                : examples.are_grids() ? "grids"
                                                       : "sequences",
                                data_->trees   ? "trees (--format trees)"
                                : data_->grids ? "grids (--format images or grids)"
                                               : "sequences"));
  const ColumnsByName columns(examples);
  for (const FieldSpecification& field : data_->fields) {
    const Origin origin(columns, field.name);
    if (origin.column == nullptr) continue;
    const bool predicted = std::ranges::find(predicts, field.name) != predicts.end();
    if (field.type == Type::symbols && !origin.column->is_text())
      throw DataError(
          fmt::format("{}: field {} contains numbers, but the model expects text", begin_of(examples), field.name));
    if (origin.column->once && !field.once)
      throw DataError(fmt::format("{}: field {} has one entry per example, but the model expects one per position",
                                  begin_of(examples), field.name));
    if (origin.column->source != field.source)
      throw DataError(fmt::format("{}: field {} {}, which differs from the model", source_, field.name,
                                  origin.column->source ? "is a source sequence" : "has one entry per position"));
    const std::vector<Index> entries = entries_of(examples, *origin.column, field.once);
    if (origin.spelt()) {
      columns_.emplace(field.name, encode_spelling(origin, entries, field));
      continue;
    }
    columns_.emplace(field.name, field.type == Type::symbols
                                     ? encode_symbols(examples, origin, entries, field, predicted, unknown)
                                     : encode_values(examples, *origin.column, entries, field));
    columns_.at(field.name).ends = origin.column->ends;
  }
  if (const ExampleColumn* weights = columns.find(kExampleWeights))
    columns_.emplace(kExampleWeights, weights_in(examples, *weights));
}

bool ExampleSet::has_sources() const {
  return std::ranges::any_of(columns_, [&](const auto& named) { return field_of_column(*data_, named.first).source; });
}

const FieldSpecification* ExampleSet::spelt() const {
  const FieldSpecification* found = nullptr;
  for (const FieldSpecification& field : data_->fields) {
    if (!field.spelt || !has(field.name)) continue;
    if (found != nullptr || has_sources())
      throw UsageError(
          fmt::format("field {}: only one field can be read as characters, and only without a source", field.name));
    found = &field;
  }
  return found;
}

Index ExampleSet::source_length(Index example) const {
  for (const auto& [name, column] : columns_)
    if (field_of_column(*data_, name).source) return column.chain(example).size();
  throw DataError(fmt::format("{} has no source", source_));
}

Index ExampleSet::longest() const {
  Index result = 0;
  for (Index e = 0; e < count(); ++e) result = std::max(result, length(e));
  return result;
}

Tree ExampleSet::tree(Index example) const {
  const Index first = begin(example), count = length(example);
  Tree tree{std::vector<std::vector<Index>>(at(count))};
  for (Index v = 0; v < count; ++v)
    if (const Index parent = parents_[at(first + v)]; parent >= 0) tree.children[at(parent)].push_back(v);
  return tree;
}

Index ExampleSet::most_children() const {
  Index most = 0;
  std::vector<Index> counts;
  for (Index e = 0; e < count(); ++e) {
    counts.assign(at(length(e)), 0);
    for (Index v = 0; v < length(e); ++v)
      if (const Index parent = parents_[at(begin(e) + v)]; parent >= 0) most = std::max(most, ++counts[at(parent)]);
  }
  return most;
}

const FieldColumn& ExampleSet::column(std::string_view field) const {
  const auto found = columns_.find(field);
  if (found == columns_.end()) throw DataError(fmt::format("{} has no field \"{}\"", source_, field));
  return found->second;
}

ExampleSet ExampleSet::subset(std::span<const Index> examples) const {
  ExampleSet result;
  result.source_ = source_;
  result.data_ = data_;
  for (const Index e : examples) {
    result.ends_.push_back(result.positions() + length(e));
    if (!warmup_.empty()) result.warmup_.push_back(warmup_[at(e)]);
    if (has_grids()) result.shapes_.push_back(shape(e));
    if (has_trees())
      result.parents_.insert(result.parents_.end(), parents_.begin() + begin(e),
                             parents_.begin() + begin(e) + length(e));
  }
  for (const auto& [name, column] : columns_) {
    const FieldSpecification& field = field_of_column(*data_, name);
    FieldColumn chosen;
    for (const Index e : examples) {
      if (field.source)
        append_chains(column, e, e + 1, field.size, chosen);
      else if (field.spelt)
        append_chains(column, begin(e), begin(e) + length(e), field.size, chosen);
      else if (field.once)
        append(column, e, e + 1, field.size, chosen);
      else
        append(column, begin(e), begin(e) + length(e), field.size, chosen);
    }
    result.columns_.emplace(name, std::move(chosen));
  }
  return result;
}

ExampleSet ExampleSet::part(Index example, Index from, Index to, Index warmup) const {
  ExampleSet result;
  result.source_ = source_;
  result.data_ = data_;
  if (has_trees() || has_grids())
    throw UsageError(fmt::format("{}: a {} cannot be split by positions", source_, has_trees() ? "tree" : "grid"));
  const bool empty = from >= to;
  const Index start = std::max<Index>(0, from - warmup);
  if (!empty) {
    result.ends_ = {to - start};
    result.warmup_ = {from - start};
  }
  for (const auto& [name, column] : columns_) {
    const FieldSpecification& field = field_of_column(*data_, name);
    if (field.source) throw UsageError(fmt::format("an example with the source {} cannot be split by positions", name));
    FieldColumn cut;
    if (!empty && field.once) append(column, example, example + 1, field.size, cut);
    if (!empty && field.spelt)
      append_chains(column, begin(example) + start, begin(example) + to, field.size, cut);
    else if (!empty && !field.once)
      append(column, begin(example) + start, begin(example) + to, field.size, cut);
    result.columns_.emplace(name, std::move(cut));
  }
  return result;
}

double restored(const FieldSpecification& field, Index component, double z) {
  if (field.mean.empty()) return z;
  return field.mean[at(component)] + field.deviation[at(component)] * z;
}

}  // namespace unfold
