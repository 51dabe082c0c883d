#pragma once
/// A chain of hidden states whose transition probabilities may vary from position to position, in double precision and
/// log space:
///
///   p(s, y) = pi(s_1) prod_{t>1} a_t(s_{t-1}, s_t) prod_t e_t(s_t)

#include <vector>

#include "unfold/base/views.h"
#include "unfold/numerics/random.h"

namespace unfold {

struct InhomogeneousChain {
  Index states = 0;
  const double* start = nullptr;   ///< log pi, [states]
  Matrix<const double> steps;      ///< [positions x states^2]: log a_t(i, j); row 0 is not read; stride 0 if constant
  Matrix<const double> emissions;  ///< [positions x states]: log e_t(j)

  Index positions() const { return emissions.rows; }
};

/// Buffers for the recursions below; can be reused for further chains.
struct StateWork {
  std::vector<double> start, steps, emissions, alpha, beta, marginals, pairs;
  Index rows = 0, states = 0;

  /// Allocates memory for this number of positions, each with separate transitions, and of states; leaves `start`
  /// unchanged.
  void make_room(Index positions, Index count);
  Matrix<double> matrix(std::vector<double>& of) const { return {of.data(), rows, states, states}; }
  InhomogeneousChain chain() const;
};

/// Forward recursion: alpha_t(j) = log of the sum over all prefixes that end in state j at t; the log-sum-exp over j is
/// the log-probability of the observations up to t. Returns the log-probability of all observations.
double forward(const InhomogeneousChain& chain, Matrix<double> alpha);
/// Backward recursion: beta_t(i) = log of the sum over all suffixes that follow state i at t.
void backward(const InhomogeneousChain& chain, Matrix<double> beta);
/// Sets p to p(s_t = j | y) [positions x states].
void state_marginals(Matrix<const double> alpha, Matrix<const double> beta, Matrix<double> p);
/// pairs[i * states + j] = p(s_{t-1} = i, s_t = j | y). REQUIRES t > 0.
void pair_marginals(const InhomogeneousChain& chain, Matrix<const double> alpha, Matrix<const double> beta, Index t,
                    double* pairs);
/// Returns the most probable state path; in case of ties, the path with the smallest final state.
std::vector<Index> best_states(const InhomogeneousChain& chain);

/// Returns log p(s, y) of a path.
double path_score(const InhomogeneousChain& chain, const std::vector<Index>& path);
struct StatePath {
  std::vector<Index> states;
  double score = 0;
};
/// Returns the `count` most probable paths, best first; fewer if fewer exist.
std::vector<StatePath> best_paths(const InhomogeneousChain& chain, Index count);
/// Draws a path from p(s | y). REQUIRES alpha computed for this chain. Throws UsageError if no path is possible.
std::vector<Index> draw_states(const InhomogeneousChain& chain, Matrix<const double> alpha, Random& random);

}  // namespace unfold
