#pragma once
/// Internal: the N most probable labels of whole sequences, position by position.

#include <functional>

#include "unfold/data/example_set.h"
#include "unfold/losses/label_sequences.h"
#include "unfold/models/network_model.h"

namespace unfold {

/// Whether a head can say more than its best answer.
template <class T>
bool has_n_best(const Head<T>& head);

/// Calls use(head, example, answers) for every example and every head that has_n_best: at most `count` answers, best
/// first, a label at each position; kNoSymbol where a label without a place does not begin. In no particular order.
template <class T>
void for_each_n_best(const NetworkModel<T>& model, const ExampleSet& examples, Index count, Team& team,
                     const std::function<void(std::size_t, Index, const std::vector<LabelledChain>&)>& use);

}  // namespace unfold
