#pragma once
/// A line reader for the text models of CRFsuite and CRF++ (crf_formats.h), which also parses numbers. Internal to
/// interop/.

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {

class CrfLines {
 public:
  explicit CrfLines(const Input& input) : name_(input.name()), rest_(input.bytes()) {}

  /// Sets `line` to the next line, without its line ending. Returns false at the end of the file.
  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(rest_.size(), end + 1));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    ++number_;
    return true;
  }
  std::string_view need(std::string_view what) {
    std::string_view line;
    if (!next(line))
      throw DataError(fmt::format("{}: unexpected end of file; expected {}. The file may be truncated", name_, what));
    return line;
  }
  [[noreturn]] void fail(std::string_view what) const {
    throw DataError(fmt::format("{}, line {}: {}", name_, number_, what));
  }
  double number(std::string_view text) const {
    double x = 0;
    while (text.starts_with(' ')) text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(x))
      fail(fmt::format("\"{}\" is not a finite number", text));
    return x;
  }
  Index whole_number(std::string_view text) const {
    Index x = 0;
    while (text.starts_with(' ')) text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
    if (error != std::errc() || end != text.data() + text.size() || x < 0)
      fail(fmt::format("\"{}\" is not a non-negative integer", text));
    return x;
  }

 private:
  std::string name_;
  std::string_view rest_;
  Index number_ = 0;
};

}  // namespace unfold
