#pragma once
/// Hidden Markov models for vectors: each state emits vectors of n numbers from a mixture of Gaussians with full or
/// diagonal covariances.
///
///   p(s_1 = i) = start(i),  p(s_{t+1} = j | s_t = i) = transitions(i, j),
///   p(y_t | s_t = j) = sum_c w_jc N(y_t; m_jc, S_jc)
///
/// They are fitted by expectation-maximization on several sequences (Baum, Petrie, Soules & Weiss 1970; Juang, Levinson
/// & Sondhi 1986), from several random initializations:
///
///   VectorHmm hmm = fit_vector_hmm({.states = 3}, runs, {.seed = 1}, team).hmm;
///   double nats = -log_likelihood(hmm, runs, team);
///   std::vector<Index> path = most_probable_states(hmm, run);
///
/// If a component could shrink onto a single vector, the likelihood would have no maximum. Covariances therefore have a
/// prior, equivalent to `kPriorCount` vectors with variance VectorHmmShape::prior. Expectation-maximization never
/// decreases the log posterior,
///   log p(y) - kPriorCount / 2 sum_jc (log |S_jc| + prior trace S_jc^-1).
/// Numbers should be standardized.
///
/// With VectorHmmShape::pooled, the prior of each covariance is instead equivalent to c = pooled * n vectors with the
/// covariance P = sum_jc w_jc S_jc / K + prior I of all components (compare Friedman 1989, regularized discriminant
/// analysis), which subtracts c KL(N(0, P) || N(0, S_jc)) from log p(y) for each component. P is that of the preceding
/// iteration, so an iteration may decrease the log posterior slightly; the best iteration is kept.

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "unfold/base/threads/team.h"
#include "unfold/base/views.h"
#include "unfold/numerics/random.h"

namespace unfold {

inline constexpr double kPriorCount = 1, kPriorVariance = 0.01;

struct VectorHmmShape {
  Index states = 1, components = 1, numbers = 1;
  bool full = true;               ///< full covariances; otherwise diagonal
  double prior = kPriorVariance;  ///< variance of the prior of every covariance
  double pooled = 0;              ///< vectors per number with the mean covariance, in the prior of every covariance

  Index mixtures() const { return states * components; }
  Index spread() const { return full ? numbers * numbers : numbers; }  ///< numbers of one covariance
  /// Returns the number of free parameters, as counted by the Bayesian information criterion.
  Index parameters() const;
};

struct VectorHmm {
  VectorHmmShape shape;
  std::vector<double> start, transitions;           ///< [K], [K x K]; every row sums to 1
  std::vector<double> weights, means, covariances;  ///< [K x C], [K C x n], [K C x spread]

  explicit VectorHmm(const VectorHmmShape& of);  ///< uniform distributions, means 0, covariances 1
};

/// A Gaussian expressed as regressions of each number on the preceding numbers: u_i = e_i + sum_{j<i} l_ij e_j ~ N(0,
/// d_i^2), e = y - m (see the loss gaussian-mixture).
struct GaussianFactors {
  std::vector<double> l;      ///< [n (n - 1) / 2], row by row; empty for a diagonal covariance
  std::vector<double> log_d;  ///< [n]
  std::vector<double> inverse;

  /// Throws UsageError if the covariance is not positive definite.
  GaussianFactors(std::span<const double> covariance, Index n, bool full);
  double log_density(const double* y, const double* mean) const;
};

/// Sequences of vectors, concatenated.
struct VectorSequences {
  Matrix<const double> rows;
  std::vector<Index> ends;  ///< for each sequence: the row number after its last row
  /// One number per row, which multiplies its log-likelihood and its expected counts; empty: all are 1. Weights are
  /// equal within a sequence unless the model has one state, so that rows are independent.
  std::span<const double> weights = {};

  Index count() const { return static_cast<Index>(ends.size()); }
  Index begin(Index s) const { return s == 0 ? 0 : ends[at(s - 1)]; }
  Matrix<const double> run(Index s) const { return rows.rows_from(begin(s), ends[at(s)] - begin(s)); }
  double weight(Index row) const { return weights.empty() ? 1 : weights[at(row)]; }
  /// Returns the sum of the weights: without weights, the number of rows.
  double total() const {
    double sum = 0;
    for (const double weight : weights) sum += weight;
    return weights.empty() ? static_cast<double>(rows.rows) : sum;
  }
};

double log_likelihood(const VectorHmm& hmm, const VectorSequences& runs, Team& team);
/// For one sequence, return the most probable path, and p(s_t = j | y) [positions x states].
std::vector<Index> most_probable_states(const VectorHmm& hmm, Matrix<const double> run);
std::vector<double> state_posteriors(const VectorHmm& hmm, Matrix<const double> run);
/// A sampled sequence: its rows [length x numbers] and its states.
struct DrawnRun {
  std::vector<double> rows;
  std::vector<Index> states;
};
DrawnRun sample(const VectorHmm& hmm, Index length, Random& random);
/// The mean and variance of every number, `steps` steps after a state with distribution `belief`. To forecast an
/// observed sequence, `belief` is the last row of its posteriors.
struct VectorForecast {
  std::vector<double> mean, variance;
};
VectorForecast forecast(const VectorHmm& hmm, std::span<const double> belief, Index steps);

struct VectorHmmFitOptions {
  Index starts = 20;   ///< initializations that run for a few iterations
  Index restarts = 5;  ///< number of the best initializations that run until convergence
  Index iterations = 500;
  /// Stops when an iteration gains less than this many nats per vector and less than the previous iteration.
  double tolerance = 1e-6;
  std::uint64_t seed = 1;
  const std::atomic<bool>* stop = nullptr;  ///< polled once per iteration; throws InterruptedError when set
};
struct VectorHmmFit {
  VectorHmm hmm;
  double log_likelihood = 0, log_posterior = 0;
  Index iterations = 0;  ///< iterations of the best initialization
  /// -2 log p(y) + parameters log(vectors); smaller is better (Schwarz 1978).
  double bic = 0;
};

/// Makes one iteration of expectation-maximization. Returns the log posterior of the model before the iteration, and
/// stores its log likelihood in `likelihood` if not null. Threads share the sequences; results do not depend on the
/// number of threads.
double reestimate(VectorHmm& hmm, const VectorSequences& runs, Team& team, double* likelihood = nullptr);
/// Returns the best fit over several initializations. Initial means are data vectors drawn far from each other (Arthur
/// & Vassilvitskii 2007), either unchanged or after k-means with the covariances of the clusters; states stay with
/// probability 0, 0.5 or 0.9 and otherwise make random transitions. Throws UsageError if there are fewer vectors than
/// components.
VectorHmmFit fit_vector_hmm(const VectorHmmShape& shape, const VectorSequences& runs,
                            const VectorHmmFitOptions& options, Team& team);
/// Fits models with `fewest` to shape.states states. The model with the smallest BIC comes first; the others follow in
/// order of their number of states.
std::vector<VectorHmmFit> choose_vector_hmm(const VectorHmmShape& shape, Index fewest, const VectorSequences& runs,
                                            const VectorHmmFitOptions& options, Team& team);

}  // namespace unfold
