#pragma once
/// What a checkpoint holds of something: it shows every piece of its state to a visitor, which reads or writes it.

#include <span>
#include <string_view>

namespace unfold {

template <class T>
class StateVisitor {
 public:
  virtual ~StateVisitor() = default;
  virtual void operator()(std::string_view name, std::span<T> values) = 0;
  virtual void operator()(std::string_view name, double& value) = 0;
};

}  // namespace unfold
