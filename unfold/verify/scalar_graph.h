#pragma once
/// The slow, obvious reference for every pass: a circuit expanded over a structure into an explicit graph of scalars,
/// one node per position and component, one edge for every use of a value (x + x has two edges), each with its local
/// partial derivative. A derivative is a sum over the paths of this graph of products of partials; so are the squared
/// passes, with every partial squared.
///
/// It shares nothing with the engine: its own recursion over Structure::predecessors, the C library's functions, no
/// plan, no order of sums promised. It serves `unfold check` and the tests, on small circuits: memory is one edge for
/// each scalar multiplication of the forward pass. Dropout is read as switched off.

#include <map>
#include <span>
#include <vector>

#include "unfold/circuit/circuit.h"
#include "unfold/engine/structure.h"

namespace unfold {

/// What the input and symbol signals of a circuit hold, by node number; rows in the structure's main order.
struct CircuitInputs {
  std::map<int, std::vector<double>> values;   ///< [positions of its part x size]
  std::map<int, std::vector<Symbol>> symbols;  ///< [positions]
};

class ScalarGraph {
 public:
  /// How the circuit is read: as it stands, or as path-SGD reads it (every parameter and slope squared, ReLU as
  /// identity, every component of every input and symbol signal 1; UsageError for a map that is not positively
  /// homogeneous).
  enum class Reading { values, paths };

  ScalarGraph(const Circuit& circuit, const Structure& structure, std::span<const double> parameters,
              const CircuitInputs& inputs, Reading reading = Reading::values);

  struct Edge {
    int from, to;
    double partial;
    int parameter;   ///< whose value the partial is (activity -> affine), or -1
    bool of_weight;  ///< from a weight to the affine component that it scales
  };

  /// Nodes 0 .. parameters-1 are the parameters; edges are sorted by `to`, and from < to.
  Index parameters() const { return parameters_; }
  Index nodes() const { return static_cast<Index>(values_.size()); }
  const std::vector<Edge>& edges() const { return edges_; }
  double value(Index node) const { return values_[static_cast<std::size_t>(node)]; }
  /// The node of a component of a signal at a row of the main order.
  Index node(int signal, Index row, Index component = 0) const;

  /// From seeds [nodes]: for every node, the sum over all paths to a seeded node of (product of partials, or of their
  /// squares) * seed.
  std::vector<double> backward(std::span<const double> seeds, bool squared) const;
  /// From seeds [nodes]: the same along paths from the seeded nodes.
  std::vector<double> tangent(std::span<const double> seeds) const;
  /// `backward` for the nodes in `of`, path by path, without sharing anything between paths.
  std::vector<double> backward_by_enumeration(std::span<const double> seeds, bool squared,
                                              std::span<const Index> of) const;

  /// Reading::paths: the number of input-output paths that end in `ends`; then each of them is walked.
  double count_paths(std::span<const Index> ends) const;
  struct PathSums {
    double total = 0;           ///< sum over paths of the product of squared weights
    std::vector<double> kappa;  ///< [parameters]: its derivative by each squared parameter
    std::vector<double> kappa2; /**< [parameters]: half its second derivative by each parameter, less kappa: from paths
                                     that pass the parameter more than once */
  };
  PathSums sum_paths(std::span<const Index> ends) const;

  /// Edges that a circuit will have over a structure, to refuse before memory does.
  static double count_edges(const Circuit& circuit, const Structure& structure);

 private:
  struct Builder;
  struct Walker;

  Index parameters_ = 0;
  std::vector<int> sizes_;               ///< of signals
  std::vector<std::vector<int>> first_;  ///< [signal][row of its part]: node of component 0, or -1
  std::vector<double> values_;
  std::vector<Edge> edges_;
};

}  // namespace unfold
