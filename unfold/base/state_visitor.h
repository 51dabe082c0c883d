#pragma once
/// What a checkpoint holds of something: it shows every piece of its state to a visitor, which reads or writes it.

#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "unfold/base/error.h"

namespace unfold {

template <class T>
class StateVisitor {
 public:
  virtual ~StateVisitor() = default;
  virtual void operator()(std::string_view name, std::span<T> values) = 0;
  virtual void operator()(std::string_view name, double& value) = 0;

  /// A count, which may later be an index: a checkpoint can hold any number. Throws ModelError unless it is whole and
  /// from 0 to `most`.
  void count(std::string_view name, double& value, double most = 0x1p53) {
    (*this)(name, value);
    if (!(value >= 0 && value <= most && value == std::floor(value)))
      throw ModelError("the checkpoint's counter \"" + std::string(name) + "\" is no count that can be");
  }
};

}  // namespace unfold
