#pragma once
/// The part of Riemannian training for transition weights: a matrix M for every unit, computed from the inputs of its
/// incoming parameters and its modulus, and the direction M^-1 G (equations 25-29 of the paper and the quasi-diagonal
/// reduction; docs/riemannian.md). Each map runs over the positions of its part: a target, a source, a condition.
///
/// A unit is a component of an affine map of the core; its parameters are the parameters of all terms of this
/// component. Weights that belong to a symbol (lookups and gated terms) interact only with weights of the same symbol.
/// M therefore consists of one block per symbol, bordered by the shared weights, if any. A unit that reads several
/// kinds of symbols has a matrix for each kind: weights of different kinds do not interact, and the shared weights
/// interact with the weights of the first kind.

#include <vector>

#include "numerics/moments.h"
#include "optim/riemannian/core_pass.h"
#include "optim/riemannian/map_metric.h"
#include "optim/riemannian/riemannian.h"
#include "optim/riemannian/sorted_tile.h"
#include "unfold/base/state_visitor.h"
#include "unfold/graph/circuit/unit_weights.h"

namespace unfold {

/// The source of the modulus Phi.
enum class Modulus {
  outer,     ///< B^2, with B from keep_adjoints
  adjoints,  ///< the current adjoints of the core
  squares    ///< the sums of add_squares
};

template <class T>
class UnitMetric {
 public:
  /// Parameters that are not weights of units have separate blocks (map_metric.h); Modulus::adjoints supports those of
  /// operators with squared rules. Throws UsageError for parameters without a metric.
  UnitMetric(const CorePass<T>& core, Reduction reduction, double damping, bool averages);

  /// Stores the adjoints of the core's last backward pass as B. The next call overwrites them.
  void keep_adjoints(const CorePass<T>& core);
  /// Adds share * (adjoints of the core's last backward pass)^2 to the moduli, which the `first` call resets to 0.
  void add_squares(const CorePass<T>& core, double share, bool first);
  /// Sums M and G over all positions, using the stored B.
  void accumulate(const CorePass<T>& core, Modulus modulus);
  /// Sets M = share times the M of another metric over the same core, or adds to M if not `first`; leaves G unchanged.
  void take_matrices(UnitMetric& other, double share, bool first);
  /// Sets `direction` and `gradient` at the transition weights, with M averaged over batches if `keep` > 0.
  void direction(double keep, std::span<double> direction, std::span<double> gradient);

  /// Visits the accumulated M and G. The caller may replace them with sums over several batches.
  template <class Visit>
  void visit_sums(const Visit& visit) {
    for (Unit& unit : units_) visit(unit.moments.by_symbol()), visit(unit.moments.by_all());
    others_.visit_sums(visit);
  }

  void visit_averages(StateVisitor<T>& visitor);  ///< the state of the running averages

 private:
  /// An affine map whose components are units, with the columns of its inputs; one for each kind of symbols.
  struct Map {
    int node;
    Index size, columns;
    int symbols = -1;  ///< node
    struct Source {
      std::size_t term;
      Index column, size;  ///< first column and number of columns of the values that the weights multiply
      Index read;          ///< number of components of the signal
    };
    std::vector<Source> sources = {};
    Range units = {};        ///< the components of the map among all units
    bool all_gated = false;  ///< all weights belong to symbols; positions can then be sorted by symbol
  };
  struct Unit {
    std::size_t map;
    Index component;
    UnitMoments moments;
    /// Positions in the parameter vector: for symbol x, first + x * second.
    std::vector<std::pair<Index, Index>> gated;
    std::vector<Index> shared;
    bool gated_first = false, shared_first = false;  ///< whether the first gated (shared) input is the constant 1
  };
  /// Memory of one thread: the inputs of a tile, and buffers for rows of a source, as read and as multiplied.
  struct Inputs {
    Buffer<double> values;
    Buffer<T> read, row;
    std::vector<SortedTile<T>> sorted;  ///< for each map: the inputs of the map, then B and Phi of the thread's units
  };

  void add_maps(const Plan& plan, int node);
  void add_map(const Plan& plan, int node, int symbols, bool with_shared);
  const Structure& structure_of(const CorePass<T>& core, const Map& map) const;
  Matrix<T> source_rows(const CorePass<T>& core, const Map& map, const typename Map::Source& source, Range rows,
                        Inputs& inputs) const;
  void load_inputs(const CorePass<T>& core, const Map& map, Range rows, Inputs& inputs) const;
  void accumulate_rows(const CorePass<T>& core, std::size_t map, Range units, Modulus modulus, Inputs& inputs);
  void accumulate_sorted(const CorePass<T>& core, std::size_t map, Range units, Modulus modulus, Inputs& inputs);
  Matrix<const T> moduli(const CorePass<T>& core, std::size_t map, Modulus modulus) const;
  void solve_full(Unit& unit, std::span<double> direction) const;
  void solve_quasi_diagonal(Unit& unit, std::span<double> direction) const;
  void solve_diagonal(Unit& unit, std::span<double> direction) const;
  void average(std::size_t unit, double keep);

  const Reduction reduction_;
  const double damping_;
  MapMetric<T> others_;  // metric of the parameters that are not weights of units
  std::vector<Map> maps_;
  std::vector<Unit> units_;
  std::vector<LaneMoments<T>> lanes_;  // moments of the units of maps whose inputs are all gated, indexed by lanes_of_
  std::vector<std::size_t> lanes_of_;  // index into lanes_ of each unit
  std::vector<Buffer<T>> adjoints_;    // B of each map [positions x size]
  std::vector<Buffer<T>> squares_;     // accumulated moduli of each map [positions x size]
  std::vector<std::vector<T>> averages_;  // running average of each unit (empty unless used), whose last number is its
                                          // weight
  std::vector<Inputs> inputs_;            // inputs of each thread
};

}  // namespace unfold
