#pragma once
/// Fits a mixture of vectors of independent bits by expectation-maximization from several initializations:
///
///   p(y) = sum_k w_k prod_i q_ki^y_i (1 - q_ki)^(1 - y_i)
///   BernoulliMixtureFit fit = fit_bernoulli_mixture(rows, 10, {.seed = 1}, team);
///
/// Initial components are rows of the data that are drawn far from each other (Arthur & Vassilvitskii 2007). The prior
/// of each bit and of each component corresponds to kBitPrior observations of each value, so no probability is 0. The
/// result does not depend on the number of threads. Weights of rows multiply their log-likelihoods. Throws UsageError
/// if there are no rows.

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "unfold/base/threads/team.h"
#include "unfold/base/views.h"

namespace unfold {

inline constexpr double kBitPrior = 0.1;

struct BernoulliMixtureFitOptions {
  Index starts = 20;   ///< initializations that run for a few iterations
  Index restarts = 3;  ///< number of the best initializations that run until convergence
  Index iterations = 500;
  double tolerance = 1e-6;  ///< stops when an iteration gains fewer nats per row, and less than the previous one
  std::uint64_t seed = 1;
  const std::atomic<bool>* stop = nullptr;  ///< polled once per iteration; throws InterruptedError when set
  std::span<const double> weights = {};     ///< one number per row; empty: all are 1
};

struct BernoulliMixtureFit {
  std::vector<double> weights, probabilities;  ///< [K], [K x n]
  double log_likelihood = 0, log_posterior = 0;
  Index iterations = 0;
};

BernoulliMixtureFit fit_bernoulli_mixture(Matrix<const double> rows, Index components,
                                          const BernoulliMixtureFitOptions& options, Team& team);
/// Returns log p of every row.
std::vector<double> log_probabilities(const BernoulliMixtureFit& mixture, Matrix<const double> rows, Team& team);

}  // namespace unfold
