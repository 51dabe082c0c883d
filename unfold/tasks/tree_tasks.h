#pragma once
/// Generated trees, where structure decides: expressions in brackets, every one labelled with its value.
///
///   (2 (7 7) (_ +) (5 (2 2) (_ max) (5 5)))        modulo 10
///
/// They are files of the format `trees` (readers/read_trees.cpp). A perfect model is never wrong.

#include <string>
#include <string_view>

#include "unfold/base/registry.h"

namespace unfold {

/// Operators +, -, *, max and min of two operands, modulo `modulus`. An expression has up to `depth` levels of
/// operators; below the first, each operand is a digit with the probability `stop`. With `roots`, the value of the
/// whole alone is a label; with `brackets`, those around every operator and its operands are words, too, so that the
/// words say the structure.
struct ArithmeticOptions {
  Index depth = 4;
  Index modulus = 10;
  double stop = 0.25;
  bool roots = false;
  bool brackets = false;
};

struct GeneratedTrees {
  std::string text;  ///< a line a tree
  Index nodes = 0, labels = 0;
};

bool is_tree_task(std::string_view spec);
/// The same for a SPEC, seed and count on every machine. Throws UsageError: an unknown option, a value out of range.
GeneratedTrees generate_trees(std::string_view spec, std::uint64_t seed, Index count);
std::vector<EntryHelp> tree_tasks();

}  // namespace unfold
