#pragma once
/// Internal: the N most probable label sequences of each example.

#include <functional>

#include "loss/crf/label_sequences.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// Returns whether a head can return more than the best label sequence.
template <class T>
bool has_n_best(const Head<T>& head);

/// Calls use(head, example, answers) for every example and every head that satisfies has_n_best, in no particular
/// order. `answers` has at most `count` label sequences, the best first, with one label per position; for unaligned
/// labels, kNoSymbol marks positions where no label begins.
template <class T>
void for_each_n_best(const NetworkModel<T>& model, const ExampleSet& examples, Index count, Team& team,
                     const std::function<void(std::size_t, Index, const std::vector<ScoredLabeling>&)>& use);

}  // namespace unfold
