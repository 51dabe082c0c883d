#include "app/fields/label_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "data/examples/derived.h"
#include "data/schema/describe_schema.h"

namespace unfold {
namespace {

using LabelCount = std::pair<std::string, Index>;

constexpr std::size_t kMostShownLabels = 5, kMostLabelBytes = 30;

/// Returns a label in lower case, with single blanks between its words and none at its ends.
std::string folded_label(std::string_view label) {
  const std::string lower = derive({.field = {}, .kind = DerivedField::Kind::lower, .count = 0}, label);
  std::string folded;
  for (const char c : lower) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!blank)
      folded += c;
    else if (!folded.empty() && folded.back() != ' ')
      folded += ' ';
  }
  if (folded.ends_with(' ')) folded.pop_back();
  return folded;
}

std::string shown_label(const LabelCount& label) {
  return fmt::format("\"{}\" ({})", escape_cell(label.first, kMostLabelBytes), label.second);
}

std::string list_of(const std::vector<std::string>& all) {
  const std::vector<std::string> shown(all.begin(),
                                       all.begin() + static_cast<Index>(std::min(all.size(), kMostShownLabels)));
  return fmt::format("{}{}", fmt::join(shown, "; "), shown.size() < all.size() ? "; ..." : "");
}

/// Describes the spellings of each class that has several, the most frequent ones first.
std::vector<std::string> several_spellings(const std::map<std::string, Index, std::less<>>& counts) {
  std::map<std::string, std::vector<LabelCount>> by_class;
  for (const auto& [label, count] : counts) by_class[folded_label(label)].emplace_back(label, count);
  std::vector<std::string> classes;
  for (auto& [folded, spellings] : by_class) {
    if (spellings.size() < 2) continue;
    std::ranges::stable_sort(spellings, std::ranges::greater(), &LabelCount::second);
    std::vector<std::string> shown;
    for (std::size_t i = 0; i < std::min(spellings.size(), kMostShownLabels); ++i)
      shown.push_back(shown_label(spellings[i]));
    classes.push_back(fmt::format("{}", fmt::join(shown, ", ")));
  }
  return classes;
}

}  // namespace

void LabelCounts::add(std::string_view label) {
  if (const auto found = counts_.find(label); found != counts_.end())
    ++found->second;
  else if (counts_.size() <= kMostLabels)
    counts_.emplace(label, 1);
}

std::vector<std::string> LabelCounts::notes(std::string_view field) const {
  std::vector<std::string> notes;
  if (counts_.size() < 2 || counts_.size() > kMostLabels) return notes;
  const std::string name = escape_cell(field, kMostLabelBytes);
  if (const std::vector<std::string> classes = several_spellings(counts_); !classes.empty())
    notes.push_back(fmt::format(
        "column \"{}\": {} spelled in several ways, which differ only in case or blanks and are read as different "
        "classes: {}; if they mean the same, write each class in one way",
        name, classes.size() == 1 ? "a class is" : fmt::format("{} classes are", classes.size()), list_of(classes)));
  std::vector<std::string> single;
  for (const auto& [label, count] : counts_)
    if (count == 1) single.push_back(fmt::format("\"{}\"", escape_cell(label, kMostLabelBytes)));
  if (!single.empty())
    notes.push_back(fmt::format(
        "column \"{}\": {} of {} classes {} only one example: {}; such a class cannot be learned and validated; merge "
        "it with another class, or leave its example out",
        name, single.size(), counts_.size(), single.size() == 1 ? "has" : "have", list_of(single)));
  return notes;
}

std::vector<std::string> label_notes(const Examples& examples, const std::vector<std::string>& predicts) {
  std::vector<std::string> notes;
  for (const std::string& field : predicts) {
    const ExampleColumn* column = examples.find(field);
    if (column == nullptr || !column->is_text() || column->characters || column->source) continue;
    const ColumnSchema* schema = examples.schema == nullptr ? nullptr : examples.schema->find(field);
    if (!column->once && (schema == nullptr || schema->type != ColumnType::category)) continue;
    LabelCounts counts;
    for (Index e = 0; e < column->entries(); ++e)
      if (column->present(e)) counts.add(column->texts[e]);
    for (std::string& note : counts.notes(field)) notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace unfold
