#pragma once
/// Visitor that reads or writes the state of an object for a checkpoint. The object passes each piece of its state to
/// the visitor.

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

  /// Visits a count. Because it may later be used as an index, a count read from a checkpoint is checked: throws
  /// ModelError unless the value is an integer from 0 to `most`.
  void count(std::string_view name, double& value, double most = 0x1p53) {
    (*this)(name, value);
    if (!(value >= 0 && value <= most && value == std::floor(value)))
      throw ModelError("the checkpoint's counter \"" + std::string(name) + "\" is not a valid count");
  }
};

}  // namespace unfold
