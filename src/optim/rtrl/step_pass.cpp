#include "optim/rtrl/step_pass.h"

#include <algorithm>

namespace unfold {

template <class T>
StepPass<T>::StepPass(const Network<T>& network, const OpenCircuit& open)
    : network_(network),
      open_(open),
      unfolding_(network.plan, team_),
      values_(open.circuit),
      gradient_(open.circuit.parameter_count()),
      components_(at(open.state)) {
  unfolding_.lay(Structure::chains(1, 1));
  unfolding_.set_parameters(values_);
  if (network.plan->live(open.always.id)) unfolding_.symbols(open.always)[0] = 0;
  for (std::size_t b = 0; b < open.blocks.size(); ++b) {
    const StateBlock& block = open.blocks[b];
    moves_.push_back(network.plan->needs_adjoint(network.plan->outside(block.after.id)) ? 1 : 0);
    for (Index k = 0; k < block.size; ++k) components_[at(block.offset + k)] = {b, k};
  }
}

template <class T>
void StepPass<T>::set_parameters(const Parameters<T>& parameters) {
  std::copy(parameters.flat().begin(), parameters.flat().end(), values_.flat().begin());
  unfolding_.set_parameters(values_);
}

template <class T>
void StepPass<T>::set_dropout(std::uint64_t seed, Index slot, Index position) {
  unfolding_.lay(unfolding_.structure(), std::span(&slot, 1));
  unfolding_.set_dropout_seed(seed, position);
}

/// The state may change without a call of set_parameters because it is looked up in place, row by row; only matrices
/// are packed.
template <class T>
void StepPass<T>::forward(const Batch& batch, Index row, const T* state) {
  std::copy_n(state, open_.state, values_.flat().begin() + open_.parameters);
  upload_inputs(batch, row, 1, network_, unfolding_);
  unfolding_.forward();
}

template <class T>
void StepPass<T>::next_state(T* state) const {
  for (const StateBlock& block : open_.blocks)
    std::copy_n(unfolding_.value(block.after).data, block.size, state + block.offset);
}

template <class T>
T StepPass<T>::losses(const Batch& batch, Index row, T scale, std::span<T> gradient) {
  unfolding_.clear_adjoints();
  T total = 0;
  for (const Head<T>& head : network_.heads) {
    const Observed<T> seen = {.structure = unfolding_.structure(),
                              .signal = unfolding_.value(head.signal),
                              .targets = targets_of<T>(batch.field(head.field), row, 1),
                              .parameters = std::span(std::as_const(values_).flat()).first(at(open_.parameters))};
    T nats = 0;
    head.loss->gradient(seen, scale * static_cast<T>(head.weight), team_, &nats, unfolding_.adjoint(head.signal),
                        gradient);
    total += static_cast<T>(head.weight) * nats;
  }
  return total;
}

template <class T>
void StepPass<T>::seed(std::span<const Index> components, std::span<const T> values) {
  unfolding_.clear_adjoints();
  for (std::size_t i = 0; i < components.size(); ++i) {
    const Component c = components_[at(components[i])];
    if (moves_[c.block] != 0) unfolding_.adjoint(open_.blocks[c.block].after)(0, c.place) = values[i];
  }
}

template <class T>
std::span<const T> StepPass<T>::backward() {
  unfolding_.backward(gradient_.span());
  return gradient_.span();
}

template <class T>
void StepPass<T>::tangent(const T* direction, T* out) {
  if (direction_.empty()) direction_.resize(gradient_.size());
  std::copy_n(direction, open_.state, direction_.data() + open_.parameters);
  unfolding_.tangent(direction_.span());
  for (std::size_t b = 0; b < open_.blocks.size(); ++b) {
    const StateBlock& block = open_.blocks[b];
    if (moves_[b] != 0)
      std::copy_n(unfolding_.tangent_of(block.after).data, block.size, out + block.offset);
    else
      std::fill_n(out + block.offset, block.size, T{0});
  }
}

template <class T>
std::size_t StepPass<T>::memory_bytes() const {
  return unfolding_.memory_bytes() + at(values_.size() + gradient_.size() + direction_.size()) * sizeof(T);
}

template class StepPass<float>;
template class StepPass<double>;

}  // namespace unfold
