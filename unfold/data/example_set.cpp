#include "unfold/data/example_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "unfold/base/error.h"
#include "unfold/base/text_distance.h"
#include "unfold/data/derived.h"

namespace unfold {
namespace {

using Type = FieldSpecification::Type;

constexpr std::string_view kPrevious = "previous";

/// A column by its name, or the one that a derived field is made of, step by step.
class Origin {
 public:
  Origin() = default;
  Origin(const Examples& examples, std::string name) {
    while ((column = examples.find(name)) == nullptr) {
      std::optional<DerivedField> derived = parse_derived(name);
      if (!derived) return;
      name = derived->field;
      runs_ = runs_ || derived->kind == DerivedField::Kind::run;
      steps_.push_back(std::move(*derived));
    }
    if (!steps_.empty() && !column->is_text()) column = nullptr;
    if (!runs_ || column == nullptr) return;
    starts_.assign(at(column->entries()), static_cast<char>(column->once));
    for (Index e = 0; e < examples.count() && !column->once; ++e)
      if (examples.length(e) > 0) starts_[at(examples.begin(e))] = 1;
  }

  std::string text(Index entry) const { return text(entry, 0); }

  const ExampleColumn* column = nullptr;  ///< null: there is none

 private:
  /// After the steps from the given one on; the last is taken first.
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
  std::vector<char> starts_;  // whether an entry is the first of its example; of runs only
  bool runs_ = false;
};

Origin need_origin(const Examples& examples, const std::string& name) {
  Origin origin(examples, name);
  if (origin.column != nullptr) return origin;
  std::vector<std::string> names;
  for (const ExampleColumn& column : examples.columns) names.push_back(column.name);
  throw DataError(fmt::format("{} has no field \"{}\"{}; it has {}", examples.source, name, did_you_mean(name, names),
                              fmt::join(names, ", ")));
}

/// "FILE, line 12", as far as it is known.
std::string place_of(const Examples& examples, const ExampleColumn& column, Index entry) {
  const std::vector<Index>& lines = column.once ? examples.example_lines : examples.lines;
  if (lines.empty()) return fmt::format("{}, {} {}", examples.source, column.once ? "example" : "position", entry + 1);
  return fmt::format("{}, line {}", examples.source, lines[at(entry)]);
}

/// Of an alphabet larger than this, symbols that occur once are not kept: what is read once can hardly be learned.
constexpr std::size_t kClosedAlphabet = 500;

/// All distinct texts: by falling frequency, equal ones by their bytes; with `often`, of many only those that occur more
/// than once.
std::vector<std::string> distinct_texts(const Origin& origin, bool often) {
  std::unordered_map<std::string, Index> counts;
  for (Index e = 0; e < origin.column->entries(); ++e)
    if (origin.column->present(e))
      if (std::string text = origin.text(e); !text.empty()) ++counts[std::move(text)];
  std::vector<std::pair<std::string, Index>> ordered(counts.begin(), counts.end());
  std::ranges::sort(ordered, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  if (often && ordered.size() > kClosedAlphabet)
    std::erase_if(ordered, [](const auto& counted) { return counted.second < 2; });
  std::vector<std::string> texts;
  texts.reserve(ordered.size());
  for (auto& [text, count] : ordered) texts.push_back(std::move(text));
  return texts;
}

FieldSpecification specify_symbols(const Origin& origin, const std::string& name, bool predicted) {
  std::vector<std::string> texts = distinct_texts(origin, !predicted);
  if (texts.empty()) throw DataError(fmt::format("field {} holds nothing: every entry is missing", name));
  if (predicted) {
    std::ranges::sort(texts);
  } else {
    std::erase(texts, kUnknownWord);
    texts.insert(texts.begin(), std::string(kUnknownWord));
  }
  auto alphabet = std::make_shared<const Alphabet>(SymbolKind::entries, std::move(texts));
  const Index size = alphabet->size();
  return {.name = name, .type = Type::symbols, .size = size, .alphabet = std::move(alphabet)};
}

/// Mean and deviation of each component; empty where all numbers are 0 or 1.
void standardise(const ExampleColumn& column, FieldSpecification& field) {
  const auto width = at(column.width);
  std::vector<double> sum(width), squares(width);
  bool bits = true;
  Index count = 0;
  const auto each = [&](const auto& use) {
    for (Index e = 0; e < column.entries(); ++e)
      if (column.present(e))
        for (std::size_t i = 0; i < width; ++i) use(i, column.numbers[at(e) * width + i]);
  };
  each([&](std::size_t i, double x) {
    sum[i] += x;
    bits = bits && (x == 0 || x == 1);
    count += i == 0;
  });
  if (bits || count == 0) return;
  for (double& x : sum) x /= static_cast<double>(count);
  each([&](std::size_t i, double x) { squares[i] += (x - sum[i]) * (x - sum[i]); });
  for (double& x : squares) {
    x = std::sqrt(x / static_cast<double>(count));
    if (!(x > 0)) x = 1;
  }
  field.mean = std::move(sum);
  field.deviation = std::move(squares);
}

FieldSpecification specify_values(const ExampleColumn& column, const std::string& name, bool as_they_are) {
  FieldSpecification field{.name = name, .type = Type::values, .size = column.width};
  if (column.entries() == 0) throw DataError(fmt::format("field {} holds nothing", name));
  if (!as_they_are) standardise(column, field);
  return field;
}

FieldColumn encode_symbols(const Examples& examples, const Origin& origin, const FieldSpecification& field,
                           bool predicted, UnknownPolicy unknown) {
  FieldColumn result;
  const ExampleColumn& column = *origin.column;
  result.symbols.assign(at(column.entries()), kNoSymbol);
  for (Index e = 0; e < column.entries(); ++e) {
    if (!column.present(e)) continue;
    const std::string text = origin.text(e);
    if (text.empty()) continue;
    Symbol symbol = field.alphabet->find(text);
    if (symbol == kNoSymbol && predicted && unknown == UnknownPolicy::skip) {
      result.unseen[e] = text;
      continue;
    }
    if (symbol == kNoSymbol && predicted)
      throw DataError(fmt::format("{}: field {} is \"{}\", which was never seen in training; take the line out, train on "
                                  "data that have it, or, in eval, count it as wrong with --unknown skip",
                                  place_of(examples, column, e), field.name, text));
    if (symbol == kNoSymbol) symbol = field.alphabet->unknown();
    result.symbols[at(e)] = symbol;
  }
  return result;
}

FieldColumn encode_values(const Examples& examples, const ExampleColumn& column, const FieldSpecification& field) {
  if (column.is_text())
    throw DataError(fmt::format("{}: field {} holds text; the model knows it as numbers", examples.source, field.name));
  if (column.width != field.size)
    throw DataError(fmt::format("{}: field {} holds {} numbers a position; the model knows {}", examples.source,
                                field.name, column.width, field.size));
  FieldColumn result;
  const auto width = at(column.width);
  result.values.resize(column.numbers.size());
  result.present.resize(at(column.entries()));
  for (Index e = 0; e < column.entries(); ++e) {
    result.present[at(e)] = static_cast<char>(column.present(e));
    for (std::size_t i = 0; i < width; ++i) {
      const double x = column.numbers[at(e) * width + i];
      const double z = field.mean.empty() ? x : (x - field.mean[i]) / field.deviation[i];
      result.values[at(e) * width + i] = column.present(e) ? static_cast<float>(z) : 0.0F;
    }
  }
  return result;
}

/// Of a field at every position: what it is at the end of each example.
FieldColumn at_ends(const FieldColumn& all, const std::vector<Index>& ends, Index size) {
  FieldColumn result;
  for (const Index end : ends) {
    if (const auto unseen = all.unseen.find(end - 1); unseen != all.unseen.end())
      result.unseen[static_cast<Index>(result.symbols.size())] = unseen->second;
    if (!all.symbols.empty()) {
      result.symbols.push_back(all.symbols[at(end - 1)]);
      continue;
    }
    result.present.push_back(all.present[at(end - 1)]);
    const auto first = all.values.begin() + (end - 1) * size;
    result.values.insert(result.values.end(), first, first + size);
  }
  return result;
}

/// Entries [begin, end) of a column go behind those of another.
void append(const FieldColumn& from, Index begin, Index end, Index size, FieldColumn& to) {
  for (auto unseen = from.unseen.lower_bound(begin); unseen != from.unseen.end() && unseen->first < end; ++unseen)
    to.unseen[static_cast<Index>(to.symbols.size()) + unseen->first - begin] = unseen->second;
  if (!from.symbols.empty()) to.symbols.insert(to.symbols.end(), from.symbols.begin() + begin, from.symbols.begin() + end);
  if (from.present.empty()) return;
  to.present.insert(to.present.end(), from.present.begin() + begin, from.present.begin() + end);
  to.values.insert(to.values.end(), from.values.begin() + begin * size, from.values.begin() + end * size);
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
  DataSpecification data{.source = std::move(source), .fields = {}};
  const auto add = [&](const std::string& name, bool predicted) {
    if (std::ranges::find(data.fields, name, &FieldSpecification::name) != data.fields.end()) return;
    const Origin origin = need_origin(examples, name);
    data.fields.push_back(origin.column->is_text()
                              ? specify_symbols(origin, name, predicted)
                              : specify_values(*origin.column, name, choice.as_they_are.contains(name)));
    data.fields.back().once = origin.column->once || (predicted && choice.once.contains(name));
  };
  for (const std::string& name : choice.predicts) add(name, true);
  for (const std::string& name : choice.reads) add(name, false);
  return data;
}

ExampleSet::ExampleSet(const Examples& examples, std::shared_ptr<const DataSpecification> data,
                       std::span<const std::string> predicts, UnknownPolicy unknown)
    : source_(examples.source), data_(std::move(data)), ends_(examples.ends) {
  for (const FieldSpecification& field : data_->fields) {
    const Origin origin(examples, field.name);
    if (origin.column == nullptr) continue;
    const bool predicted = std::ranges::find(predicts, field.name) != predicts.end();
    if (field.type == Type::symbols && !origin.column->is_text())
      throw DataError(fmt::format("{}: field {} holds numbers; the model knows it as text", source_, field.name));
    FieldColumn column = field.type == Type::symbols ? encode_symbols(examples, origin, field, predicted, unknown)
                                                     : encode_values(examples, *origin.column, field);
    if (field.once && !origin.column->once) column = at_ends(column, ends_, field.size);
    columns_.emplace(field.name, std::move(column));
  }
}

Index ExampleSet::longest() const {
  Index result = 0;
  for (Index e = 0; e < count(); ++e) result = std::max(result, length(e));
  return result;
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
  }
  for (const auto& [name, column] : columns_) {
    const FieldSpecification& field = data_->field(name);
    FieldColumn chosen;
    for (const Index e : examples) {
      if (field.once)
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
  const bool empty = from >= to;
  const Index start = std::max<Index>(0, from - warmup);
  if (!empty) {
    result.ends_ = {to - start};
    result.warmup_ = {from - start};
  }
  for (const auto& [name, column] : columns_) {
    const FieldSpecification& field = data_->field(name);
    FieldColumn cut;
    if (!empty && field.once) append(column, example, example + 1, field.size, cut);
    if (!empty && !field.once) append(column, begin(example) + start, begin(example) + to, field.size, cut);
    result.columns_.emplace(name, std::move(cut));
  }
  return result;
}

double restored(const FieldSpecification& field, Index component, double z) {
  if (field.mean.empty()) return z;
  return field.mean[at(component)] + field.deviation[at(component)] * z;
}

}  // namespace unfold
