#pragma once
/// The transition weights' half of Riemannian training: a matrix M for every unit, from the inputs of its incoming
/// parameters and its modulus, and the direction M^-1 G (equations 25-29 of the source and the quasi-diagonal
/// reduction; docs/riemannian.md).
///
/// A unit is a component of an affine map of the core; its parameters are those of all terms of that component. Weights
/// that belong to a symbol (lookups and gated terms) meet only those of the same symbol, so M falls into one block per
/// symbol, bordered by the shared weights if there are any. A unit that reads several kinds of symbols has a matrix for
/// each kind: weights of two kinds do not meet, and the shared ones meet those of the first.

#include <vector>

#include "unfold/base/state_visitor.h"
#include "unfold/circuit/unit_weights.h"
#include "unfold/metrics/core_pass.h"
#include "unfold/metrics/map_metric.h"
#include "unfold/metrics/sorted_tile.h"
#include "unfold/numerics/moments.h"

namespace unfold {

/// Where Phi is.
enum class Modulus {
  outer,     ///< B^2, of B as kept
  adjoints,  ///< the adjoints that the core holds now
  squares    ///< what add_squares has gathered
};

template <class T>
class UnitMetric {
 public:
  /// Parameters that are no weights of units have blocks of their own (map_metric.h), which Modulus::adjoints cannot
  /// measure. Throws UsageError for those that no metric knows.
  UnitMetric(const CorePass<T>& core, bool full, double damping, bool averages);

  /// Keeps the adjoints of the core's last backward pass: B. They are overwritten by the next one.
  void keep_adjoints(const CorePass<T>& core);
  /// Adds share * (adjoints of the core's last backward pass)^2 to the moduli, which are 0 before the `first`.
  void add_squares(const CorePass<T>& core, double share, bool first);
  /// Sums M and G over all positions, with B as kept.
  void accumulate(const CorePass<T>& core, Modulus modulus);
  /// M = share * that of another metric over the same core, or M += if not `first`; G stays.
  void take_matrices(UnitMetric& other, double share, bool first);
  /// Sets `direction` and `gradient` at the transition weights. M is averaged over batches with `keep` > 0.
  void direction(double keep, std::span<double> direction, std::span<double> gradient);

  /// M and G as accumulated, to be replaced by sums over several batches.
  template <class Visit>
  void visit_sums(const Visit& visit) {
    for (Unit& unit : units_) visit(unit.moments.by_symbol()), visit(unit.moments.by_all());
    others_.visit_sums(visit);
  }

  void visit_averages(StateVisitor<T>& visitor);  ///< the state of the running averages

 private:
  /// The affine maps whose components are units, with the columns of their inputs; one for each kind of symbols.
  struct Map {
    int node;
    Index size, columns;
    int symbols = -1;  ///< node
    struct Source {
      std::size_t term;
      Index column, size;  ///< of what the weights multiply
      Index read;          ///< components of the signal
    };
    std::vector<Source> sources = {};
    Range units = {};        ///< its components among all units
    bool all_gated = false;  ///< no weight is shared by symbols: positions can be sorted by symbol
  };
  struct Unit {
    std::size_t map;
    Index component;
    UnitMoments moments;
    /// Places in the vector of parameters: of symbol x, at + x * step.
    std::vector<std::pair<Index, Index>> gated;
    std::vector<Index> shared;
    bool gated_first = false, shared_first = false;  ///< the first gated (shared) input is the constant 1
  };
  /// One member's memory: the inputs of a tile, and rows of a source on their way there, as read and as multiplied.
  struct Inputs {
    Buffer<double> values;
    Buffer<T> read, row;
    std::vector<SortedTile<T>> sorted;  ///< per map: its inputs, then B and Phi of the member's units
  };

  void add_maps(const Plan& plan, int node);
  void add_map(const Plan& plan, int node, int symbols, bool with_shared);
  Matrix<T> source_rows(const CorePass<T>& core, const Map& map, const typename Map::Source& source, Range rows,
                        Inputs& inputs) const;
  void load_inputs(const CorePass<T>& core, const Map& map, Range rows, Inputs& inputs) const;
  void accumulate_rows(const CorePass<T>& core, std::size_t map, Range units, Modulus modulus, Inputs& inputs);
  void accumulate_sorted(const CorePass<T>& core, std::size_t map, Range units, Modulus modulus, Inputs& inputs);
  Matrix<const T> moduli(const CorePass<T>& core, std::size_t map, Modulus modulus) const;
  void solve_full(Unit& unit, std::span<double> direction) const;
  void solve_quasi_diagonal(Unit& unit, std::span<double> direction) const;
  void average(std::size_t unit, double keep);

  const bool full_;
  const double damping_;
  MapMetric<T> others_;  // of what is no weight of a unit
  std::vector<Map> maps_;
  std::vector<Unit> units_;
  std::vector<LaneMoments<T>> lanes_;     // per unit of maps whose inputs are all gated, at lanes_of_
  std::vector<std::size_t> lanes_of_;     // per unit
  std::vector<Buffer<T>> adjoints_;       // per map: B [positions x size]
  std::vector<Buffer<T>> squares_;        // per map: the moduli that are gathered [positions x size]
  std::vector<std::vector<T>> averages_;  // per unit, if wanted; the last number is the weight
  std::vector<Inputs> inputs_;            // per member
};

}  // namespace unfold
