#pragma once
/// Generated trees whose labels depend on their structure: bracketed expressions in which every node is labeled with
/// its value.
///
///   (2 (7 7) (_ +) (5 (2 2) (_ max) (5 5)))        modulo 10
///
/// The trees are written in the format `trees` (data/readers/read_trees.cpp). A perfect model makes no errors.

#include <string>
#include <string_view>

#include "unfold/base/options/registry.h"

namespace unfold {

/// Operators +, -, *, max and min of two operands, modulo `modulus`. An expression has up to `depth` levels of
/// operators; below the first level, each operand is a digit with probability `stop`. With `roots`, only the root is
/// labeled; with `brackets`, the brackets around every operator and its operands are also words, so the words show the
/// structure.
struct ArithmeticOptions {
  Index depth = 4;
  Index modulus = 10;
  double stop = 0.25;
  bool roots = false;
  bool brackets = false;
};

struct GeneratedTrees {
  std::string text;  ///< one tree per line
  Index nodes = 0, labels = 0;
};

bool is_tree_task(std::string_view spec);
/// Generates `count` trees. The result depends only on SPEC, seed and count, and is the same on every machine. Throws
/// UsageError for an unknown option or a value out of range.
GeneratedTrees generate_trees(std::string_view spec, std::uint64_t seed, Index count);
std::vector<EntryHelp> tree_tasks();

}  // namespace unfold
