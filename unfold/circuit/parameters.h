#pragma once
/// All parameters of a circuit as one contiguous vector with named blocks, ordered by name. Optimisers and checkpoints
/// see the vector; people see names and shapes.

#include "unfold/base/views.h"
#include "unfold/circuit/circuit.h"

namespace unfold {

template <class T>
class Parameters {
 public:
  Parameters() = default;
  explicit Parameters(const Circuit& circuit);

  /// Draws every block from its Init, by streams of `seed` named after the parameters.
  void initialise(std::uint64_t seed);

  Index size() const { return flat_.size(); }
  std::span<T> flat() { return flat_.span(); }
  std::span<const T> flat() const { return flat_.span(); }
  const std::vector<ParameterInfo>& info() const { return info_; }  ///< in the order of Circuit::parameters()
  Matrix<T> operator[](int parameter) { return view(flat_.data(), parameter); }
  Matrix<const T> operator[](int parameter) const { return view(flat_.data(), parameter); }
  /// By name; throws UsageError with the nearest name when there is none.
  Matrix<T> at(std::string_view name);
  /// Block `parameter` inside any vector laid out like this one (a gradient, a direction).
  template <class U>
  Matrix<U> view(U* flat, int parameter) const {
    const ParameterInfo& p = info_[static_cast<std::size_t>(parameter)];
    return {flat + p.offset, p.rows, p.cols, p.cols};
  }

 private:
  std::vector<ParameterInfo> info_;
  Buffer<T> flat_;
};

}  // namespace unfold
