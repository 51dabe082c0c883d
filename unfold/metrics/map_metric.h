#pragma once
/// Metrics for parameters that are no weights of units: phases and reflections of unitary maps, gains, decays, whatever
/// an operator of an affine map has (circuit/operator.h). All parameters of such a term are one block. With g_t what a
/// change of them at position t alone would do to the loss, M = sum over t of g_t g_t', the outer product metric of the
/// time-unfolded network (docs/riemannian.md), and G = sum of g_t.

#include <span>
#include <string>
#include <vector>

#include "unfold/base/state_visitor.h"
#include "unfold/metrics/core_pass.h"

namespace unfold {

template <class T>
class MapMetric {
 public:
  /// Over the terms of a core that UnitMetric leaves out. `full`: M, or else its diagonal. Throws UsageError: a term
  /// whose operator looks at another chain, or has more parameters than a matrix has room for.
  MapMetric(const CorePass<T>& core, bool full, double damping, bool averages);

  /// Whether a term's parameters are not weights of units, so that it is one of these.
  static bool takes(const Node::AffineTerm& term);
  bool empty() const { return blocks_.empty(); }

  /// From the adjoints of the core's last backward pass: sets G and M.
  void measure(const CorePass<T>& core) { sum(core, 1, true, true); }
  /// The same, but M = share * that, or M += where not `first`; G stays.
  void add_squares(const CorePass<T>& core, double share, bool first) { sum(core, share, first, false); }
  /// M = share * that of another metric over the same core, or M += if not `first`; G stays.
  void take_matrices(const MapMetric& other, double share, bool first);
  /// Sets M^-1 G and G at the parameters. M is averaged over batches with `keep` > 0.
  void direction(double keep, std::span<double> direction, std::span<double> gradient);

  /// M and G, to be replaced by sums over several batches.
  template <class Visit>
  void visit_sums(const Visit& visit) {
    for (Block& block : blocks_) visit(std::span(block.matrix)), visit(std::span(block.gradient));
  }
  void visit_averages(StateVisitor<T>& visitor);

 private:
  struct Block {
    int node;
    std::size_t term;
    Index offset, count;
    std::vector<double> matrix, gradient;  // [count x count] or its diagonal; lower triangle
    std::vector<T> average;                // if wanted; the last number is the weight
  };

  void sum(const CorePass<T>& core, double share, bool first, bool gradients);
  void find_slopes(const CorePass<T>& core, const Block& block, Range positions, Range rows, std::vector<T>& scratch);
  void average(Block& block, double keep) const;

  const bool full_;
  const double damping_;
  std::vector<Block> blocks_;
  std::vector<T> slopes_;                // g_t of a tile of positions
  std::vector<std::vector<T>> scratch_;  // per member, of the operators
};

}  // namespace unfold
