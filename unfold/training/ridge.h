#pragma once
/// Ridge regression from sums that one pass over any length of data accumulates:
///
///   RidgeSums sums(states, outputs, 0);
///   for (...) sums.add(x, y);                        // rows of states and of what they should give
///   RidgeFit fit = sums.solve({});                   // y ~ x V + b
///
/// V minimises |X V + 1 b - Y|^2 + lambda' |V|^2, lambda' = lambda * rows * (mean square of a state about its mean).
/// lambda is given, or chosen among powers of ten by
///   generalised cross-validation, rows |residual|^2 / (rows - trace of the hat matrix)^2 (Golub, Heath & Wahba 1979),
///   or leaving blocks of the data out in turn, whose sums are kept apart.
/// Both follow from the sums alone: memory does not grow with the data. Everything in double, in one order of sums.

#include <span>
#include <vector>

#include "unfold/base/views.h"

namespace unfold {

struct RidgeOptions {
  double lambda = 0;  ///< 0: chosen
};

struct RidgeFit {
  std::vector<double> weights;  ///< [inputs x outputs]
  std::vector<double> bias;     ///< [outputs]
  std::vector<double> squares;  ///< [outputs]: mean square of the residuals on the data themselves
  double lambda = 0;
  double mean_square = 0;  ///< of the residuals, by which lambda was chosen; of the data themselves where it was given
};

class RidgeSums {
 public:
  /// `blocks`: 0, or at least 2 that are left out in turn. Throws UsageError.
  RidgeSums(Index inputs, Index outputs, Index blocks);
  /// Rows of both. Runs of kRun rows go to the blocks in turn.
  void add(Matrix<const double> x, Matrix<const double> y);
  Index rows() const { return total_.rows; }
  /// Throws DataError: fewer than two rows; nothing that a fit could use.
  RidgeFit solve(const RidgeOptions& options) const;

  static constexpr Index kRun = 256;

 private:
  /// Sums over rows: of 1, z and z z', z = [x ; y].
  struct Sums {
    Index rows = 0;
    std::vector<double> first, second;
  };
  struct Centred;
  void add_to(Sums& sums, Matrix<const double> z) const;
  Centred centred(const Sums& sums) const;
  double left_out(double lambda) const;
  double cross_validation(const Centred& all, double lambda) const;

  Index inputs_, outputs_;
  Sums total_;
  std::vector<Sums> blocks_;
  Index filled_ = 0;  // rows of the present run
  std::size_t block_ = 0;
};

}  // namespace unfold
