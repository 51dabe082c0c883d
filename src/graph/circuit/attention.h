#pragma once
/// Attention over the positions of another chain (Bahdanau, Cho and Bengio 2015).
///
///   e_k = v . tanh(q + a_k)   additive            a = softmax(e) over the attended positions k
///   e_k = v . (q * a_k)       multiplicative      y += sum_k a_k V_k
///
/// The query q [n] is the source of the term, the keys a [n] and values V [m] are its memory, v [1 x n] its parameter.
/// With q = s A and a = h B the additive form is e_k = v . tanh(s A + h_k B); the multiplicative one is s M h_k with M
/// = A diag(v) B^T, which represents every bilinear form of rank n. A row attends to all positions of its chain:
/// sequences are ragged, without padding. The forward pass stores nothing: the other rules recompute the weights.
///
/// The parameters are not weights of edges between units, so the squared backward pass and the path pass raise an error
/// that names the operator.
///
///   Signal prev = c.link(n);                                                          // s_{t-1}
///   Signal q = c.affine("query", 64, {{"A", prev}}, Init::zero(), false);
///   Signal context = attend(c, "attention", q, keys, states, AttentionScore::additive);

#include <optional>
#include <span>

#include "unfold/graph/circuit/circuit.h"

namespace unfold {

enum class AttentionScore { additive, multiplicative };

/// Throws UsageError if a size is below 1.
std::shared_ptr<const Operator> attention(AttentionScore score, Index keys, Index values);

/// Adds attention to a circuit: the result has the size of `values`, and the parameter is name/v. `keys` and `values`
/// are signals of a deeper part.
Signal attend(Circuit& circuit, std::string_view name, Signal query, Signal keys, Signal values, AttentionScore score);

/// Returns the score of an attention operator; std::nullopt for other operators.
std::optional<AttentionScore> as_attention(const Operator* op);

/// Computes the attention weights of row 0 of `in`, one for each attended row.
template <class T>
void attention_weights(AttentionScore score, const OperatorRows<T>& in, std::span<T> weights);

}  // namespace unfold
