#include "data/arrow/arrow_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/utf8.h"
#include "data/arrow/arrow_type.h"
#include "data/cells/civil_date.h"
#include "data/cells/date_cell.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using ArrowKind = ArrowType::Kind;

constexpr Index kArrowDaySeconds = 86400;

/// Releases a structure of the interface at the end of the scope.
template <class Structure>
class Released {
 public:
  Released() = default;
  explicit Released(Structure* taken) : value_(*taken) { taken->release = nullptr; }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  ~Released() {
    if (value_.release != nullptr) value_.release(&value_);
  }
  Structure* get() { return &value_; }
  const Structure& operator*() const { return value_; }

 private:
  Structure value_ = {};
};

/// Formats a date or time. `unit`: units per second, 0: units are days. `digits`: number of digits of the fraction; -1:
/// without a time.
std::string moment_text(const ArrowType& type, Index units, int digits) {
  const Index per_day = type.per_second * kArrowDaySeconds;
  const Index days = type.per_second == 0 ? units : units >= 0 ? units / per_day : -((-units + per_day - 1) / per_day);
  const Index rest = type.per_second == 0 ? 0 : units - days * per_day;
  const Index second = type.per_second == 0 ? 0 : rest / type.per_second;
  std::string text;
  if (type.kind != ArrowKind::time) {
    const CivilDate date = civil_from_days(days);
    text = fmt::format("{:04}-{:02}-{:02}", date.year, date.month, date.day);
  }
  if (digits >= 0) {
    text += fmt::format("{}{:02}:{:02}:{:02}", text.empty() ? "" : " ", second / 3600, second / 60 % 60, second % 60);
    const std::string fraction =
        fmt::format("{:.9f}", static_cast<double>(rest % type.per_second) / static_cast<double>(type.per_second));
    if (digits > 0) text += fraction.substr(1, at(digits) + 1);
  }
  return text + (type.zoned ? "Z" : "");
}

/// Returns the number of digits of the fraction of a second: 0, 6 or 9; -1 if the time is midnight.
int digits_of(const ArrowType& type, Index units) {
  if (type.kind == ArrowKind::date) return -1;
  const Index second = type.per_second, fraction = ((units % second) + second) % second;
  if (fraction > 0) return second > 1'000'000 && fraction % (second / 1'000'000) > 0 ? 9 : 6;
  const bool midnight = type.kind == ArrowKind::timestamp && units % (second * kArrowDaySeconds) == 0;
  return midnight ? -1 : 0;
}

/// The entries of one column, chunk by chunk.
class ArrowColumn {
 public:
  ArrowColumn(const std::string& source, std::string name, const ArrowType& type)
      : source_(source), type_(type), entry_(&value_type(type)), list_(entry_->is_list()) {
    column_.name = std::move(name);
    if (list_) {
      entry_ = &value_type(entry_->inner.front());
      if (entry_->is_list()) {
        vectors_ = true;
        entry_ = &value_type(entry_->inner.front());
      }
    }
    if (entry_->is_list() || entry_->kind == ArrowKind::structure)
      fail(fmt::format("the column contains {}, which are not supported; convert it to lists of numbers or strings",
                       entry_->is_list() ? "lists of lists of lists"
                       : vectors_        ? "lists of lists of structures"
                                         : "lists of structures"));
    numbers_ = !is_text_kind(entry_->kind) && !entry_->is_moment() && entry_->kind != ArrowKind::null;
    if (vectors_ && !numbers_)
      fail("the column contains lists of lists whose elements are not numbers; convert it to lists of strings");
  }

  bool is_list() const { return list_; }
  const std::string& name() const { return column_.name; }
  /// Returns the ends of the lists of all rows.
  const std::vector<Index>& ends() const { return ends_; }

  /// Adds row i of an array. `present`: the structures that contain the column are not null.
  void add(const ArrowArray& array, Index i, bool present) {
    ++rows_;
    present = present && arrow_present(type_, array, i);
    if (!list_) return present ? add_value(type_, array, i) : add_missing();
    if (!present) fail(fmt::format("row {}: the list is missing; leave that row out", rows_));
    const ArrowType* type = &type_;
    const ArrowArray* from = &array;
    const Range entries = arrow_list(*type, *from, i);
    if (entries.empty()) fail(fmt::format("row {}: the list is empty; leave that row out", rows_));
    const ArrowType& inner = type->inner.front();
    for (Index e = entries.begin; e < entries.end; ++e) add_entry(inner, *from->children[0], e);
    ends_.push_back(entries_);
  }

