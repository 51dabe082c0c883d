#pragma once
/// States of a network: the output vectors of a layer after each position, or one vector per sequence. They summarize
/// the input that the network has read and can be used as features by other programs.
///
///   example_states<float>(model, set, {}, team, [&](const LayerState<float>& s) { ... s.values ... });
///   text_states<float>(language_model, corpus, part, {.every_position = true}, team, use);
///
/// A state is the concatenated output of all parts of a layer; with both directions, forward before backward. The
/// vector of a sequence is its last state (for the backward direction, its first state), the vector of a tree is the
/// state of the root, and the vector of a grid is the mean over its positions. For an encoder-decoder model, the vector
/// is the summary of the source, which the decoder reads. States are passed in the order of the examples, then of their
/// positions.

#include <functional>
#include <span>

#include "unfold/data/examples/example_set.h"
#include "unfold/data/text/split.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

struct StateOptions {
  Index layer = 0;              ///< number of the layer, from 1; 0: the last layer
  bool every_position = false;  ///< false: one vector per sequence
};

template <class T>
struct LayerState {
  Index example, position;    ///< numbers from 0; without `every_position`, the position is the last
  std::span<const T> values;  ///< valid during the call
};
template <class T>
using UseState = std::function<void(const LayerState<T>&)>;

/// Throws UsageError for a model without layers, such as nade or crf, and for a layer that does not exist. Throws
/// ModelError for a state that is not finite.
template <class T>
void example_states(const NetworkModel<T>& model, const ExampleSet& examples, const StateOptions& options, Team& team,
                    const UseState<T>& use);
/// Each piece of `part` is a sequence; its state at position t has read the symbols 0 .. t. Throws the same exceptions
/// as example_states.
template <class T>
void text_states(const LanguageModel<T>& model, const Corpus& corpus, const Split& part, const StateOptions& options,
                 Team& team, const UseState<T>& use);

}  // namespace unfold
