#include <cmath>
#include <set>

#include "check.h"
#include "data/examples/derived.h"
#include "data/readers/example_reader.h"
#include "data/readers/fasta.h"
#include "unfold/base/error.h"

using namespace unfold;

namespace {

void check_column(const Examples& examples, const ExampleColumn& column) {
  if (column.source)
    check(static_cast<Index>(column.ends.size()) == examples.count() && column.ends.back() == column.entries());
  else
    check(column.entries() == (column.once ? examples.count() : examples.positions()));
  check(column.missing.empty() || static_cast<Index>(column.missing.size()) == column.entries());
  check(column.is_text() ? column.numbers.empty() : column.texts.empty());
  for (const double number : column.numbers) check(std::isfinite(number));
}

void check_derived(const ExampleColumn& column) {
  for (const char* name : {"x.lower", "x.shape", "x.prefix2", "x.suffix3", "x.char2", "x.char-2"}) {
    const DerivedField derived = *parse_derived(name);
    for (const std::string_view text : column.texts) derive(derived, text);
  }
}

void check_examples(const Examples& examples) {
  check(examples.count() > 0);
  for (Index e = 0; e < examples.count(); ++e) check(examples.length(e) > 0);
  check(examples.lines.empty() || static_cast<Index>(examples.lines.size()) == examples.positions());
  check(examples.example_lines.empty() || static_cast<Index>(examples.example_lines.size()) == examples.count());
  check(examples.parents.empty() || static_cast<Index>(examples.parents.size()) == examples.positions());
  for (Index e = 0; e < examples.count() && examples.are_trees(); ++e)
    for (Index p = examples.begin(e); p < examples.end(e); ++p) {
      const Index parent = examples.parents[static_cast<std::size_t>(p)], mine = p - examples.begin(e);
      check(p + 1 == examples.end(e) ? parent == -1 : parent > mine && parent < examples.length(e));
    }
  check(examples.shapes.empty() || static_cast<Index>(examples.shapes.size()) == examples.count());
  for (Index e = 0; e < examples.count() && examples.are_grids(); ++e) {
    const auto [height, width] = examples.shapes[static_cast<std::size_t>(e)];
    check(height > 0 && width > 0 && height * width == examples.length(e));
  }
  std::set<std::string_view> names;
  for (const ExampleColumn& column : examples.columns) {
    check(names.insert(column.name).second);
    check_column(examples, column);
    if (column.is_text()) check_derived(column);
  }
}

ReaderOptions options_of(unsigned char choice) {
  const auto all = readers().names();
  const std::size_t format = choice % (all.size() + 1);  // the last: format detection
  ReaderOptions options{.format = format < all.size() ? all[format] : ""};
  options.text = static_cast<SymbolKind>(choice / 32 % 3);
  options.text_kind_set = choice >= 128;
  if (choice / 16 % 2 == 1) options.sequence_column = "1";
  return options;
}

/// Checks FASTA independently of the reader: records are complete, separate and not empty.
void check_fasta(const Input& input) {
  try {
    const FastaFile file = read_fasta(input);
    check(file.count() > 0 && file.names.size() == file.ends.size());
    check(file.ends.back() == static_cast<Index>(file.letters.size()) &&
          file.letters.size() <= input.bytes().size() + 1);
    Index begin = 0;
    for (const Index end : file.ends) {
      check(end > begin + 1 && file.letters[static_cast<std::size_t>(end - 1)] == '\n');
      begin = end;
    }
  } catch (const DataError&) {
  }
}

}  // namespace

/// The first byte selects the reader and its options. The result is a DataError, a UsageError for a column that does
/// not exist, or examples that satisfy every invariant; format detection rejects nothing.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const Input input = Input::from_bytes("input", std::string(as_text(data + 1, size - 1)));
  check(!guess_format(input).why.empty());
  check_fasta(input);
  try {
    check_examples(read_examples(input, options_of(data[0])));
  } catch (const DataError&) {
  } catch (const UsageError&) {
    check(options_of(data[0]).sequence_column != "");
  }
  return 0;
}
