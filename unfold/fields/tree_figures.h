#pragma once
/// What is measured of labels of trees beside those of all nodes: at the roots; and where labels are grades from very
/// negative to very positive, "0" to "4" or another odd number of them, negative against positive.

#include <span>
#include <string>
#include <vector>

#include "unfold/base/types.h"
#include "unfold/losses/field.h"
#include "unfold/training/events.h"

namespace unfold {

/// Whether labels are the numbers 0 .. 2k in this order, k >= 1: the middle one, k, is neutral.
bool are_grades(std::span<const std::string> labels);

class TreeMeasures {
 public:
  /// `once`: the head predicts at roots alone.
  TreeMeasures(std::span<const std::string> labels, bool once) : grades_(are_grades(labels)), once_(once) {}

  /// A labelled node: the label wanted (none of the alphabet's: never seen in training), the best one, and the logits
  /// of all.
  template <class T>
  void see(bool root, Symbol wanted, Symbol best, std::span<const T> logits);

  /// root_accuracy, and of grades binary_accuracy and root_binary_accuracy: the share of nodes that are not neutral
  /// whose side has the larger probability. Of a head at roots alone only binary_accuracy.
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
