#pragma once
/// All parameters of a circuit in one contiguous vector of named blocks, ordered by name. Optimizers and checkpoints
/// use the vector; users see names and shapes.
///
///   Parameters<float> parameters(circuit);
///   parameters.initialize(seed);
///   parameters.at("z/W")(0, 0) = 1;   // Matrix view of a block

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "unfold/base/checks.h"
#include "unfold/base/views.h"
#include "unfold/graph/circuit/circuit.h"

namespace unfold {

/// Owner of a newer copy of the parameter values, for example on a device.
template <class T>
class Keeper {
 public:
  virtual ~Keeper() = default;
  /// Copies the current values to host memory and assumes that the host modifies them.
  virtual void bring(std::span<T> home) = 0;
};

template <class T>
class Parameters {
 public:
  Parameters() = default;
  explicit Parameters(const Circuit& circuit);
  Parameters(const Parameters& other) : info_(other.info_), flat_(other.home()) {}
  Parameters& operator=(const Parameters& other) {
    if (this != &other) *this = Parameters(other);
    return *this;
  }
  Parameters(Parameters&& other) noexcept
      : info_(std::move(other.info_)), flat_(std::move(other.flat_)), keeper_(std::exchange(other.keeper_, nullptr)) {}
  Parameters& operator=(Parameters&& other) noexcept {
    std::swap(info_, other.info_);
    std::swap(flat_, other.flat_);
    std::swap(keeper_, other.keeper_);
    return *this;
  }
  ~Parameters() = default;

  /// Initializes every block from its Init, with streams of `seed` named after the parameters.
  void initialize(std::uint64_t seed);

  Index size() const { return flat_.size(); }
  std::span<T> flat() { return home().span(); }
  std::span<const T> flat() const { return std::as_const(home()).span(); }
  /// Returns the parameters in the order of Circuit::parameters().
  const std::vector<ParameterInfo>& info() const { return info_; }
  Matrix<T> operator[](int parameter) { return view(home().data(), parameter); }
  Matrix<const T> operator[](int parameter) const { return view(std::as_const(home()).data(), parameter); }
  /// Returns a block by name. Throws a UsageError that lists the names if there is none.
  Matrix<T> at(std::string_view name);
  /// Returns block `parameter` of any vector with the same layout (a gradient, a direction).
  template <class U>
  Matrix<U> view(U* flat, int parameter) const {
    require_index("parameters: block", parameter, static_cast<Index>(info_.size()));
    const ParameterInfo& p = info_[static_cast<std::size_t>(parameter)];
    return {flat + p.offset, p.rows, p.cols, p.cols};
  }

  /// Moves ownership of the current values to a keeper, such as a device buffer. They are copied back on the next
  /// access from the host, which must be by a single thread.
  void lend(Keeper<T>& keeper) { keeper_ = &keeper; }
  bool is_attached_to(const Keeper<T>& keeper) const { return keeper_ == &keeper; }

 private:
  Buffer<T>& home() const {
    if (keeper_ != nullptr) std::exchange(keeper_, nullptr)->bring(flat_.span());
    return flat_;
  }

  std::vector<ParameterInfo> info_;
  mutable Buffer<T> flat_;
  mutable Keeper<T>* keeper_ = nullptr;
};

}  // namespace unfold
