#pragma once
/// Encoder and decoder: a network over two chains of different lengths (Cho et al. 2014; Sutskever et al. 2014;
/// Bahdanau et al. 2015). The model's cell runs over the source, in both directions where the SPEC says so, and the
/// same kind of cell over the target:
///
///   source h_k -> ends of the source -> r = tanh(b + sum ends R)          once an example (part kSummaryPart)
///   s_0 = tanh(r Q)                                                      condition=start|both, every state its own Q
///   x_t = [target E ; r ; c_t]                                           r with condition=steps|both
///   c_t = sum_k a_tk V(h_k), a_t = softmax of attention(s_{t-1}, h)       attention=additive|multiplicative
///   s_t = cell(x_t, s_{t-1}),  heads read [s_t ; c_t]
///
/// Where the source is something known once, a class or a vector, no cell runs over it: r = tanh(b + source G).
///
/// E has `embedding` numbers, or as many as units; values V(h_k) are a map to as many numbers as units, queries and
/// keys have half as many.

#include "unfold/models/spec.h"

namespace unfold {

/// `source` is of part kSourcePart, symbols or vectors; `target` of part 0 holds what the decoder reads at every step.
/// `once`: the source is known once, at the one position of its chain. Layers::last is not set: nothing is predicted
/// once an example. Throws UsageError: attention, or both directions, where the source is known once.
Layers build_encoder_decoder(const ModelSpec& spec, Signal source, bool once, Signal target, Circuit& circuit);

/// Name of the affine map whose term attends.
inline constexpr const char* kAttentionName = "decoder/context";

}  // namespace unfold
