#pragma once
/// Internal: the passes of one step, over one position of an opened circuit. Each thread needs a separate object.

#include <memory>
#include <span>
#include <vector>

#include "unfold/data/text/batch.h"
#include "unfold/optim/rtrl/open_circuit.h"

namespace unfold {

template <class T>
class StepPass {
 public:
  /// `network` must be over `open` (see open_network). Keeps references to both.
  StepPass(const Network<T>& network, const OpenCircuit& open);

  /// Sets theta.
  void set_parameters(const Parameters<T>& parameters);
  /// Enables dropout with the masks that a pass over whole chains draws at this position of a chain in this slot.
  void set_dropout(std::uint64_t seed, Index slot, Index position);
  /// Runs forward at a row of a batch, from a state [state].
  void forward(const Batch& batch, Index row, const T* state);
  /// Stores the state after the step.
  void next_state(T* state) const;
  /// Computes the losses of the row, weighted by head. Returns nats, and seeds their adjoints multiplied by `scale`.
  /// Adds the gradients of the losses' own parameters to `gradient` [theta].
  T losses(const Batch& batch, Index row, T scale, std::span<T> gradient);
  /// Seeds only the given components of the next state.
  void seed(std::span<const Index> components, std::span<const T> values);
  /// Runs backward from the seeds; returns [theta | state], valid until the next pass.
  std::span<const T> backward();
  /// out [state] = J direction [state].
  void tangent(const T* direction, T* out);

  Index parameters() const { return open_.parameters; }
  Index state() const { return open_.state; }
  /// Returns the memory of this object, for memory accounting by the caller.
  std::size_t memory_bytes() const;

 private:
  /// The block and the index within the block of a component of the state.
  struct Component {
    std::size_t block;
    Index place;
  };

  const Network<T>& network_;
  const OpenCircuit& open_;
  Team team_{1};
  Unfolding<T> unfolding_;
  Parameters<T> values_;  // [theta | state]
  Buffer<T> gradient_, direction_;
  std::vector<Component> components_;
  std::vector<char> moves_;  // for each block: whether it depends on anything other than the inputs
};

}  // namespace unfold
