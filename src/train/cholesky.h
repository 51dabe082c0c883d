#pragma once
/// Cholesky factor of a symmetric positive definite matrix, for small systems of normal equations:
///
///   std::optional<Cholesky> factor = Cholesky::of(std::move(a), n);     // a: [n x n], its lower triangle is read
///   if (factor) factor->solve(b);
///
/// All computations are in double, with a fixed order of summation (numerics/vector.h).

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "unfold/base/threads/team.h"
#include "unfold/base/types.h"

namespace unfold {

class Cholesky {
 public:
  /// Returns std::nullopt if the matrix is not positive definite.
  static std::optional<Cholesky> of(std::vector<double> a, Index n);
  /// Like `of`, for large systems: computes in blocks that are divided among the team. The result does not depend on
  /// the number of threads.
  static std::optional<Cholesky> blocked(std::vector<double> a, Index n, Team& team);

  /// Solves A v = b in place.
  void solve(std::span<double> b) const;
  /// Returns the trace of the inverse: the sum of the squares of the inverse factor.
  double inverse_trace() const;
  /// Returns the diagonal of the inverse. The result does not depend on the number of threads.
  std::vector<double> inverse_diagonal(Team& team) const;

 private:
  Cholesky(std::vector<double> a, Index n) : a_(std::move(a)), n_(n) {}
  double l(Index i, Index j) const { return a_[at(i * n_ + j)]; }
  std::span<const double> row(Index i, Index from, Index to) const {
    return std::span<const double>(a_).subspan(at(i * n_ + from), at(to - from));
  }
  void inverse_column(Index j, std::vector<double>& z) const;

  std::vector<double> a_;
  Index n_;
};

}  // namespace unfold
