#pragma once
/// A simple, slow reference implementation for every pass: a circuit expanded over a structure into an explicit graph
/// of scalars, with one node per position and component and one edge for every use of a value (x + x has two edges),
/// each with its local partial derivative. A derivative is a sum over the paths of this graph of products of partial
/// derivatives. For the squared passes, every partial derivative is squared.
///
/// It shares no code with the engine: it has a separate recursion over Structure::predecessors, uses the functions of
/// the C library, has no plan and guarantees no order of summation. It is used by `unfold check` and by the tests, on
/// small circuits: the graph needs memory for one edge per scalar multiplication of the forward pass. Dropout is
/// treated as off.

#include <map>
#include <span>
#include <vector>

#include "unfold/graph/circuit/circuit.h"
#include "unfold/graph/structure/structure.h"

namespace unfold {

/// Values of the input and symbol signals of a circuit, by node number; rows are in the main order of the structure.
struct CircuitInputs {
  std::map<int, std::vector<double>> values;   ///< [positions of its part x size]
  std::map<int, std::vector<Symbol>> symbols;  ///< [positions]
};

class ScalarGraph {
 public:
  /// The interpretation of the circuit: unchanged (`values`), or as defined by path-SGD (`paths`: all parameters and
  /// derivatives are squared, ReLU is the identity, and all components of all input and symbol signals are 1; throws
  /// UsageError for a map that is not positively homogeneous).
  enum class Reading { values, paths };

  ScalarGraph(const Circuit& circuit, const Structure& structure, std::span<const double> parameters,
              const CircuitInputs& inputs, Reading reading = Reading::values);

  struct Edge {
    int from, to;
    double partial;
    int parameter;   ///< the parameter whose value is the partial derivative (activation -> affine), or -1
    bool of_weight;  ///< edge from a weight to the affine component that it scales
  };

  /// Nodes 0 .. parameters-1 are the parameters; edges are sorted by `to`, and from < to.
  Index parameters() const { return parameters_; }
  Index nodes() const { return static_cast<Index>(values_.size()); }
  const std::vector<Edge>& edges() const { return edges_; }
  double value(Index node) const { return values_[static_cast<std::size_t>(node)]; }
  /// Returns the node of a component of a signal at a row of the main order.
  Index node(int signal, Index row, Index component = 0) const;

  /// Given seeds [nodes], returns for every node the sum over all paths to a seeded node of (product of partial
  /// derivatives, or of their squares) * seed.
  std::vector<double> backward(std::span<const double> seeds, bool squared) const;
  /// Given seeds [nodes], returns the same sums along paths from the seeded nodes.
  std::vector<double> tangent(std::span<const double> seeds) const;
  /// Like `backward`, for the nodes in `of`; enumerates the paths one by one without sharing work between them.
  std::vector<double> backward_by_enumeration(std::span<const double> seeds, bool squared,
                                              std::span<const Index> of) const;

  /// For Reading::paths: `count_paths` returns the number of input-output paths that end in `ends`; `sum_paths`
  /// enumerates them.
  double count_paths(std::span<const Index> ends) const;
  struct PathSums {
    double total = 0;           ///< sum over paths of the product of squared weights
    std::vector<double> kappa;  ///< [parameters]: derivative of `total` with respect to each squared parameter
    /// [parameters]: half the second derivative of `total` with respect to each parameter, minus kappa; the
    /// contribution of paths that pass through the parameter more than once
    std::vector<double> kappa2;
  };
  PathSums sum_paths(std::span<const Index> ends) const;

  /// Returns the number of edges for a circuit over a structure, so that a graph that is too large can be rejected in
  /// advance.
  static double count_edges(const Circuit& circuit, const Structure& structure);

 private:
  struct Builder;
  struct Walker;

  Index parameters_ = 0;
  std::vector<int> sizes_;               ///< sizes of the signals
  std::vector<std::vector<int>> first_;  ///< [signal][row of its part]: node of component 0, or -1
  std::vector<double> values_;
  std::vector<Edge> edges_;
};

}  // namespace unfold
