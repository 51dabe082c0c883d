#include "unfold/programs/export_c_functions.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <utility>
#include <vector>

#include "unfold/programs/export_c_parts.h"

namespace unfold {

CText::CText(std::string name, bool wide) : name_(std::move(name)), wide_(wide) {
  for (const char c : name_) capitals_ += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
}

std::string CText::operator()(std::string_view text) const {
  std::string result;
  result.reserve(text.size() + text.size() / 4);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$') {
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
  return fmt::format("{:a}{}", value, wide_ ? "" : "f");
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
