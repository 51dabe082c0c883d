#include "interop/c/export_c_functions.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "interop/c/c_function_list.h"

namespace unfold {

CText::CText(std::string name, bool wide) : name_(std::move(name)), wide_(wide) {
  for (const char c : name_) capitals_ += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
}

namespace {

/// Formats a number in decimal digits that reproduce its bits in every dialect of C and C++; hexadecimal floating-point
/// literals require C++17.
template <class T>
std::string decimal(T value) {
  std::string digits = fmt::format("{}", value);
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return digits;
}

/// Reads a hexadecimal number with an exponent at the beginning of a text and returns its number of characters; 0 if
/// there is none.
std::size_t hexadecimal_at(std::string_view text, double& value) {
  if (!text.starts_with("0x")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789abcdefABCDEF.", 2);
  if (end == std::string_view::npos || text[end] != 'p') return 0;
  const auto [rest, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, std::chars_format::hex);
  return error == std::errc() ? static_cast<std::size_t>(rest - text.data()) : 0;
}

}  // namespace

std::string CText::operator()(std::string_view text) const {
  std::string result;
  result.reserve(text.size() + text.size() / 4);
  for (std::size_t i = 0; i < text.size(); ++i) {
    double value = 0;
    if (const std::size_t length = text[i] == '0' ? hexadecimal_at(text.substr(i), value) : 0; length > 0) {
      const char next = i + length < text.size() ? text[i + length] : ' ';
      const bool narrow = next == 'f' || (next == '$' && !wide_);
      result += narrow ? decimal(static_cast<float>(value)) : decimal(value);
      i += length - 1;
    } else if (text[i] == '$') {
      if (!wide_) result += 'f';
    } else if (text[i] != '@') {
      result += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == '@') {
      result += capitals_, ++i;
    } else {
      result += name_ + "_";
    }
  }
  return result;
}

std::string CText::number(double value) const {
  if (value == 0) return std::signbit(value) ? (wide_ ? "-0.0" : "-0.0f") : "0";
  return wide_ ? decimal(value) : decimal(static_cast<float>(value)) + "f";
}

std::string c_functions(const CText& text, const std::set<std::string>& names) {
  std::vector<CFunction> all = c_number_functions(text.wide());
  for (CFunction& f : c_row_functions()) all.push_back(std::move(f));
  std::set<std::string> wanted = names;
  for (auto f = all.rbegin(); f != all.rend(); ++f)
    if (wanted.contains(f->name)) wanted.insert(f->calls.begin(), f->calls.end());
  std::string result;
  for (const CFunction& f : all)
    if (wanted.contains(f.name)) result += text(f.text);
  return result;
}

}  // namespace unfold
