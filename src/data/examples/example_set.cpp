#include "unfold/data/examples/example_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/examples/derived.h"
#include "data/examples/field_origin.h"
#include "data/text/example_weights.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using Type = FieldSpecification::Type;

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

FieldColumn encode_symbols(const Examples& examples, const FieldOrigin& origin, std::span<const Index> entries,
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
FieldColumn encode_spelling(const FieldOrigin& origin, std::span<const Index> entries,
                            const FieldSpecification& field) {
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
    throw UsageError(fmt::format("{}: {} cannot be used as weights, because weights are one number per example",
                                 examples.source, column.name));
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
    const FieldOrigin origin(columns, field.name);
    if (origin.column == nullptr) continue;
    const bool predicted = std::ranges::find(predicts, field.name) != predicts.end();
    if (field.type == Type::symbols && !origin.column->is_text())
      throw DataError(
          fmt::format("{}: field {} contains numbers, but the model expects text", begin_of(examples), field.name));
    if (origin.column->once && !field.once)
      throw DataError(fmt::format("{}: field {} has one entry per example, but the model expects one per position",
                                  begin_of(examples), field.name));
    if (origin.column->source != field.source)
      throw DataError(fmt::format("{}: field {} {}", source_, field.name,
                                  origin.column->source
                                      ? "is a source sequence, but the model expects one entry per position"
                                      : "has one entry per position, but the model expects a source sequence"));
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
