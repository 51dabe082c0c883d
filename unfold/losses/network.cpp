#include "unfold/losses/network.h"

#include <algorithm>

namespace unfold {

template <class T>
void Network<T>::validate() const {
  if (heads.empty()) throw UsageError("a network needs at least one head: a signal, a field and a loss");
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const Head<T>& head = heads[i];
    const auto& outputs = head.signal.circuit->outputs();
    if (std::find(outputs.begin(), outputs.end(), head.signal.id) == outputs.end())
      throw UsageError("the head of " + head.field + ": its signal is no output of the circuit; declare it one");
    for (std::size_t k = 0; k < i; ++k)
      if (heads[k].signal.id == head.signal.id)
        throw UsageError("the heads of " + heads[k].field + " and " + head.field +
                         " read one signal: give each a signal of its own");
  }
}

template <class T>
void Network<T>::clear_own(std::span<T> gradient) const {
  for (const Head<T>& head : heads)
    for (const int own : head.loss->own_parameters()) {
      const ParameterInfo& p = circuit().parameters()[static_cast<std::size_t>(own)];
      std::fill_n(gradient.begin() + p.offset, p.size(), T{0});
    }
}

template void Network<float>::clear_own(std::span<float>) const;
template void Network<double>::clear_own(std::span<double>) const;
template void Network<float>::validate() const;
template void Network<double>::validate() const;

}  // namespace unfold
