#pragma once
/// All losses that a head can be given by name. Each entry stands beside its loss; the list is registry.def:
/// `losses().get("softmax").make<float>()`.

#include <memory>

#include "unfold/base/registry.h"
#include "unfold/losses/loss.h"

namespace unfold {

struct LossEntry {
  const char *name, *help;
  bool of_symbols;  ///< it observes symbols; otherwise vectors
  std::unique_ptr<Loss<float>> (*make_float)();
  std::unique_ptr<Loss<double>> (*make_double)();

  template <class T>
  std::unique_ptr<Loss<T>> make() const {
    if constexpr (sizeof(T) == sizeof(float))
      return make_float();
    else
      return make_double();
  }
};

const Registry<LossEntry>& losses();

}  // namespace unfold
