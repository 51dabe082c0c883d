#include "loss/density/columns.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr Index kMostColumns = 1'000'000;

[[noreturn]] void malformed_columns(std::string_view text) {
  throw UsageError(
      fmt::format("columns={}: use b for a bit, n for a number, c4 for one of four classes, b*3 for three bits, "
                  "separated by +; at most {} classes",
                  text, kMostClasses));
}

/// Parses a nonnegative integer.
Index count_in(std::string_view digits, std::string_view text, Index most) {
  Index count = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, count);
  if (error != std::errc() || stop != end || count < 1 || count > most) malformed_columns(text);
  return count;
}

Column column_in(std::string_view token, std::string_view text) {
  if (token == "b") return {};
  if (token == "n") return {.kind = Column::Kind::number};
  if (!token.starts_with('c')) malformed_columns(text);
  return {.kind = Column::Kind::classes, .classes = count_in(token.substr(1), text, kMostClasses)};
}

}  // namespace

std::vector<Column> parse_columns(std::string_view text) {
  std::vector<Column> columns;
  for (std::string_view left = text; !left.empty();) {
    const std::size_t plus = left.find('+');
    const std::string_view token = left.substr(0, plus);
    const std::size_t star = token.find('*');
    const Column column = column_in(token.substr(0, star), text);
    const Index count = star == std::string_view::npos ? 1 : count_in(token.substr(star + 1), text, kMostColumns);
    if (static_cast<Index>(columns.size()) + count > kMostColumns) malformed_columns(text);
    columns.insert(columns.end(), at(count), column);
    if (plus == std::string_view::npos) break;
    left.remove_prefix(plus + 1);
    if (left.empty()) malformed_columns(text);
  }
  return columns;
}

std::string to_string(std::span<const Column> columns) {
  std::string text;
  for (std::size_t begin = 0, end = 0; begin < columns.size(); begin = end) {
    while (end < columns.size() && columns[end] == columns[begin]) ++end;
    const Column& column = columns[begin];
    if (begin > 0) text += '+';
    switch (column.kind) {
      case Column::Kind::bit: text += 'b'; break;
      case Column::Kind::number: text += 'n'; break;
      case Column::Kind::classes: text += fmt::format("c{}", column.classes); break;
    }
    if (end - begin > 1) text += fmt::format("*{}", end - begin);
  }
  return text;
}

VectorShape VectorShape::alike(Index numbers, Index outputs) {
  const std::vector<Column> columns(at(numbers), Column{.kind = Column::Kind::number});
  return {columns, std::vector<Index>(at(numbers), outputs)};
}

VectorShape::VectorShape(std::span<const Column> columns, std::span<const Index> outputs) {
  for (std::size_t d = 0; d < columns.size(); ++d) {
    first_input_.push_back(first_input_.back() + columns[d].inputs());
    first_output_.push_back(first_output_.back() + outputs[d]);
    is_class_.push_back(columns[d].kind == Column::Kind::classes ? 1 : 0);
    has_classes_ = has_classes_ || is_class_.back() != 0;
  }
}

void VectorShape::require_class(Index d, double x, std::string_view who) const {
  const Index classes = first_input(d + 1) - first_input(d);
  if (!(x >= 0 && x < static_cast<double>(classes)) || x != std::floor(x))
    throw DataError(fmt::format("{}: number {} of a vector is {}, but must be one of {} classes, 0 to {}", who, d + 1,
                                x, classes, classes - 1));
}

}  // namespace unfold
