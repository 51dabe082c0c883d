#pragma once
/// The columns of a vector (bits, other numbers or classes) and the positions of their inputs and outputs in a net.
///
///   const std::vector<Column> columns = parse_columns("b*3+c4+n");    // three bits, one of four classes, a number
///
/// A class is given by its index, 0 .. K - 1. A net reads it as a one-hot vector of K inputs.

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
  Index classes = 0;  ///< number of classes of a class column, 1 to kMostClasses

  Index inputs() const { return kind == Kind::classes ? classes : 1; }
  bool operator==(const Column&) const = default;
};

/// Parses a list of columns separated by "+". b is a bit, n is a number, and c4 is one of four classes; a suffix "*3"
/// repeats the column three times. The result for an empty text is empty. Throws UsageError.
std::vector<Column> parse_columns(std::string_view text);
std::string to_string(std::span<const Column> columns);

/// The offsets of the inputs and outputs of each number of a vector.
class VectorShape {
 public:
  VectorShape() = default;
  /// Returns the shape of a vector without classes; each number has the same number of outputs.
  static VectorShape alike(Index numbers, Index outputs);
  /// outputs[d]: the number of outputs of column d.
  VectorShape(std::span<const Column> columns, std::span<const Index> outputs);

  Index numbers() const { return static_cast<Index>(is_class_.size()); }
  /// Return the offset for number d; for d = numbers(), the total.
  Index first_input(Index d) const { return first_input_[at(d)]; }
  Index first_output(Index d) const { return first_output_[at(d)]; }
  Index outputs(Index d) const { return first_output_[at(d + 1)] - first_output_[at(d)]; }
  Index all_inputs() const { return first_input_.back(); }
  Index all_outputs() const { return first_output_.back(); }
  bool is_class(Index d) const { return is_class_[at(d)] != 0; }
  bool has_classes() const { return has_classes_; }

  /// Returns the index and value of the only nonzero input of number d; the value is 0 if there is none.
  template <class T>
  std::pair<Index, T> input(Index d, T x) const {
    return is_class(d) ? std::pair{first_input(d) + static_cast<Index>(x), T{1}} : std::pair{first_input(d), x};
  }
  /// Writes all inputs of the numbers before d.
  template <class T>
  void put_inputs(const T* x, Index d, T* inputs) const {
    for (Index i = 0; i < first_input(d); ++i) inputs[i] = 0;
    for (Index i = 0; i < d; ++i) {
      const auto [place, value] = input(i, x[i]);
      inputs[place] = value;
    }
  }
  /// Throws DataError if a class column holds a value that is not a class; `who` is named in the message.
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
