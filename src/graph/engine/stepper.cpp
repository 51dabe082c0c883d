#include "unfold/graph/engine/stepper.h"

#include "graph/engine/step_program.h"

namespace unfold {

template <class T>
Stepper<T>::Stepper(std::shared_ptr<const Plan> plan, const Parameters<T>& parameters, Team& team)
    : unfolding_(plan, team), state_(*plan, 1) {
  require_steppable(*plan);
  unfolding_.lay(Structure::chains(1, 1));
  unfolding_.set_parameters(parameters);
}

template class Stepper<float>;
template class Stepper<double>;

}  // namespace unfold
