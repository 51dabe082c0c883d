#include "unfold/engine/stepper.h"

namespace unfold {

template <class T>
Stepper<T>::Stepper(std::shared_ptr<const Plan> plan, const Parameters<T>& parameters, Team& team)
    : unfolding_(plan, team), state_(*plan, 1) {
  for (const Node& node : plan->nodes())
    if (node.kind == Node::Kind::link && node.delay.along != Delay::Along::previous &&
        node.delay.along != Delay::Along::first)
      throw UsageError("stepper: " + node.name + " looks along " + describe(node.delay) +
                       "; a circuit can be stepped only when all its links look back in time");
  unfolding_.lay(Structure::chains(1, 1));
  unfolding_.set_parameters(parameters);
}

template class Stepper<float>;
template class Stepper<double>;

}  // namespace unfold
