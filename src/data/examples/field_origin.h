#pragma once
/// Where the entries of a field come from: a column of examples, derived strings (derived.h), or a template
/// (templates.h).

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/examples/derived.h"
#include "data/examples/templates.h"
#include "unfold/data/examples/examples.h"

namespace unfold {

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

/// A column by its name, or a derived field with its source column and derivation steps.
class FieldOrigin {
 public:
  FieldOrigin() = default;
  FieldOrigin(const ColumnsByName& columns, std::string name);

  std::string text(Index entry) const { return parts_.empty() ? text(entry, 0) : joined(entry); }

  /// A template is always present, even if its text is empty.
  bool present(Index entry) const { return !parts_.empty() || column->present(entry); }

  const ExampleColumn* column = nullptr;  ///< null: there is none; for a template: the column of its first part
  bool spelt() const { return !steps_.empty() && steps_.front().kind == DerivedField::Kind::characters; }

 private:
  /// If one part has no column, the template has none.
  void add(const ColumnsByName& columns, const TemplatePart& part);

  /// Returns the joined texts of all parts; empty if one is missing.
  std::string joined(Index entry) const;

  /// Returns the string after the derivation steps from `step` on; the last step is applied first.
  std::string text(Index entry, std::size_t step) const;

  std::vector<DerivedField> steps_;
  std::vector<char> starts_;  // whether an entry is the first of its example; only for n-grams
  bool runs_ = false;
  std::vector<std::pair<FieldOrigin, Index>> parts_;  // parts of a template, with their offsets
  const std::vector<Index>* ends_ = nullptr;          // ends of the examples
};

/// Throws DataError if the examples do not have the column.
FieldOrigin need_origin(const ColumnsByName& columns, const std::string& name);

/// Returns the entries of a column that a field uses: all, or the last one of each example for a field with one entry
/// per example.
std::vector<Index> entries_of(const Examples& examples, const ExampleColumn& column, bool once);

}  // namespace unfold
