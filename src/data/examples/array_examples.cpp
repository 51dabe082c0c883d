#include "data/examples/array_examples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "data/files/line_parts.h"
#include "data/schema/column_names.h"

namespace unfold {
namespace {

/// Relates the arrays to examples: if one of them is [N, T, n], there are N examples, otherwise one.
class ArrayExamples {
 public:
  ArrayExamples(const std::string& source, std::vector<NpyArray> arrays) {
    examples_.source = source;
    for (const NpyArray& array : arrays) require_shape(array);
    make_labeled_series(arrays);
    note_channels_first(arrays);
    for (const NpyArray& array : arrays) find_lengths(array);
    for (Index e = 1; e <= count_; ++e) examples_.ends.push_back(e * length_);
    for (NpyArray& array : arrays) add(array);
  }
  Examples take() { return std::move(examples_); }

 private:
  [[noreturn]] void refuse(const NpyArray& array, const std::string& what) const {
    throw_data_error(examples_.source, 0,
                     fmt::format("array \"{}\" of shape [{}]: {}", array.name, fmt::join(array.shape, ", "), what));
  }

  void require_shape(const NpyArray& array) const {
    if (array.shape.empty() || array.shape.size() > 3) {
      refuse(array, "expected [positions], [positions, numbers] or [examples, positions, numbers]");
    }
    if (array.values.empty()) refuse(array, "it is empty; remove it");
  }

  std::string shape_of(const NpyArray& array) const { return fmt::format("[{}]", fmt::join(array.shape, ", ")); }

  /// In an archive of two arrays, [N, T] and classes [N], each row of the first one is a series with one class. Shorter
  /// rows are vectors, with a class at each position.
  void make_labeled_series(std::vector<NpyArray>& arrays) {
    constexpr Index kLeastValues = 8;
    if (arrays.size() != 2) return;
    NpyArray& series = arrays[arrays[0].shape.size() == 2 ? 0 : 1];
    const NpyArray& labels = arrays[arrays[0].shape.size() == 2 ? 1 : 0];
    if (series.shape.size() != 2 || labels.shape.size() != 1 || !is_class_name(labels.name)) return;
    if (series.shape[0] != labels.shape[0] || series.shape[1] < kLeastValues) return;
    const Index count = series.shape[0], length = series.shape[1];
    examples_.remarks.push_back(
        fmt::format("{0}: {1} {2} is read as {3} series of {4} values, and {5} {6} as one label for each; if it is one "
                    "series of {3} vectors, save {1} with the shape [1, {3}, {4}] and {5} with [1, {3}]",
                    examples_.source, series.name, shape_of(series), count, length, labels.name, shape_of(labels)));
    series.shape.push_back(1);
  }

  /// Notes arrays [N, T, n] with more numbers than positions, which may be [N, channels, T].
  void note_channels_first(const std::vector<NpyArray>& arrays) {
    for (const NpyArray& array : arrays)
      if (array.shape.size() == 3 && array.shape[1] > 1 && array.shape[1] < array.shape[2])
        examples_.remarks.push_back(fmt::format(
            "{0}: {1} {2} is read as {3} examples of {4} positions with {5} numbers each; if these are {4} channels of "
            "{5} values, as in sktime and aeon, save {1}.transpose(0, 2, 1)",
            examples_.source, array.name, shape_of(array), array.shape[0], array.shape[1], array.shape[2]));
  }

  void find_lengths(const NpyArray& array) {
    const bool many = array.shape.size() == 3;
    if (!many && several_) return;
    const Index count = many ? array.shape[0] : 1, length = array.shape[many ? 1 : 0];
    if (several_ == many && length_ > 0 && (count != count_ || length != length_)) {
      refuse(array, fmt::format("a different array has {} examples of {} positions; all must match", count_, length_));
    }
    several_ = many;
    count_ = count;
    length_ = length;
  }

  void add(NpyArray& array) {
    const auto dimensions = array.shape.size();
    const bool at_positions = !several_ || dimensions == 3 || (dimensions == 2 && array.shape[1] == length_);
    const Index entries = at_positions ? count_ * length_ : count_;
    if (several_ && array.shape[0] != count_) {
      refuse(array, fmt::format("a different array has {} examples; the first dimension must be their number", count_));
    }
    ExampleColumn column{.name = array.name, .once = !at_positions};
    column.width = static_cast<Index>(array.values.size()) / entries;
    column.numbers = std::move(array.values);
    mark_missing(array, column);
    examples_.columns.push_back(std::move(column));
  }

  /// Marks a vector that is entirely NaN as missing.
  void mark_missing(const NpyArray& array, ExampleColumn& column) const {
    const Index width = column.width, entries = column.entries();
    for (Index entry = 0; entry < entries; ++entry) {
      const auto begin = column.numbers.begin() + entry * width, end = begin + width;
      const Index missing = std::count_if(begin, end, [](double value) { return std::isnan(value); });
      if (std::any_of(begin, end, [](double value) { return std::isinf(value); })) {
        refuse(array, fmt::format("entry {} is not finite; use nan for missing values", entry));
      }
      if (missing > 0 && missing < width) {
        refuse(array, fmt::format("entry {} is nan in {} of {} numbers; use nan for all numbers of a missing vector",
                                  entry, missing, width));
      }
      if (missing == 0) continue;
      if (column.missing.empty()) column.missing.resize(at(entries), 0);
      column.missing[at(entry)] = 1;
      std::fill(begin, end, 0);
    }
  }

  Examples examples_;
  bool several_ = false;
  Index count_ = 1, length_ = 0;
};

}  // namespace

Examples examples_of_arrays(const std::string& source, std::vector<NpyArray> arrays) {
  return ArrayExamples(source, std::move(arrays)).take();
}

}  // namespace unfold
