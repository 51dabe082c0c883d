#pragma once
/// Encoder-decoder networks: a network over two chains of different lengths (Cho et al. 2014; Sutskever et al. 2014;
/// Bahdanau et al. 2015). The cell of the model runs over the source, in both directions if the SPEC requires it, and
/// the same kind of cell runs over the target:
///
///   source h_k -> ends of the source -> r = tanh(b + sum ends R)          once per example (part kSummaryPart)
///   s_0 = tanh(r Q)                                                      condition=start|both, a separate Q per state
///   x_t = [target E ; r ; c_t]                                           r with condition=steps|both
///   c_t = sum_k a_tk V(h_k), a_t = softmax of attention(s_{t-1}, h)       attention=additive|multiplicative
///   s_t = cell(x_t, s_{t-1}),  heads read [s_t ; c_t]
///
/// If the source has one value per example (a class or a vector), no cell runs over it: r = tanh(b + source G).
///
/// E has `embedding` columns, by default the number of units; the values V(h_k) have as many numbers as units, and
/// queries and keys have half as many.

#include "unfold/model/network/spec.h"

namespace unfold {

/// `source` (symbols or vectors) is in part kSourcePart; `target` in part 0 is the input of the decoder at every step.
/// `once`: the source has one value per example, at the single position of its chain. Layers::last is not set, because
/// no field is predicted once per example. If `once`, throws UsageError for attention and for both directions.
Layers build_encoder_decoder(const ModelSpec& spec, Signal source, bool once, Signal target, Circuit& circuit);

}  // namespace unfold
