#include "unfold/loss/network.h"

#include <algorithm>
#include <cmath>

#include "unfold/base/checks.h"

namespace unfold {

template <class T>
void Network<T>::validate() const {
  if (heads.empty()) throw UsageError("a network needs at least one head: a signal, a field and a loss");
  if (plan == nullptr) throw UsageError("a network needs a plan");
  for (const NetworkInput& input : inputs) {
    if (input.signal.circuit != plan->circuit())
      throw UsageError("the input " + input.field + " is not a signal of the circuit of the plan");
    require_index("network: input signal", input.signal.id, static_cast<Index>(plan->nodes().size()));
    const Node::Kind kind = plan->nodes()[static_cast<std::size_t>(input.signal.id)].kind();
    if (kind != Node::Kind::input && kind != Node::Kind::symbols)
      throw UsageError("the input " + input.field + ": its signal is not an input of the circuit");
  }
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const Head<T>& head = heads[i];
    if (!head.signal.valid() || head.loss == nullptr)
      throw UsageError("the head of " + head.field + " needs a signal and a loss");
    if (!std::isfinite(head.weight)) throw UsageError("the head of " + head.field + ": its weight must be finite");
    const auto& outputs = head.signal.circuit->outputs();
    if (std::find(outputs.begin(), outputs.end(), head.signal.id) == outputs.end())
      throw UsageError("the head of " + head.field +
                       ": its signal is not an output of the circuit; declare it as an output");
    for (std::size_t k = 0; k < i; ++k)
      if (heads[k].signal.id == head.signal.id)
        throw UsageError("the heads of " + heads[k].field + " and " + head.field +
                         " read the same signal; give each a separate signal");
  }
}

template <class T>
void Network<T>::clear_own(std::span<T> gradient) const {
  for (const Head<T>& head : heads)
    for (const int own : head.loss->parameter_indices()) {
      require_index("network: parameter of a loss", own, static_cast<Index>(circuit().parameters().size()));
      const ParameterInfo& p = circuit().parameters()[static_cast<std::size_t>(own)];
      require_range("network: gradient of parameter", p.offset, p.size(), static_cast<Index>(gradient.size()));
      std::fill_n(gradient.begin() + p.offset, p.size(), T{0});
    }
}

template void Network<float>::clear_own(std::span<float>) const;
template void Network<double>::clear_own(std::span<double>) const;
template void Network<float>::validate() const;
template void Network<double>::validate() const;

}  // namespace unfold