  ExampleColumn take(bool empty_is_missing) {
    column_.width = numbers_ && !inexact_ ? std::max<Index>(width_, 1) : 0;
    if (entry_->is_moment()) write_moments();
    if (numbers_ && inexact_) write_digits();
    if (is_text_kind(entry_->kind) && empty_is_missing) mark_empty_texts();
    return std::move(column_);
  }

 private:
  static bool is_text_kind(ArrowKind kind) {
    return kind == ArrowKind::text || kind == ArrowKind::text_view || kind == ArrowKind::fixed_bytes ||
           kind == ArrowKind::boolean;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(fmt::format("{}: column {}: {}", source_, column_.name, what));
  }

  void add_entry(const ArrowType& type, const ArrowArray& array, Index i) {
    const bool present = arrow_present(type, array, i);
    if (!vectors_) return present ? add_value(type, array, i) : add_missing();
    if (!present) return add_missing();
    const Range numbers = arrow_list(type, array, i);
    if (width_ == 0) width_ = numbers.size();
    if (width_ == 0) fail(fmt::format("row {}: the vector is empty; leave that row out", rows_));
    if (numbers.size() != width_)
      fail(fmt::format("row {}: the vector has {} numbers, but the vectors before it have {}", rows_, numbers.size(),
                       width_));
    for (Index n = numbers.begin; n < numbers.end; ++n) {
      if (!arrow_present(type.inner.front(), *array.children[0], n))
        fail(fmt::format("row {}: the vector has a missing number; use null for the whole vector", rows_));
      column_.numbers.push_back(finite(arrow_cell(type.inner.front(), *array.children[0], n).number));
    }
    finish_entry(false);
  }

  double finite(double number) const {
    if (std::isfinite(number)) return number;
    fail(fmt::format("row {}: a number is not finite; use null for missing values", rows_));
  }

  void add_value(const ArrowType& type, const ArrowArray& array, Index i) {
    ArrowCell cell = arrow_cell(type, array, i);
    if (numbers_) {
      if (std::isnan(cell.number)) return add_missing();
      column_.numbers.push_back(finite(cell.number));
      if (cell.inexact && !inexact_) inexact_ = true, keep_digits();
      if (inexact_) digits_.push_back(cell.inexact ? std::move(cell.text) : fmt::format("{}", cell.number));
    } else if (entry_->is_moment()) {
      units_.push_back(cell.units);
    } else {
      if (find_invalid_utf8(cell.text) >= 0)
        fail(fmt::format("row {}: the bytes are not valid UTF-8; decode them to strings", rows_));
      column_.texts.push_back(cell.text);
    }
    finish_entry(false);
  }

  void add_missing() {
    if (vectors_ && width_ == 0) fail(fmt::format("row {}: the first vector is missing; leave that row out", rows_));
    if (numbers_) {
      column_.numbers.resize(column_.numbers.size() + at(std::max<Index>(width_, 1)), 0);
      if (inexact_) digits_.emplace_back();
    } else if (entry_->is_moment()) {
      units_.push_back(0);
    } else {
      column_.texts.push_back({});
    }
    finish_entry(true);
  }

  void finish_entry(bool missing) {
    ++entries_;
    if (!missing && column_.missing.empty()) return;
    column_.missing.resize(at(entries_ - 1), 0);
    column_.missing.push_back(missing ? 1 : 0);
  }

  /// The strings of all numbers so far except the last one.
  void keep_digits() {
    for (std::size_t i = 0; i + 1 < column_.numbers.size(); ++i)
      digits_.push_back(column_.present(static_cast<Index>(i)) ? fmt::format("{}", column_.numbers[i]) : std::string());
  }

  void write_digits() {
    column_.texts = {digits_.begin(), digits_.end()};
    column_.numbers.clear();
    column_.integers = true;
  }

  void write_moments() {
    int digits = -1;
    for (std::size_t i = 0; i < units_.size(); ++i)
      if (column_.present(static_cast<Index>(i))) digits = std::max(digits, digits_of(*entry_, units_[i]));
    if (entry_->kind == ArrowKind::time) digits = std::max(digits, 0);
    for (std::size_t i = 0; i < units_.size(); ++i)
      column_.texts.push_back(column_.present(static_cast<Index>(i)) ? moment_text(*entry_, units_[i], digits)
                                                                     : std::string());
  }

