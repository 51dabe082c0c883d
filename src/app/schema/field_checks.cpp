#include "app/schema/field_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/printable.h"
#include "data/examples/derived.h"
#include "data/examples/templates.h"
#include "unfold/base/error.h"
#include "unfold/data/examples/example_set.h"

namespace unfold {
namespace {

/// A column that a network reads, and the distance to an earlier position.
struct ColumnRead {
  std::string column;
  Index back = 0;
};

/// Returns the name of the column that a field is derived from.
std::string origin_of(const Examples& examples, std::string field) {
  while (examples.find(field) == nullptr) {
    const std::optional<DerivedField> derived = parse_derived(field);
    if (!derived) break;
    field = derived->field;
  }
  return field;
}

std::vector<ColumnRead> columns_read(const Examples& examples, const std::string& name) {
  const FieldRead read = parse_read(name);
  std::vector<ColumnRead> columns;
  if (examples.find(read.field) == nullptr)
    for (const TemplatePart& part : parse_template(read.field))
      columns.push_back({origin_of(examples, part.field), read.back - part.offset});
  if (columns.empty()) columns.push_back({origin_of(examples, read.field), read.back});
  return columns;
}

bool has_domain(std::string_view loss) {
  return loss == "bernoulli" || loss == "poisson" || loss == "negative-binomial" || loss == "log-normal";
}

bool fits_domain(double x, std::string_view loss) {
  if (loss == "log-normal") return x > 0;
  return loss == "bernoulli" ? x >= 0 && x <= 1 : x >= 0 && x == std::floor(x);
}

}  // namespace

void refuse_leaks(const Examples& examples, std::span<const std::string> reads, std::span<const std::string> predicts,
                  bool both_directions) {
  for (const std::string& name : reads) {
    for (const ColumnRead& read : columns_read(examples, name)) {
      if (std::ranges::find(predicts, read.column) == predicts.end()) continue;
      const ExampleColumn* column = examples.find(read.column);
      const bool once = column != nullptr && column->once;
      if (read.back > 0 && !both_directions && !once) continue;
      throw UsageError(fmt::format("reading {0} reveals {1} where it is predicted{2}; leave {0} out of --read{3}",
                                   in_quotes(name), in_quotes(read.column),
                                   read.back > 0 && !once ? ", because the model reads sequences from both ends" : "",
                                   read.back > 0 && !once ? ", or use a unidirectional model, such as lstm" : ""));
    }
  }
}

void check_loss_domain(const Examples& examples, const std::string& field, const std::string& loss) {
  const std::string_view name = std::string_view(loss).substr(0, loss.find(':'));
  const ExampleColumn* column = examples.find(field);
  if (!has_domain(name) || column == nullptr || column->is_text()) return;
  for (Index e = 0; e < column->entries(); ++e) {
    if (!column->present(e)) continue;
    for (Index i = 0; i < column->width; ++i) {
      const double x = column->numbers[at(e * column->width + i)];
      if (fits_domain(x, name)) continue;
      const std::vector<Index>& lines = column->once ? examples.example_lines : examples.lines;
      throw DataError(fmt::format(
          "{}{}: field {} is {}, but the loss {} predicts {}; use {}=normal for numbers, or leave the entry empty",
          examples.source, lines.empty() || column->source ? "" : fmt::format(": line {}", lines[at(e)]),
          escape_value(field), x, name,
          name == "bernoulli"    ? "numbers from 0 to 1"
          : name == "log-normal" ? "numbers above 0"
                                 : "integers from 0",
          escape_value(field)));
    }
  }
}

}  // namespace unfold
