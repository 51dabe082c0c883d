#include "data/examples/field_origin.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Returns null if there is none. Throws DataError if files disagree on its type.
const ExampleColumn* find_readable(const ColumnsByName& columns, const std::string& name) {
  const ExampleColumn* column = columns.find(name);
  if (column != nullptr && !column->clash.empty()) throw DataError(column->clash);
  return column;
}

}  // namespace

FieldOrigin::FieldOrigin(const ColumnsByName& columns, std::string name) {
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

void FieldOrigin::add(const ColumnsByName& columns, const TemplatePart& part) {
  FieldOrigin origin(columns, part.field);
  const bool fits = origin.column != nullptr && origin.column->is_text() && !origin.column->once &&
                    !origin.column->source && !origin.spelt();
  column = fits && (parts_.empty() || column != nullptr) ? origin.column : nullptr;
  ends_ = &columns.examples().ends;
  parts_.emplace_back(std::move(origin), part.offset);
}

std::string FieldOrigin::joined(Index entry) const {
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

std::string FieldOrigin::text(Index entry, std::size_t step) const {
  if (step == steps_.size()) return std::string(column->texts[entry]);
  const DerivedField& derived = steps_[step];
  std::string result = derive(derived, text(entry, step + 1));
  if (derived.kind != DerivedField::Kind::run) return result;
  for (Index back = 1; back < derived.count; ++back) {
    if (starts_[at(entry)] != 0) return "<s> " + result;
    result = text(--entry, step + 1) + ' ' + result;
  }
  return result;
}

FieldOrigin need_origin(const ColumnsByName& columns, const std::string& name) {
  FieldOrigin origin(columns, name);
  if (origin.column == nullptr) columns.examples().column(name);  // throws
  return origin;
}

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

}  // namespace unfold
