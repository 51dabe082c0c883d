#pragma once
/// Structural dependencies within one step of an opened circuit: which components of the next state depend on which
/// components of the previous state and on which parameters, regardless of their values. They are derived from the
/// circuit component by component: element-wise maps and sparse operators keep units separate; matrices and unknown
/// operators do not.

#include <cstdint>
#include <vector>

#include "unfold/optim/rtrl/open_circuit.h"

namespace unfold {

/// A set of integers from 0 to size - 1.
class IndexSet {
 public:
  IndexSet() = default;
  explicit IndexSet(Index size) : words_(at((size + 63) / 64), 0) {}
  void add(Index i) { words_[at(i / 64)] |= std::uint64_t{1} << (i % 64); }
  bool has(Index i) const { return !words_.empty() && (words_[at(i / 64)] >> (i % 64) & 1) != 0; }
  /// Adds the elements of another set; returns true if the set has changed. Sets of size 0 are empty.
  bool take(const IndexSet& other);
  bool meets(const IndexSet& other) const;
  bool empty() const;
  Index count() const;
  std::vector<Index> elements() const;  ///< ascending
  bool operator==(const IndexSet&) const = default;
  bool operator<(const IndexSet& other) const { return words_ < other.words_; }

 private:
  std::vector<std::uint64_t> words_;
};

/// `count` parameters begin, begin + stride, ..., as indices into the parameter vector.
struct ParameterRange {
  Index begin = 0, stride = 1, count = 0;
  Index operator[](Index i) const { return begin + i * stride; }
};

/// A set of state components, and the parameters that reach exactly these components.
struct Reaching {
  IndexSet states;
  std::vector<ParameterRange> parameters;
};

struct Reach {
  Index state = 0;
  std::vector<IndexSet> from_state;  ///< [j]: components of s_t that component j of s_{t-1} reaches
  /// parameters that reach at least one component within the step; the sets are distinct
  std::vector<Reaching> within;
  std::vector<Reaching> starts;  ///< trained initial values: the components of the state before the first step
};

Reach reach_of(const OpenCircuit& open);

}  // namespace unfold