  void mark_empty_texts() {
    for (Index e = 0; e < entries_; ++e) {
      if (!column_.texts[e].empty() || !column_.present(e)) continue;
      if (column_.missing.empty()) column_.missing.resize(at(entries_), 0);
      column_.missing[at(e)] = 1;
    }
  }

  const std::string& source_;
  const ArrowType& type_;
  const ArrowType* entry_;  ///< type of an entry; for a list, of its elements
  bool list_, vectors_ = false, numbers_ = false, inexact_ = false;
  Index rows_ = 0, entries_ = 0, width_ = 0;
  ExampleColumn column_;
  std::vector<Index> units_, ends_;
  std::vector<std::string> digits_;
};

/// All columns, with the members of structures as separate columns.
class ArrowReader {
 public:
  ArrowReader(const std::string& source, const ArrowSchema& schema) : source_(source) {
    if (schema.n_children == 0 || std::strcmp(schema.format, "+s") != 0)
      throw DataError(fmt::format("{}: the Arrow stream has no columns; pass a table", source));
    table_ = arrow_type(schema, source);
    add_columns(schema, table_, {});
  }

  void read(const ArrowArray& chunk) {
    for (Index r = 0; r < chunk.length; ++r) {
      std::size_t next = 0;
      add_row(table_, chunk, r, true, next);
    }
    rows_ += chunk.length;
  }

  ArrowTable take() {
    if (rows_ == 0) throw DataError(fmt::format("{}: the table has no rows", source_));
    const auto lists = [](const ArrowColumn& column) { return column.is_list(); };
    const auto first = std::ranges::find_if(columns_, lists);
    const bool table = first == columns_.end();
    ArrowTable result{.format = table ? "table" : "jsonl", .examples = {.source = source_}};
    result.examples.ends = table ? std::vector<Index>{rows_} : first->ends();
    for (ArrowColumn& column : columns_) {
      if (column.is_list() && column.ends() != first->ends()) refuse_lengths(*first, column);
      result.examples.columns.push_back(column.take(/*empty_is_missing=*/table));
      result.examples.columns.back().once = !table && !column.is_list();
    }
    // The keys of JSON objects have no order.
    if (!table) std::ranges::sort(result.examples.columns, {}, &ExampleColumn::name);
    return result;
  }

 private:
  void add_columns(const ArrowSchema& schema, const ArrowType& type, const std::string& prefix) {
    for (Index c = 0; c < schema.n_children; ++c) {
      const ArrowSchema& child = *schema.children[c];
      const std::string name = prefix + (child.name == nullptr ? "" : child.name);
      const ArrowType& inner = type.inner[at(c)];
      if (inner.kind == ArrowKind::structure)
        add_columns(child, inner, name + ".");
      else
        columns_.emplace_back(source_, name, inner);
    }
  }

  void add_row(const ArrowType& type, const ArrowArray& array, Index row, bool present, std::size_t& next) {
    present = present && arrow_present(type, array, row);
    for (std::size_t c = 0; c < type.inner.size(); ++c) {
      const Index inner = row + array.offset;
      if (type.inner[c].kind == ArrowKind::structure)
        add_row(type.inner[c], *array.children[c], inner, present, next);
      else
        columns_[next++].add(*array.children[c], inner, present);
    }
  }

  [[noreturn]] void refuse_lengths(const ArrowColumn& a, const ArrowColumn& b) const {
    std::size_t row = 0;
    while (a.ends()[row] == b.ends()[row]) ++row;
    throw DataError(fmt::format("{}: row {}: the lists {} and {} have different lengths; make them equally long",
                                source_, row + 1, a.name(), b.name()));
  }

  std::string source_;
  ArrowType table_;
  std::vector<ArrowColumn> columns_;
  Index rows_ = 0;
};

}  // namespace

ArrowTable read_arrow_stream(const std::string& source, ArrowArrayStream* stream) {
  Released<ArrowArrayStream> taken(stream);
  const auto require = [&](int error) {
    if (error == 0) return;
    const char* why = taken.get()->get_last_error(taken.get());
    throw DataError(
        fmt::format("{}: the Arrow stream failed: {}", source, why == nullptr ? std::strerror(error) : why));
  };
  Released<ArrowSchema> schema;
  require(taken.get()->get_schema(taken.get(), schema.get()));
  ArrowReader reader(source, *schema);
  for (;;) {
    Released<ArrowArray> chunk;
    require(taken.get()->get_next(taken.get(), chunk.get()));
    if ((*chunk).release == nullptr) return reader.take();
    reader.read(*chunk);
  }
}

}  // namespace unfold
