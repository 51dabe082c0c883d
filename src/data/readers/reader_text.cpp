#include "data/readers/reader_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "base/utf8.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr double kWordsOfRunningText = 1.5;

constexpr std::uint8_t kFirstWindowsByte = 0x80, kLastWindowsByte = 0x9F;

/// The characters of Windows-1252 for the bytes that are control characters in ISO-8859-1. Five bytes have none.
constexpr std::array<char32_t, kLastWindowsByte - kFirstWindowsByte + 1> kWindowsCharacters = {
    0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x8D,   0x017D, 0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};

bool is_windows_byte(char c) {
  const auto byte = static_cast<std::uint8_t>(c);
  return byte >= kFirstWindowsByte && byte <= kLastWindowsByte;
}

std::string from_windows(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() + bytes.size() / 8);
  for (const char byte : bytes) {
    const auto code = static_cast<std::uint8_t>(byte);
    append_utf8(out, is_windows_byte(byte) ? kWindowsCharacters[code - kFirstWindowsByte] : char32_t{code});
  }
  return out;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

bool begins_number(std::string_view text) {
  return !text.empty() && ((text[0] >= '0' && text[0] <= '9') || text[0] == '.');
}

}  // namespace

bool ends_in(std::string_view name, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return name.ends_with(ending); });
}

std::string in_utf8(std::string_view bytes) {
  return find_invalid_utf8(bytes) < 0 ? std::string(bytes) : from_windows(bytes);
}

ReaderText::ReaderText(const Input& input) : source_(input.name()), text_(strip_bom(input.bytes())), bytes_(text_) {
  reject_utf16(source_, text_);
  if (const std::size_t zero = text_.find('\0'); zero != std::string_view::npos) {
    const Index line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(zero), '\n');
    throw_data_error(source_, line,
                     "it contains a zero byte, so it is not text; specify its format, or unpack or convert it");
  }
  const Index bad = find_invalid_utf8(text_);
  if (bad < 0) return;
  const Index line = 1 + std::count(text_.begin(), text_.begin() + bad, '\n');
  const bool windows = std::ranges::any_of(text_, is_windows_byte);
  converted_ = from_windows(text_);
  text_ = converted_;
  remark_ = fmt::format("{} is not valid UTF-8 (line {}) and is read as {}", source_, line,
                        windows ? "Windows-1252" : "ISO-8859-1");
}

Examples ReaderText::no_examples() const {
  Examples examples{.source = source_};
  if (!remark_.empty()) examples.remarks.push_back(remark_);
  return examples;
}

bool ReaderLines::next() {
  if (rest_.empty()) return false;
  const std::size_t end = rest_.find(line_end_);
  line_ = rest_.substr(0, end);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
  ++number_;
  return true;
}

NumberText number_of(std::string_view text) {
  text = without_blanks(text);
  if (text.empty() || text == "?" || text == "NA" || equals_ignoring_case(text, "nan")) {
    return {NumberText::Kind::missing};
  }
  const bool negative = text[0] == '-';
  if (negative || text[0] == '+') text.remove_prefix(1);
  if (equals_ignoring_case(text, "inf") || equals_ignoring_case(text, "infinity")) {
    return {NumberText::Kind::infinite};
  }
  if (!begins_number(text)) return {};
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (stopped != end || error == std::errc::invalid_argument) return {};
  if (error == std::errc::result_out_of_range) {  // underflow is read as 0
    if (text.find("e-") == std::string_view::npos && text.find("E-") == std::string_view::npos) {
      return {NumberText::Kind::infinite};
    }
    value = 0;
  }
  return {NumberText::Kind::number, negative ? -value : value};
}

RequestedType requested_type(const ReaderOptions& options, const std::string& column) {
  const auto named = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), column) != names.end();
  };
  if (named(options.texts)) return RequestedType::texts;
  return named(options.numbers) ? RequestedType::numbers : RequestedType::as_they_look;
}

const char* pair_mismatch(bool targets) {
  return targets ? "this line has no target; either every line is \"source<TAB>target\", or every line is only a source"
                 : "this line has a target, but the previous lines have none; write a target in every line or in none";
}

ExampleColumn number_column(const std::string& source, std::string name, const std::vector<std::string_view>& texts,
                            const std::vector<Index>& lines) {
  ExampleColumn column{.name = std::move(name), .width = 1};
  column.numbers.reserve(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const NumberText number = number_of(texts[i]);
    if (number.kind == NumberText::Kind::infinite) {
      throw_data_error(source, i < lines.size() ? lines[i] : 0,
                       fmt::format("\"{}\" in column {} is not finite; leave the entry empty to mark it as missing",
                                   texts[i], column.name));
    }
    if (number.kind == NumberText::Kind::none) {
      throw_data_error(
          source, i < lines.size() ? lines[i] : 0,
          fmt::format("\"{}\" in column {} is not a number; read the column as strings or leave the entry empty",
                      texts[i], column.name));
    }
    column.numbers.push_back(number.value);
    mark_entry(column, number.kind == NumberText::Kind::missing);
  }
  return column;
}

TextPositions::TextPositions(const std::vector<std::string_view>& texts, const ReaderOptions& options)
    : kind_(options.text) {
  if (options.text_kind_set) return;
  Index count = 0;
  for (const std::string_view text : texts) for_each_part(text, [&](std::string_view) { ++count; });
  kind_ = are_names(count, static_cast<Index>(texts.size())) ? SymbolKind::chars : SymbolKind::words;
}

bool TextPositions::are_names(Index words, Index texts) {
  return static_cast<double>(words) < kWordsOfRunningText * static_cast<double>(texts);
}

void TextPositions::append(std::string_view text, TextList& out) const {
  if (kind_ == SymbolKind::words) {
    for_each_part(text, [&](std::string_view word) { out.push_back(word, text.data() + text.size()); });
    return;
  }
  for (Index begin = 0, end = 0; end < static_cast<Index>(text.size()); begin = end) {
    if (kind_ == SymbolKind::bytes || next_code_point(text, end) == kNoCodePoint) ++end;
    out.push_back(text.substr(at(begin), at(end - begin)), text.data() + text.size());
  }
}

}  // namespace unfold
