#pragma once
/// Metrics for parameters that are not weights of units: phases and reflections of unitary maps, gains, decays and all
/// other parameters of the operator of an affine map (graph/circuit/operator.h). All parameters of such a term form one
/// block. Let g_t be the gradient with respect to the parameters as used at position t only. Then M = sum over t of g_t
/// g_t', the outer product metric of the time-unfolded network (docs/riemannian.md), and G = sum of g_t.

#include <span>
#include <string>
#include <vector>

#include "optim/riemannian/core_pass.h"
#include "unfold/base/state_visitor.h"

namespace unfold {

template <class T>
class MapMetric {
 public:
  /// For the terms of a core that UnitMetric leaves out. `full`: M, otherwise its diagonal. Throws UsageError for a
  /// term whose operator selects parameters by symbols, or that has too many parameters for a matrix.
  MapMetric(const CorePass<T>& core, bool full, double damping, bool averages);

  /// Returns whether the parameters of a term are not weights of units and are therefore handled by this class.
  static bool takes(const Node::AffineTerm& term);
  bool empty() const { return blocks_.empty(); }

  /// Sets G and M from the adjoints of the core's last backward pass.
  void measure(const CorePass<T>& core) { sum(core, 1, true, true); }
  /// Sets M to the diagonal of the sum over t of Phi_i (dz_i / dtheta)^2, with the moduli Phi in the adjoints of the
  /// core's last backward pass; leaves G unchanged. REQUIRES: operators with squared rules whose parameters each change
  /// one component, such as gains.
  void measure_moduli(const CorePass<T>& core);
  /// Sets M = share times this M, or adds to M if not `first`; leaves G unchanged.
  void add_squares(const CorePass<T>& core, double share, bool first) { sum(core, share, first, false); }
  /// Sets M = share times the M of another metric over the same core, or adds to M if not `first`; leaves G unchanged.
  void take_matrices(const MapMetric& other, double share, bool first);
  /// Sets M^-1 G and G at the parameters, with M averaged over batches if `keep` > 0.
  void direction(double keep, std::span<double> direction, std::span<double> gradient);

  /// Visits M and G. The caller may replace them with sums over several batches.
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
    std::vector<T> average;                // running average; empty unless used; the last number is the weight
  };

  void sum(const CorePass<T>& core, double share, bool first, bool gradients);
  void find_slopes(const CorePass<T>& core, const Block& block, Range positions, Range rows, bool squared,
                   std::vector<T>& scratch);
  void average(Block& block, double keep) const;

  const bool full_;
  const double damping_;
  std::vector<Block> blocks_;
  std::vector<T> slopes_;                // g_t of a tile of positions
  std::vector<std::vector<T>> scratch_;  // scratch memory of each thread, for the operators
};

}  // namespace unfold
