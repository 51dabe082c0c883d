#include "data/readers/file_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "base/formats/decompress.h"
#include "data/readers/reader_text.h"
#include "data/schema/inference/infer_schema.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::array<std::string_view, 1> kTableOnly = {"table"}, kColumnsOnly = {"columns"}, kTreesOnly = {"trees"},
                                          kRollsOnly = {"rolls"}, kNpyOnly = {"npy"}, kPairsOnly = {"pairs"},
                                          kFastaOnly = {"fasta"}, kLogOnly = {"log"}, kArpaOnly = {"arpa"};
constexpr std::array<std::string_view, 2> kJsonLines = {"jsonl", "records"};
constexpr std::array<std::string_view, 4> kTabSeparated = {"table", "labelled", "pairs", "columns"};

struct NamedFormat {
  std::string_view ending;
  std::span<const std::string_view> formats;
};

constexpr auto kNamedFormats = std::to_array<NamedFormat>({
    {".csv", kTableOnly},    {".tsv", kTabSeparated}, {".conll", kColumnsOnly}, {".conllu", kColumnsOnly},
    {".iob", kColumnsOnly},  {".iob2", kColumnsOnly}, {".bio", kColumnsOnly},   {".jsonl", kJsonLines},
    {".ndjson", kJsonLines}, {".trees", kTreesOnly},  {".mrg", kTreesOnly},     {".rolls", kRollsOnly},
    {".npy", kNpyOnly},      {".npz", kNpyOnly},      {".pairs", kPairsOnly},   {".fa", kFastaOnly},
    {".fna", kFastaOnly},    {".faa", kFastaOnly},    {".fasta", kFastaOnly},   {".fq", kFastaOnly},
    {".fastq", kFastaOnly},  {".log", kLogOnly},      {".arpa", kArpaOnly},
});

constexpr std::size_t kMostLinesSeen = 200, kFewestLinesSeen = 5;
constexpr double kResemblingShare = 0.8;

std::vector<std::size_t> shown_lines(const DataSample& sample) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < sample.lines.size() && shown.size() < kMostLinesSeen; ++i)
    if (!without_blanks(sample.lines[i]).empty()) shown.push_back(i);
  return shown;
}

/// Returns whether one of the first words is a time with seconds, a date with a time, or a Unix time with a fraction;
/// the name of a field may precede it (`ts=2026-03-01T00:00:00Z`).
bool begins_with_time(std::string_view line) {
  constexpr std::size_t kFirstWords = 5, kShortestTime = 7;
  std::vector<std::string_view> words;
  split_at_blanks(line.substr(0, 100), words);
  for (std::size_t i = 0; i < std::min(words.size(), kFirstWords); ++i) {
    std::string_view word = words[i];
    if (const std::size_t equals = word.find('='); equals != std::string_view::npos) word.remove_prefix(equals + 1);
    while (!word.empty() && std::string_view("[]()<>,:-\"").find(word.front()) != std::string_view::npos)
      word.remove_prefix(1);
    word = word.substr(0, word.find_first_of(",]\""));
    while (!word.empty() && (word.back() == ':' || word.back() == '|')) word.remove_suffix(1);
    if (word.size() >= kShortestTime && scan_date(word).moment.has_time) return true;
    const std::size_t colon = word.find(':');  // 10/Oct/2000:13:55:36
    if (colon != std::string_view::npos && scan_date(word.substr(colon + 1)).moment.has_time &&
        scan_date(word.substr(0, colon)).shape != DateScan::Shape::none)
      return true;
  }
  return false;
}

/// "97 of 100 lines WHAT (not line 3)", if most lines fit; empty otherwise.
std::string share_text(const DataSample& sample, const std::vector<std::size_t>& lines, const char* what,
                       const std::function<bool(std::string_view)>& fits) {
  std::size_t count = 0, first_odd = 0;
  for (const std::size_t i : lines) {
    if (fits(sample.lines[i]))
      ++count;
    else if (first_odd == 0)
      first_odd = i + 1;
  }
  if (static_cast<double>(count) < kResemblingShare * static_cast<double>(lines.size())) return {};
  const std::string odd = first_odd > 0 ? fmt::format(" (not line {})", first_odd) : std::string();
  return fmt::format("{} of the first {} lines {}{}", count, lines.size(), what, odd);
}

std::string columns_text(const DataSample& sample, const std::vector<std::size_t>& lines) {
  std::vector<std::size_t> counts;
  counts.reserve(lines.size());
  for (const std::size_t i : lines)
    counts.push_back(static_cast<std::size_t>(std::ranges::count(sample.lines[i], '\t')));
  std::vector<std::size_t> sorted = counts;
  std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2));
  const std::size_t usual = sorted[sorted.size() / 2];
  if (usual == 0) return {};
  return share_text(
      sample, lines, fmt::format("have {} tab-separated cells", usual + 1).c_str(),
      [&](std::string_view line) { return static_cast<std::size_t>(std::ranges::count(line, '\t')) == usual; });
}

