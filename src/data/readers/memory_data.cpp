#include "data/readers/memory_data.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "data/readers/reader_text.h"
#include "data/readers/table_examples.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Replaces a column of single numbers with their shortest decimal strings.
void make_texts(ExampleColumn& column, const std::string& source) {
  if (column.width != 1)
    throw DataError(fmt::format("{}: column {} has {} numbers per entry, but it must contain strings", source,
                                column.name, column.width));
  column.texts.reserve(column.numbers.size());
  for (std::size_t i = 0; i < column.numbers.size(); ++i)
    column.texts.push_back(column.present(static_cast<Index>(i)) ? fmt::format("{}", column.numbers[i]) : "");
  column.numbers.clear();
  column.width = 0;
}

/// Replaces a string column with the numbers that the strings represent.
void make_numbers(ExampleColumn& column, const std::string& source) {
  const std::vector<std::string_view> texts(column.texts.begin(), column.texts.end());
  const bool once = column.once;
  column = number_column(source, column.name, texts, {});
  column.once = once;
}

void give_requested_types(const ReaderOptions& options, Examples& examples) {
  for (ExampleColumn& column : examples.columns) {
    const RequestedType wanted = requested_type(options, column.name);
    if (wanted == RequestedType::texts && !column.is_text()) make_texts(column, examples.source);
    if (wanted == RequestedType::numbers && column.is_text()) make_numbers(column, examples.source);
  }
}

/// Renames columns whose name an earlier column has, as in files: x, x.2. Returns a note for each.
std::vector<std::string> rename_repeated(std::vector<ExampleColumn>& columns) {
  std::vector<std::string> notes;
  std::set<std::string, std::less<>> names;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string wanted = columns[i].name;
    for (int copy = 2; names.contains(columns[i].name); ++copy) columns[i].name = fmt::format("{}.{}", wanted, copy);
    names.insert(columns[i].name);
    if (columns[i].name == wanted) continue;
    notes.push_back(fmt::format("column {} is renamed to {} because an earlier column is named {}", i + 1,
                                in_quotes(columns[i].name), in_quotes(wanted)));
  }
  return notes;
}

thread_local MemoryFiles* current_files = nullptr;

}  // namespace

MemoryFiles::MemoryFiles(std::map<std::string, std::shared_ptr<MemoryData>, std::less<>> files)
    : files_(std::move(files)), outer_(std::exchange(current_files, this)) {}

MemoryFiles::~MemoryFiles() { current_files = outer_; }

MemoryData* MemoryFiles::find(std::string_view name) {
  for (const MemoryFiles* files = current_files; files != nullptr; files = files->outer_)
    if (const auto found = files->files_.find(name); found != files->files_.end()) return found->second.get();
  return nullptr;
}

Examples take_examples(MemoryData& data, const ReaderOptions& options) {
  Examples examples = std::exchange(data.examples, {});
  if (has_rows(data.format)) {
    const std::vector<std::string> notes = rename_repeated(examples.columns);
    examples = table_of_columns(std::move(examples), options);
    examples.remarks.insert(examples.remarks.end(), notes.begin(), notes.end());
  } else {
    give_requested_types(options, examples);
  }
  finish_examples(options, examples);
  return examples;
}

}  // namespace unfold
