#include "data/readers/example_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/formats/decompress.h"
#include "data/examples/transformations/weight_column.h"
#include "data/readers/file_formats.h"
#include "data/readers/memory_data.h"
#include "data/readers/reader_text.h"
#include "data/schema/column_names.h"
#include "data/schema/only_header.h"
#include "unfold/base/error.h"

namespace unfold {

#define UNFOLD_READER(entry) ReaderEntry entry();
#include "data/readers/readers.def"
#undef UNFOLD_READER

const Registry<ReaderEntry>& readers() {
  static const Registry<ReaderEntry> list("format", {
#define UNFOLD_READER(entry) entry(),
#include "data/readers/readers.def"
#undef UNFOLD_READER
                                                    });
  return list;
}

namespace {

constexpr std::size_t kSampleBytes = std::size_t{64} << 10;

std::string_view without_compression(std::string_view name) {
  return compression_of(name) == Compression::none ? name : name.substr(0, name.rfind('.'));
}

DataSample sample_of(const Input& input) {
  DataSample sample{.name = without_compression(input.name()), .bytes = input.bytes().substr(0, kSampleBytes)};
  sample.whole = sample.bytes.size() == input.bytes().size();
  if (sample.bytes.find('\0') != std::string_view::npos) return sample;
  // An incomplete last line is ignored, because it gives no information about the format.
  const char end = line_end_of(sample.bytes);
  const std::string_view complete = sample.whole ? sample.bytes : sample.bytes.substr(0, sample.bytes.rfind(end) + 1);
  for (ReaderLines lines(strip_bom(complete)); lines.next();) sample.lines.push_back(lines.line());
  return sample;
}

/// Checks the invariants of all examples, whichever reader produced them.
void require_examples(const Examples& examples) {
  std::set<std::string_view> names;
  for (const ExampleColumn& column : examples.columns) {
    if (names.insert(column.name).second) continue;
    throw DataError(fmt::format("{}: two columns are named {}; rename one", examples.source, column.name));
  }
  if (examples.count() == 0 && examples.schema != nullptr && examples.schema->header)
    refuse_only_header(examples.source);
  if (examples.count() == 0) throw DataError(fmt::format("{}: it contains no examples", examples.source));
  for (Index e = 0; e < examples.count(); ++e) {
    if (examples.length(e) > 0) continue;
    const Index line = examples.example_lines.empty() ? 0 : examples.example_lines[at(e)];
    throw_data_error(examples.source, line, fmt::format("example {} is empty; remove it from the file", e + 1));
  }
}

constexpr std::size_t kMostNumberedClasses = 20;
constexpr Index kLeastEntriesPerClass = 2;

/// Returns whether all numbers are integers; adds them to `distinct` until there are too many.
bool are_few_integers(const ExampleColumn& column, std::set<double>& distinct) {
  for (Index e = 0; e < column.entries(); ++e) {
    if (!column.present(e)) continue;
    const double x = column.numbers[at(e)];
    if (x != std::floor(x) || std::abs(x) >= static_cast<double>(kLargestExactInteger)) return false;
    if (distinct.size() <= kMostNumberedClasses) distinct.insert(x);
  }
  return true;
}

/// Integers become classes if the options request strings, or if there are few different ones and the name of the
/// column suggests a class. A table has its own rules (data/schema).
void make_classes(const ReaderOptions& options, Examples& examples) {
  if (examples.schema != nullptr || !options.rows.field.empty()) return;
  for (ExampleColumn& column : examples.columns) {
    if (column.width != 1 || column.source || !column.clash.empty()) continue;
    const RequestedType wanted = requested_type(options, column.name);
    if (wanted == RequestedType::numbers) continue;
    if (wanted != RequestedType::texts && (!is_class_name(column.name) || column.name == "notes")) continue;
    std::set<double> distinct;
    if (!are_few_integers(column, distinct)) continue;
    const bool few = distinct.size() <= kMostNumberedClasses &&
                     static_cast<Index>(distinct.size()) * kLeastEntriesPerClass <= column.entries();
    if (wanted != RequestedType::texts && !few) continue;
    for (Index e = 0; e < column.entries(); ++e)
      column.texts.push_back(column.present(e) ? format_number(column.numbers[at(e)], 0) : std::string());
    column.numbers.clear();
    column.width = 0;
    column.integers = true;
  }
}

}  // namespace

bool has_rows(std::string_view format) {
  const ReaderEntry* reader = readers().find(std::string(format));
  return reader != nullptr && reader->has_sequence_column;
}

FormatGuess guess_format(const Input& input) {
  const DataSample sample = sample_of(input);
  const std::span<const std::string_view> named = formats_of_name(input.name());
  if (!named.empty() && readers().find(std::string(named.front())) == nullptr) return {"text", "its name"};
  for (const ReaderEntry& reader : readers()) {
    if (!named.empty() && std::ranges::find(named, reader.name) == named.end()) continue;
    std::string why = reader.guess(sample);
    if (!why.empty()) return {reader.name, std::move(why)};
  }
  if (!named.empty()) return {std::string(named.front()), "its name"};
  return {"text", "no other format was recognized"};
}

std::string guess_log(const std::string& path) {
  const bool packed = compression_of(path) != Compression::none;
  const std::filesystem::path name = std::filesystem::path(packed ? path.substr(0, path.rfind('.')) : path).filename();
  const std::string extension = name.extension().string();
  const bool numbered = extension.size() > 1 && std::all_of(extension.begin() + 1, extension.end(),
                                                            [](char c) { return c >= '0' && c <= '9'; });
  std::error_code ignored;
  const bool output = extension == ".out" || extension == ".err";  // of a program: catalina.out
  if ((!extension.empty() && !numbered && !output) || (path != "-" && !std::filesystem::is_regular_file(path, ignored)))
    return {};
  const Input input = Input::open(path, EmptyInput::allowed);
  if (guess_format(input).format != "text") return {};
  const Resemblance found = resemblance_of(sample_of(input));
  return found.format == "log" ? found.why : std::string();
}

std::string resembles(const Input& input) {
  const Resemblance found = resemblance_of(sample_of(input));
  if (!found.remedy.empty())
    return fmt::format("{} is read as running text, but {}; {}", input.name(), found.why, found.remedy);
  if (found.format.empty()) return {};
  return fmt::format(
      "{} is read as running text, but {}; --format {} reads it in that format and reports lines that do not match",
      input.name(), found.why, found.format);
}

void finish_examples(const ReaderOptions& options, Examples& examples) {
  require_examples(examples);
  make_classes(options, examples);
  make_trees(options.trees, examples);
  const std::optional<ExampleColumn> weights = take_column(options.weights, examples);
  add_sequence_ends(options.whole, examples);
  make_vectors(options.rows, examples);
  if (weights) add_weights(*weights, examples);
}

Examples read_examples(const Input& input, const ReaderOptions& options) {
  const std::string format = options.format.empty() ? guess_format(input).format : options.format;
  if (options.format.empty() && readers().find(format) == nullptr) {
    throw DataError(
        fmt::format("{}: it looks like running text, which has no fields; specify its format", input.name()));
  }
  Examples examples = readers().get(format).read(input, options);
  input.require_whole();
  finish_examples(options, examples);
  return examples;
}

}  // namespace unfold
