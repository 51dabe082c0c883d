/// The format `ts` of the time series archives of sktime and aeon: a header of lines that begin with @, then after
/// @data one series per line. Values are separated by commas, dimensions by colons; the class or the target is last.

#include <fmt/format.h>

#include <algorithm>

#include "data/readers/reader_text.h"

namespace unfold {
namespace {

constexpr std::string_view kDataTag = "@data";

std::string lower_tag(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return lower;
}

enum class SeriesLabel { none, name, number };

/// What the header says about the lines after it.
struct TsHeader {
  SeriesLabel label = SeriesLabel::none;
  bool times = false;
};

/// Reads a line of the header: "@classLabel true 1 2".
void read_tag(std::string_view line, TsHeader& header) {
  std::vector<std::string_view> parts;
  split_at_blanks(line, parts);
  if (parts.size() < 2 || lower_tag(parts[1]) != "true") return;
  const std::string tag = lower_tag(parts[0]);
  if (tag == "@classlabel") header.label = SeriesLabel::name;
  if (tag == "@targetlabel") header.label = SeriesLabel::number;
  if (tag == "@timestamps") header.times = true;
}

bool is_ts_comment(std::string_view line) { return line.empty() || line[0] == '#' || line[0] == '%'; }

class TsReader {
 public:
  explicit TsReader(const ReaderText& text) : text_(text), examples_(text.no_examples()) {}

  Examples read() {
    bool data = false;
    for (ReaderLines lines(text_.text()); lines.next();) {
      const std::string_view line = without_blanks(lines.line());
      if (is_ts_comment(line)) continue;
      if (data)
        add(line, lines.number());
      else if (lower_tag(line) == kDataTag)
        data = begin_data(lines.number());
      else
        read_tag(line, header_);
    }
    if (!data)
      throw_data_error(text_.source(), 0, "the line @data is missing, after which the series of a .ts file begin");
    examples_.columns.push_back(std::move(values_));
    if (header_.label == SeriesLabel::name)
      examples_.columns.push_back({.name = "label", .once = true, .texts = {labels_.begin(), labels_.end()}});
    if (header_.label == SeriesLabel::number) {
      ExampleColumn target = number_column(text_.source(), "target", labels_, examples_.example_lines);
      target.once = true;
      examples_.columns.push_back(std::move(target));
    }
    return std::move(examples_);
  }

 private:
  bool begin_data(Index line) const {
    if (header_.times)
      throw_data_error(text_.source(), line,
                       "series with time stamps are not supported; write the file without them (@timeStamps false)");
    return true;
  }

  void add(std::string_view line, Index number) {
    parts_.clear();
    split_at(line, ':', parts_);
    if (header_.label != SeriesLabel::none) {
      labels_.push_back(without_blanks(parts_.back()));
      parts_.pop_back();
      if (labels_.back().empty() || parts_.empty())
        throw_data_error(text_.source(), number,
                         "the class or target after the last colon, which the header states, is missing");
    }
    const auto dimensions = static_cast<Index>(parts_.size());
    if (values_.width == 0) values_.width = dimensions;
    if (dimensions != values_.width)
      throw_data_error(text_.source(), number,
                       fmt::format("the series has {} dimensions, but the first one has {}; all must match", dimensions,
                                   values_.width));
    add_values(number);
    examples_.ends.push_back(values_.entries());
    examples_.lines.resize(at(values_.entries()), number);
    examples_.example_lines.push_back(number);
  }

  /// Adds the values of the dimensions, position by position.
  void add_values(Index line) {
    std::vector<std::vector<std::string_view>> cells(parts_.size());
    for (std::size_t d = 0; d < parts_.size(); ++d) split_at(parts_[d], ',', cells[d]);
    for (const std::vector<std::string_view>& one : cells)
      if (one.size() != cells[0].size())
        throw_data_error(text_.source(), line,
                         fmt::format("its dimensions have {} and {} values; all must have the same number",
                                     cells[0].size(), one.size()));
    for (std::size_t t = 0; t < cells[0].size(); ++t) {
      std::size_t missing = 0;
      for (const std::vector<std::string_view>& one : cells) {
        const NumberText number = number_of(one[t]);
        if (number.kind == NumberText::Kind::none || number.kind == NumberText::Kind::infinite)
          throw_data_error(text_.source(), line,
                           fmt::format("\"{}\", value {} of the series, is not a finite number; write ? for a missing "
                                       "value",
                                       one[t].substr(0, kShownBytes), t + 1));
        missing += number.kind == NumberText::Kind::missing ? 1 : 0;
        values_.numbers.push_back(number.value);
      }
      if (missing > 0 && missing < cells.size())
        throw_data_error(text_.source(), line,
                         fmt::format("{} of {} dimensions have no value {}; write ? in all of them, or fill the gaps",
                                     missing, cells.size(), t + 1));
      mark_entry(values_, missing > 0);
    }
  }

  static constexpr std::size_t kShownBytes = 40;

  const ReaderText& text_;
  Examples examples_;
  TsHeader header_;
  ExampleColumn values_{.name = "values"};
  std::vector<std::string_view> parts_, labels_;
};

Examples read_ts(const Input& input, const ReaderOptions&) {
  const ReaderText text(input);
  return TsReader(text).read();
}

std::string guess_ts(const DataSample& sample) {
  bool named = false;
  for (const std::string_view full : sample.lines) {
    const std::string_view line = without_blanks(full);
    if (is_ts_comment(line)) continue;
    if (line[0] != '@') return {};
    const std::string tag = lower_tag(line.substr(0, line.find(' ')));
    named = named || tag == "@problemname";
    if (tag == kDataTag) return named ? "a header with @problemName and @data" : "";
    if (tag == "@attribute") return {};  // ARFF and .tsf
  }
  return {};
}

}  // namespace

ReaderEntry ts_reader() {
  return {.name = "ts",
          .help = "series of sktime and aeon: a header of @ lines, then VALUE,VALUE:VALUE,VALUE:LABEL in each line",
          .guess = guess_ts,
          .read = read_ts};
}

}  // namespace unfold
