#pragma once
/// Metrics for tree labels in addition to the accuracy over all nodes: accuracy at the roots and, for graded labels
/// from very negative to very positive ("0" to "4", or another odd number of grades), the binary negative/positive
/// accuracy.

#include <span>
#include <string>
#include <vector>

#include "unfold/base/types.h"
#include "unfold/loss/field.h"
#include "unfold/train/events.h"

namespace unfold {

/// Returns whether the labels are the numbers 0 .. 2k in order, with k >= 1. The middle label k is neutral.
bool are_ordinal_labels(std::span<const std::string> labels);

class TreeMeasures {
 public:
  /// `once`: the head predicts only at roots.
  TreeMeasures(std::span<const std::string> labels, bool once) : grades_(are_ordinal_labels(labels)), once_(once) {}

  /// Adds a labeled node: the reference label (not in the alphabet if unseen in training), the predicted label, and all
  /// logits.
  template <class T>
  void see(bool root, Symbol wanted, Symbol best, std::span<const T> logits);

  /// Returns root_accuracy and, for graded labels, binary_accuracy and root_binary_accuracy: the fraction of
  /// non-neutral nodes for which the correct side has the larger probability. A head that predicts only at roots has
  /// only binary_accuracy.
  Measures measures() const;

 private:
  struct Count {
    Index right = 0, seen = 0;
    void see(bool is_right) { ++seen, right += is_right ? 1 : 0; }
  };
  bool grades_, once_;
  Count root_, binary_, root_binary_;
};

}  // namespace unfold
