#include "app/predict/table_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/fields/field_entries.h"
#include "app/fields/field_reading.h"
#include "base/printable.h"
#include "data/examples/transformations/sequence_ends.h"
#include "data/schema/table_schema.h"

namespace unfold {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kParentColumn = "parent";
constexpr const char *kGridRow = "row", *kGridColumn = "column";

}  // namespace

TableWriter::TableWriter(const Examples& examples, const std::vector<AddedColumn>& added, std::string_view symbols,
                         const std::function<void(std::string_view)>& write, ConlluLines* others)
    : examples_(examples),
      added_(added),
      characters_(symbols.starts_with("chars")),
      target_characters_(symbols.ends_with("chars")),
      write_(write),
      others_(others) {
  by_example_ = std::ranges::all_of(added, &AddedColumn::once);
  of_pairs_ = std::ranges::any_of(examples.columns, &ExampleColumn::source);
  for (const AddedColumn& column : added) names_.push_back(free_name(column.name));
}

void TableWriter::heading() const {
  std::vector<std::string> names;
  for (const ExampleColumn& column : examples_.columns)
    if (is_shown(column)) names.push_back(escape_cell(column.name));
  if (shows_parents()) names.emplace_back(kParentColumn);
  if (shows_places())
    for (const char* name : {kGridRow, kGridColumn}) names.emplace_back(name);
  for (const std::string& name : names_) names.push_back(escape_cell(name));
  write_(fmt::format("{}\n", fmt::join(names, "\t")));
}

void TableWriter::rows() const {
  for (Index e = 0; e < examples_.count(); ++e) {
    if (by_example_) {
      write_row(e, -1);
      continue;
    }
    if (e > 0) write_("\n");
    const auto write_line = [this](std::string_view line) { write_other(line); };
    for (Index p = examples_.begin(e); p < examples_.end(e); ++p) {
      if (others_ != nullptr) others_->before_position(write_line);
      write_row(e, p);
    }
    if (others_ != nullptr) others_->end_sentence(write_line);
  }
}

/// Writes a comment unchanged, and the cells of another line with empty cells for the predictions.
void TableWriter::write_other(std::string_view line) const {
  if (line.starts_with('#')) return write_(fmt::format("{}\n", line));
  std::string text;
  for (std::size_t c = 0; !line.empty(); ++c) {
    const std::string_view cell = line.substr(0, line.find('\t'));
    line.remove_prefix(std::min(line.size(), cell.size() + 1));
    const bool missing = cell == "_" && c < examples_.columns.size() && !examples_.columns[c].texts.empty() &&
                         examples_.columns[c].name != "form" && examples_.columns[c].name != "lemma";
    text += fmt::format("{}{}", c == 0 ? "" : "\t", missing ? std::string() : escape_cell(cell));
  }
  write_(text + std::string(added_.size(), '\t') + "\n");
}

void TableWriter::json_rows() const {
  for (Index e = 0; e < examples_.count(); ++e)
    for (Index p = examples_.begin(e); p < examples_.end(e); ++p) {
      Json object;
      for (const ExampleColumn& column : examples_.columns)
        if (!column.derived) object[column.name] = entry_json(column, column.once ? e : p);
      for (std::size_t i = 0; i < added_.size(); ++i) object[names_[i]] = added_[i].json(added_[i].once ? e : p);
      write_(object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
    }
}

void TableWriter::jsonl() const {
  for (Index e = 0; e < examples_.count(); ++e) {
    Json object;
    for (const ExampleColumn& column : examples_.columns) {
      if (column.derived) continue;
      if (column.once) {
        object[column.name] = entry_json(column, e);
        continue;
      }
      if (const auto cell = whole_cell(examples_, column, e)) {
        object[column.name] = std::string(*cell);
        continue;
      }
      Json& list = object[column.name] = Json::array();
      const Range own = entries(column, e);
      for (Index p = own.begin; p < own.end; ++p)
        if (!is_end(column, p)) list.push_back(entry_json(column, p));
    }
    for (Index p = examples_.begin(e); p < examples_.end(e) && examples_.are_trees(); ++p)
      object[kParentColumn].push_back(examples_.parents[at(p)] + 1);
    if (examples_.are_grids()) object["shape"] = {examples_.shapes[at(e)].first, examples_.shapes[at(e)].second};
    for (std::size_t i = 0; i < added_.size(); ++i) {
      const AddedColumn& column = added_[i];
      if (column.once) {
        object[names_[i]] = column.json(e);
        continue;
      }
      Json& list = object[names_[i]] = Json::array();
      for (Index p = examples_.begin(e); p < examples_.end(e); ++p) list.push_back(column.json(p));
    }
    write_(object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  }
}

bool TableWriter::is_shown(const ExampleColumn& column) const {
  return !column.derived && (!by_example_ || column.once || column.is_text() || has_independent_rows(examples_));
}

std::string TableWriter::free_name(const std::string& wanted) const {
  const auto taken = [&](const std::string& name) {
    return examples_.find(name) != nullptr || std::ranges::find(names_, name) != names_.end();
  };
  std::string name = wanted;
  for (int copy = 2; taken(name); ++copy) name = fmt::format("{}.{}", wanted, copy);
  return name;
}

void TableWriter::write_row(Index example, Index position) const {
  std::vector<std::string> cells;
  for (const ExampleColumn& column : examples_.columns) {
    if (!is_shown(column)) continue;
    if (column.once)
      cells.push_back(entry_cell(column, example));
    else
      cells.push_back(position < 0 ? whole_text(column, example) : entry_cell(column, position));
  }
  if (shows_parents()) cells.push_back(std::to_string(examples_.parents[at(position)] + 1));
  if (shows_places()) {
    const Index width = examples_.shapes[at(example)].second, place = position - examples_.begin(example);
    for (const Index number : {place / width, place % width}) cells.push_back(std::to_string(number + 1));
  }
  for (const AddedColumn& column : added_) cells.push_back(escape_cell(column.text(column.once ? example : position)));
  write_(fmt::format("{}\n", fmt::join(cells, "\t")));
}

Range TableWriter::entries(const ExampleColumn& column, Index example) const {
  return column.source ? column.chain(example) : Range{examples_.begin(example), examples_.end(example)};
}

bool TableWriter::is_end(const ExampleColumn& column, Index entry) const {
  return of_pairs_ && column.is_text() && column.texts[entry] == kTargetEnd;
}

std::string TableWriter::whole_text(const ExampleColumn& column, Index example) const {
  if (const auto cell = whole_cell(examples_, column, example)) return escape_cell(*cell);
  std::vector<std::string> texts;
  const Range own = entries(column, example);
  for (Index p = own.begin; p < own.end; ++p)
    if (!is_end(column, p)) texts.push_back(entry_cell(column, p));
  const bool together = of_pairs_ && !column.source ? target_characters_ : characters_;
  return fmt::format("{}", fmt::join(texts, together ? "" : " "));
}

}  // namespace unfold