std::string table_text(const DataSample& sample) {
  const std::string_view first = sample.lines.front(), last = sample.lines.back();
  const std::string_view text(first.data(), static_cast<std::size_t>(last.data() + last.size() - first.data()));
  try {
    const TableSchema table = infer_table_schema(std::string(sample.name), text);
    const bool numbers = std::ranges::any_of(table.columns, [](const ColumnSchema& column) {
      return (column.type == ColumnType::number || column.type == ColumnType::integer) && column.entries() > 0;
    });
    const auto ragged = static_cast<double>(table.ragged.count), all = ragged + static_cast<double>(table.rows);
    if (table.columns.size() < 2 || !numbers || ragged > (1 - kResemblingShare) * all) return {};
    for (const ColumnSchema& column : table.columns)
      if (column.odd > 0 && !column.odd_cells.empty())
        return fmt::format("its rows have {} cells, but line {} has an unusual cell in column {}", table.columns.size(),
                           column.odd_cells[0].line, column.name);
    if (table.ragged.count == 0) return {};
    return fmt::format("its rows have {} cells, but line {} has {}", table.columns.size(), table.ragged.lines[0],
                       table.ragged_rows[0].cells);
  } catch (const Error&) {
    return {};
  }
}

bool is_json_object(std::string_view line) {
  line = without_blanks(line);
  return line.starts_with('{') && nlohmann::json::accept(line);
}

bool is_bracketed(std::string_view line) {
  line = without_blanks(line);
  return line.starts_with('(') && line.ends_with(')') && std::ranges::count(line, '(') == std::ranges::count(line, ')');
}

/// Returns whether a line is one of LIBSVM: a label and pairs of an index and a value.
bool is_sparse_vector(std::string_view line) {
  std::vector<std::string_view> parts;
  split_at_blanks(line, parts);
  if (parts.size() < 2 || scan_number(parts[0]).shape == NumberShape::none) return false;
  return std::all_of(parts.begin() + 1, parts.end(), [](std::string_view part) {
    const std::size_t colon = part.find(':');
    return colon != std::string_view::npos && scan_number(part.substr(0, colon)).shape == NumberShape::integer &&
           scan_number(part.substr(colon + 1)).shape != NumberShape::none;
  });
}

/// Files whose first lines declare attributes.
enum class AttributeFile { none, arff, tsf };

AttributeFile attribute_file(const DataSample& sample, const std::vector<std::size_t>& lines) {
  bool attributes = false, series = false;
  for (const std::size_t i : lines) {
    const std::string_view line = sample.lines[i];
    if (line.starts_with("@attribute") || line.starts_with("@ATTRIBUTE")) attributes = true;
    for (const std::string_view tag : {"@frequency", "@horizon", "@equallength", "@missing"})
      series = series || line.starts_with(tag);
    if (attributes && (line.starts_with("@data") || line.starts_with("@DATA")))
      return series ? AttributeFile::tsf : AttributeFile::arff;
  }
  return AttributeFile::none;
}

}  // namespace

std::span<const std::string_view> formats_of_name(std::string_view name) {
  if (compression_of(std::string(name)) != Compression::none) name = name.substr(0, name.rfind('.'));
  for (const NamedFormat& named : kNamedFormats)
    if (name.ends_with(named.ending)) return named.formats;
  return {};
}

Resemblance resemblance_of(const DataSample& sample) {
  const std::vector<std::size_t> lines = shown_lines(sample);
  if (lines.size() < kFewestLinesSeen) return {};
  const AttributeFile attributes = attribute_file(sample, lines);
  if (attributes == AttributeFile::tsf)
    return {.why = "it is a .tsf file, which has a series in each line",
            .remedy =
                "to read it as a table, write a CSV file with one column per series, or with the columns series, "
                "time and value"};
  if (attributes == AttributeFile::arff)
    return {.why = "it declares attributes as ARFF",
            .remedy = "to read it as a table, replace the lines up to @data with a line of names, and name it .csv"};
  if (std::string why = share_text(sample, lines, "are sparse vectors of LIBSVM", is_sparse_vector); !why.empty())
    return {.why = std::move(why), .remedy = "to read them as numbers, convert the file to CSV"};
  if (std::string why = share_text(sample, lines, "are JSON objects", is_json_object); !why.empty())
    return {"jsonl", std::move(why)};
  if (std::string why = share_text(sample, lines, "are bracketed trees", is_bracketed); !why.empty())
    return {"trees", std::move(why)};
  if (std::string why = share_text(sample, lines, "begin with a time", begins_with_time); !why.empty())
    return {"log", std::move(why)};
  if (std::string why = columns_text(sample, lines); !why.empty()) return {"columns", std::move(why)};
  if (std::string why = table_text(sample); !why.empty()) return {"table", std::move(why)};
  return {};
}

}  // namespace unfold
