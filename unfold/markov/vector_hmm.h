#pragma once
/// Hidden Markov models of vectors: each state emits vectors of n numbers from a mixture of Gaussians, whose
/// covariances are full or diagonal.
///
///   p(s_1 = i) = start(i),  p(s_{t+1} = j | s_t = i) = transitions(i, j),  p(y_t | s_t = j) = sum_c w_jc N(y_t; m_jc,
///   S_jc)
///
/// Fitted by expectation-maximisation over several sequences (Baum, Petrie, Soules & Weiss 1970; Juang, Levinson &
/// Sondhi 1986), from several random starts:
///
///   VectorHmm hmm = fit_vector_hmm({.states = 3}, runs, {.seed = 1}, team).hmm;
///   double nats = -log_likelihood(hmm, runs, team);
///   std::vector<Index> path = most_probable_states(hmm, run);
///
/// Where a component could shrink onto one vector the likelihood has no maximum. So covariances have a prior, worth
/// `kPriorCount` vectors of a variance of kPriorShare: the log posterior is what never falls,
///   log p(y) - kPriorCount / 2 sum_jc (log |S_jc| + kPriorShare trace S_jc^-1).
/// Numbers should be standardised.

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "unfold/base/team.h"
#include "unfold/base/views.h"
#include "unfold/numerics/random.h"

namespace unfold {

struct VectorHmmShape {
  Index states = 1, components = 1, numbers = 1;
  bool full = true;  ///< covariances; otherwise diagonal

  Index mixtures() const { return states * components; }
  Index spread() const { return full ? numbers * numbers : numbers; }  ///< numbers of one covariance
  /// Free ones: what the Bayesian information criterion counts.
  Index parameters() const;
};

struct VectorHmm {
  VectorHmmShape shape;
  std::vector<double> start, transitions;           ///< [K], [K x K]; every row sums to 1
  std::vector<double> weights, means, covariances;  ///< [K x C], [K C x n], [K C x spread]

  explicit VectorHmm(const VectorHmmShape& of);  ///< everything uniform, means 0, covariances 1
};

/// A Gaussian as regressions of each number on those before it: u_i = e_i + sum_{j<i} l_ij e_j ~ N(0, d_i^2), e = y - m
/// (densities: the loss gaussian-mixture).
struct GaussianFactors {
  std::vector<double> l;      ///< [n (n - 1) / 2], row by row; of a diagonal covariance empty
  std::vector<double> log_d;  ///< [n]
  std::vector<double> inverse;

  /// UsageError: the covariance is not positive definite.
  GaussianFactors(std::span<const double> covariance, Index n, bool full);
  double log_density(const double* y, const double* mean) const;
};

/// Sequences of vectors, one behind the other.
struct VectorRuns {
  Matrix<const double> rows;
  std::vector<Index> ends;  ///< one a sequence: number of rows up to its end

  Index count() const { return static_cast<Index>(ends.size()); }
  Index begin(Index s) const { return s == 0 ? 0 : ends[at(s - 1)]; }
  Matrix<const double> run(Index s) const { return rows.rows_from(begin(s), ends[at(s)] - begin(s)); }
};

double log_likelihood(const VectorHmm& hmm, const VectorRuns& runs, Team& team);
/// Of one sequence: the most probable path, and p(s_t = j | y) [positions x states].
std::vector<Index> most_probable_states(const VectorHmm& hmm, Matrix<const double> run);
std::vector<double> state_posteriors(const VectorHmm& hmm, Matrix<const double> run);
/// A sequence drawn: its rows [length x numbers], and its states.
struct DrawnRun {
  std::vector<double> rows;
  std::vector<Index> states;
};
DrawnRun sample(const VectorHmm& hmm, Index length, Random& random);
/// What a state that is distributed so brings h steps later: the mean and the variance of every number, one after the
/// other; of a sequence that was seen, `belief` is the last row of its posteriors.
struct VectorForecast {
  std::vector<double> mean, variance;
};
VectorForecast forecast(const VectorHmm& hmm, std::span<const double> belief, Index steps);

struct VectorHmmFitOptions {
  Index restarts = 5, iterations = 200;
  double tolerance = 1e-6;  ///< ends when an iteration gains fewer nats a vector
  std::uint64_t seed = 1;
  const std::atomic<bool>* stop = nullptr;  ///< polled once an iteration; then InterruptedError
};
struct VectorHmmFit {
  VectorHmm hmm;
  double log_likelihood = 0, log_posterior = 0;
  Index iterations = 0;  ///< of the best start
  /// -2 log p(y) + parameters log(vectors): the smaller the better (Schwarz 1978).
  double bic = 0;
};

inline constexpr double kPriorCount = 1, kPriorShare = 0.01;

/// One step of expectation-maximisation; returns the log posterior of what came in, and its log likelihood in
/// `likelihood` where given. Threads share sequences; results do not depend on them.
double reestimate(VectorHmm& hmm, const VectorRuns& runs, Team& team, double* likelihood = nullptr);
/// The best of several starts. Means begin at vectors drawn far from each other (Arthur & Vassilvitskii 2007). Throws
/// UsageError for fewer vectors than components.
VectorHmmFit fit_vector_hmm(const VectorHmmShape& shape, const VectorRuns& runs, const VectorHmmFitOptions& options,
                            Team& team);
/// Fits for all numbers of states from `fewest` to shape.states; the first is the one of the smallest bic, the others
/// follow by their number of states.
std::vector<VectorHmmFit> choose_vector_hmm(const VectorHmmShape& shape, Index fewest, const VectorRuns& runs,
                                            const VectorHmmFitOptions& options, Team& team);

}  // namespace unfold
