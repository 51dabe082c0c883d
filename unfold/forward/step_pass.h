#pragma once
/// Internal: the passes of one step, over one position of an opened circuit. One for each thread.

#include <memory>
#include <span>
#include <vector>

#include "unfold/data/batch.h"
#include "unfold/forward/open_circuit.h"

namespace unfold {

template <class T>
class StepPass {
 public:
  /// `network`: over `open` (open_network). Both are referred to.
  StepPass(const Network<T>& network, const OpenCircuit& open);

  /// theta, from now on.
  void set_parameters(const Parameters<T>& parameters);
  /// Dropout from now on as a pass over whole chains draws it at this place of a chain of this slot.
  void set_dropout(std::uint64_t seed, Index slot, Index position);
  /// Forward at a row of a batch, from a state [state].
  void forward(const Batch& batch, Index row, const T* state);
  /// What the state is after it.
  void next_state(T* state) const;
  /// Losses of the row, each head with its weight: returns nats, and seeds their adjoints, times `scale`. Gradients of
  /// own parameters of losses are added to `gradient` [theta].
  T losses(const Batch& batch, Index row, T scale, std::span<T> gradient);
  /// Seeds nothing but the given components of the next state.
  void seed(std::span<const Index> components, std::span<const T> values);
  /// Backward from what is seeded: [theta | state]. It is there until the next pass.
  std::span<const T> backward();
  /// out [state] = J direction [state].
  void tangent(const T* direction, T* out);

  Index parameters() const { return open_.parameters; }
  Index state() const { return open_.state; }
  /// Of the step's vector, for whoever keeps numbers beside a pass.
  std::size_t memory_bytes() const;

 private:
  /// Where a component of the state lies among the signals of its block.
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
  std::vector<char> moves_;  // of each block: whether it depends on anything but what is read
};

}  // namespace unfold
