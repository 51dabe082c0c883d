#include "unfold/train/objective/sequence_objective.h"

#include <algorithm>

namespace unfold {

template <class T>
SequenceObjectivePass<T>::SequenceObjectivePass(const Network<T>& network, BatchChooser<T>& chooser, Team& team)
    : network_(network), chooser_(chooser), team_(team), unfolding_(network.plan, team, network.precision) {
  for (const Head<T>& head : network.heads)
    if (!chooser.weighs_whole_sequences())
      head.loss->template need<RowLoss<T>>("an objective of whole sequences (--objective)");
}

template <class T>
double SequenceObjectivePass<T>::value(const Batch& batch, const Parameters<T>& parameters, std::uint64_t draw) {
  return chooser_.value(batch, parameters, draw, chosen_);
}

template <class T>
double SequenceObjectivePass<T>::gradient(const Batch& batch, const Parameters<T>& parameters, std::uint64_t draw,
                                          std::optional<std::uint64_t> dropout, double scale, std::span<T> gradient,
                                          bool accumulate) {
  chooser_.choose(batch, parameters, draw, chosen_);
  if (chosen_.weights.empty()) {
    if (!accumulate) std::ranges::fill(gradient, T{0});
    return chosen_.value;
  }
  const Structure& structure = chosen_.batch.structure;
  unfolding_.set_parameters(parameters);
  if (dropout) unfolding_.set_dropout_seed(*dropout);
  unfolding_.lay(structure);
  upload_inputs(chosen_.batch, 0, structure.positions(), network_, unfolding_);
  unfolding_.forward();
  seed(parameters, scale, gradient);
  unfolding_.backward(gradient, {.accumulate = accumulate});
  return chosen_.value;
}

/// Sets the adjoints of the heads to the adjoints of the losses, multiplied by the row weights.
template <class T>
void SequenceObjectivePass<T>::seed(const Parameters<T>& parameters, double scale, std::span<T> gradient) {
  const Index rows = chosen_.batch.structure.positions();
  nats_.resize(at(rows));
  for (const Head<T>& head : network_.heads) {
    const Matrix<T> adjoint = unfolding_.adjoint(head.signal);
    const Observed<T> seen{.structure = unfolding_.structure(),
                           .signal = unfolding_.value(head.signal),
                           .targets = targets_of<T>(chosen_.batch.field(head.field), 0, rows),
                           .parameters = parameters.flat()};
    head.loss->gradient(seen, static_cast<T>(scale * head.weight), team_, nats_.data(), adjoint, gradient);
    for (Index r = 0; r < rows; ++r)
      for (Index i = 0; i < adjoint.cols; ++i) adjoint(r, i) *= static_cast<T>(chosen_.weights[at(r)]);
  }
}

template class SequenceObjectivePass<float>;
template class SequenceObjectivePass<double>;

}  // namespace unfold
