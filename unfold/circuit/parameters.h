#pragma once
/// All parameters of a circuit as one contiguous vector with named blocks, ordered by name. Optimisers and checkpoints
/// see the vector; people see names and shapes.

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "unfold/base/checks.h"
#include "unfold/base/views.h"
#include "unfold/circuit/circuit.h"

namespace unfold {

/// Has the numbers of a vector elsewhere, on a device, newer than those at home.
template <class T>
class Keeper {
 public:
  virtual ~Keeper() = default;
  /// Makes the numbers at home the present ones, and takes it that they change there.
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

  /// Draws every block from its Init, by streams of `seed` named after the parameters.
  void initialise(std::uint64_t seed);

  Index size() const { return flat_.size(); }
  std::span<T> flat() { return home().span(); }
  std::span<const T> flat() const { return std::as_const(home()).span(); }
  const std::vector<ParameterInfo>& info() const { return info_; }  ///< in the order of Circuit::parameters()
  Matrix<T> operator[](int parameter) { return view(home().data(), parameter); }
  Matrix<const T> operator[](int parameter) const { return view(std::as_const(home()).data(), parameter); }
  /// By name; throws UsageError, which lists the names, when there is none.
  Matrix<T> at(std::string_view name);
  /// Block `parameter` inside any vector laid out like this one (a gradient, a direction).
  template <class U>
  Matrix<U> view(U* flat, int parameter) const {
    require_index("parameters: block", parameter, static_cast<Index>(info_.size()));
    const ParameterInfo& p = info_[static_cast<std::size_t>(parameter)];
    return {flat + p.offset, p.rows, p.cols, p.cols};
  }

  /// From now on the present numbers are with a keeper, until they are asked for here: then by one thread.
  void lend(Keeper<T>& keeper) { keeper_ = &keeper; }
  bool is_lent_to(const Keeper<T>& keeper) const { return keeper_ == &keeper; }

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
