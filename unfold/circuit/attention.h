#pragma once
/// Attention: what a position finds at all positions of another chain (Bahdanau, Cho and Bengio 2015).
///
///   e_k = v . tanh(q + a_k)   additive            a = softmax(e) over the positions k that are seen
///   e_k = v . (q * a_k)       multiplicative      y += sum_k a_k V_k
///
/// q [n] is the source of the term, the keys a [n] and values V [m] are its memory, v [1 x n] its parameter. With
/// q = s A and a = h B the additive form is e_k = v . tanh(s A + h_k B); the multiplicative one is s M h_k with
/// M = A diag(v) B^T, every bilinear form of rank n. Rows look at as many positions as their chain has: ragged, without
/// padding. Nothing is kept from the forward pass: the other rules compute the weights again.
///
/// Its parameters are no weights of edges between units: squared backward and path refuse it by its name.
///
///   Signal prev = c.link(n);                                                          // s_{t-1}
///   Signal q = c.affine("query", 64, {{"A", prev}}, Init::zero(), false);
///   Signal context = attend(c, "attention", q, keys, states, AttentionScore::additive);

#include <optional>
#include <span>

#include "unfold/circuit/circuit.h"

namespace unfold {

enum class AttentionScore { additive, multiplicative };

/// UsageError when a size is below 1.
std::shared_ptr<const Operator> attention(AttentionScore score, Index keys, Index values);

/// What `query` finds: [size of values], with the parameter name/v. `keys` and `values`: of a deeper part.
Signal attend(Circuit& circuit, std::string_view name, Signal query, Signal keys, Signal values, AttentionScore score);

/// The score of an operator that is attention.
std::optional<AttentionScore> as_attention(const Operator* op);

/// The weights of row 0 of what `in` holds, one for each row seen.
template <class T>
void attention_weights(AttentionScore score, const OperatorRows<T>& in, std::span<T> weights);

}  // namespace unfold
