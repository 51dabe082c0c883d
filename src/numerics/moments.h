#pragma once
/// Sums over positions for the Riemannian metrics (docs/riemannian.md), and solvers for the small linear systems that
/// they define. All sums are in double, regardless of the element type, because they run over up to 10^7 positions.
///
/// A unit is one component of an affine map. Its inputs at a position form a vector u: first the inputs whose weights
/// depend on the symbol at the position (`gated`), then those whose weights are shared by all symbols. With the adjoint
/// b and the modulus phi of the unit, the sums are
///
///   full:            M += phi u u^T,  G += b u
///   quasi-diagonal:  first += phi u,  diagonal += phi u^2,  G += b u
///
/// Determinism (invariant 2): every sum runs over the positions in order, with one fused multiply-add each, for every
/// vector width; units are divided among threads, never positions.

#include <span>
#include <vector>

#include "unfold/base/views.h"

namespace unfold {

/// The sums of one unit, and the columns of its inputs in the input rows.
class UnitMoments {
 public:
  /// `gated` and `shared` are columns of the inputs.
  UnitMoments(std::vector<std::int32_t> gated, std::vector<std::int32_t> shared, Index alphabet, bool full);

  void clear();
  /// Adds rows. `b` and `phi` may have any stride; phi null means phi = b^2. If symbols is null or a symbol is
  /// kNoSymbol, no gated input is active.
  template <class T>
  void add(Matrix<const double> inputs, const Symbol* symbols, const T* b, const T* phi, Index stride);

  Index gated() const { return static_cast<Index>(gated_.size()); }
  Index shared() const { return static_cast<Index>(shared_.size()); }
  Index alphabet() const { return alphabet_; }
  bool full() const { return full_; }

  /// Return M between the gated inputs i and j (quasi-diagonal: only the diagonal entries, i = j), between gated input
  /// i and shared input j, and between shared inputs. Symmetric entries are stored for i >= j.
  double gated_moment(Index x, Index i, Index j) const { return at_symbol(x, full_ ? i : 1, j); }
  double mixed_moment(Index x, Index i, Index j) const { return at_symbol(x, i, padded_gated_ + j); }
  double shared_moment(Index i, Index j) const { return at_shared(full_ ? i : 0, j); }
  /// Quasi-diagonal: returns the sum of phi u over the positions with symbol x (x = alphabet(): positions without a
  /// symbol).
  double first_gated(Index x, Index j) const { return at_symbol(x, 0, j); }
  double first_shared(Index x, Index j) const { return at_symbol(x, 0, padded_gated_ + j); }
  double gated_gradient(Index x, Index j) const { return at_symbol(x, full_ ? gated() : 2, j); }
  double shared_gradient(Index j) const { return at_shared(full_ ? shared() : 1, j); }

  /// Return all sums, for running averages.
  std::span<double> by_symbol() { return by_symbol_.span(); }
  std::span<double> by_all() { return by_all_.span(); }
  /// Layout: the gradient part of each symbol's block, and of by_all, begins at these offsets.
  Index symbol_block() const { return symbol_rows() * width_; }
  Index symbol_gradient() const { return (symbol_rows() - 1) * width_; }
  Index shared_gradient_begin() const { return (full_ ? shared() : 1) * padded_shared_; }

 private:
  template <class T>
  friend class LaneMoments;

  Index symbol_rows() const { return full_ ? gated() + 1 : 3; }
  double at_symbol(Index x, Index row, Index column) const {
    return by_symbol_[x * symbol_block() + row * width_ + column];
  }
  double at_shared(Index row, Index column) const { return by_all_[row * padded_shared_ + column]; }

  std::vector<std::int32_t> gated_, shared_;
  Index alphabet_, padded_gated_, padded_shared_, width_;
  bool full_;
  Buffer<double> by_symbol_;  // [alphabet + 1 x rows x width]; the last block is for positions without a symbol
  Buffer<double> by_all_;     // [rows x padded shared]
  Buffer<double> u_;
};

/// Positions sorted by symbol: one range of slots for each symbol that occurs. Ranges begin and end at multiples of
/// kMomentLanes; b and phi are 0 in unused slots.
inline constexpr Index kMomentLanes = 4;
struct SymbolRange {
  Symbol symbol;
  Index begin, end;
};

/// The sums of a unit whose inputs are all gated, over positions sorted by symbol, vectorized over positions. Slot k of
/// a range adds to lane k mod kMomentLanes, in double: M may be nearly singular, and rounding errors of its large
/// entries must not exceed the damping. Determinism (invariant 2): the number of lanes is fixed for every vector width.
template <class T>
class LaneMoments {
 public:
  /// Uses the inputs of `moments`. REQUIRES: `moments` has no shared inputs.
  explicit LaneMoments(const UnitMoments& moments);
  /// columns [inputs x slots]: row c holds input c of all slots; b, phi [slots].
  void add(Matrix<const T> columns, std::span<const SymbolRange> runs, const T* b, const T* phi);
  void move_to(UnitMoments& moments);  ///< adds the sums of the lanes to `moments` and clears them

 private:
  /// Elements of one symbol: the lower triangle of M by rows (or the first row and the diagonal), then G.
  Index block() const {
    const auto p = static_cast<Index>(columns_.size());
    return (full_ ? p * (p + 1) / 2 + p : 3 * p) * kMomentLanes;
  }
  std::vector<std::int32_t> columns_;
  bool full_;
  Buffer<double> lanes_;
  std::vector<char> seen_;
  std::vector<const T*> inputs_;
};

/// Computes the Cholesky factor L of a symmetric positive definite matrix a [n x n] (row-major, only the lower triangle
/// is read) in place; the upper triangle is not changed. Returns false if a pivot is not positive or not finite.
bool cholesky(double* a, Index n, Index stride);
/// b = L^-1 b and b = L^-T b.
void solve_lower(const double* l, Index n, Index stride, double* b);
void solve_upper(const double* l, Index n, Index stride, double* b);

}  // namespace unfold
