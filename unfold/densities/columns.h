#pragma once
/// What the numbers of a vector are: bits, other numbers, or classes, and where their inputs and outputs lie in a net.
///
///   const std::vector<Column> columns = parse_columns("b*3+c4+n");    // three bits, one of four classes, a number
///
/// A class is written as its place among its names, 0 .. K - 1. A net reads it as K inputs of which one is 1.

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

inline constexpr Index kMostClasses = 1000;

struct Column {
  enum class Kind : unsigned char { bit, number, classes };
  Kind kind = Kind::bit;
  Index classes = 0;  ///< of that kind: how many there are, 1 to kMostClasses

  Index inputs() const { return kind == Kind::classes ? classes : 1; }
  bool operator==(const Column&) const = default;
};

/// b: a bit, n: a number, c4: one of four classes; "*3" behind it: three of them; + between them. Empty: none. Throws
/// UsageError.
std::vector<Column> parse_columns(std::string_view text);
std::string to_string(std::span<const Column> columns);

/// Of each number of a vector: its inputs and its outputs, number by number.
class VectorShape {
 public:
  VectorShape() = default;
  /// None is a class; each has so many outputs.
  static VectorShape alike(Index numbers, Index outputs);
  /// outputs[d] of column d.
  VectorShape(std::span<const Column> columns, std::span<const Index> outputs);

  Index numbers() const { return static_cast<Index>(is_class_.size()); }
  /// Of number d, or behind the last one.
  Index first_input(Index d) const { return first_input_[at(d)]; }
  Index first_output(Index d) const { return first_output_[at(d)]; }
  Index outputs(Index d) const { return first_output_[at(d + 1)] - first_output_[at(d)]; }
  Index all_inputs() const { return first_input_.back(); }
  Index all_outputs() const { return first_output_.back(); }
  bool is_class(Index d) const { return is_class_[at(d)] != 0; }
  bool has_classes() const { return has_classes_; }

  /// The only input of number d that is not 0, and what it is; 0 where there is none.
  template <class T>
  std::pair<Index, T> input(Index d, T x) const {
    return is_class(d) ? std::pair{first_input(d) + static_cast<Index>(x), T{1}} : std::pair{first_input(d), x};
  }
  /// All inputs of the numbers before d.
  template <class T>
  void put_inputs(const T* x, Index d, T* inputs) const {
    for (Index i = 0; i < first_input(d); ++i) inputs[i] = 0;
    for (Index i = 0; i < d; ++i) {
      const auto [place, value] = input(i, x[i]);
      inputs[place] = value;
    }
  }
  /// Throws DataError where what should be a class is none; `who` is told.
  template <class T>
  void require_classes(const T* x, std::string_view who) const {
    for (Index d = 0; has_classes_ && d < numbers(); ++d)
      if (is_class(d)) require_class(d, static_cast<double>(x[d]), who);
  }

 private:
  void require_class(Index d, double x, std::string_view who) const;

  std::vector<Index> first_input_ = {0}, first_output_ = {0};
  std::vector<char> is_class_;
  bool has_classes_ = false;
};

}  // namespace unfold
