#pragma once
/// A chain of hidden states, in double and by logarithms, whose probabilities of steps may differ from position to
/// position:
///
///   p(s, y) = pi(s_1) prod_{t>1} a_t(s_{t-1}, s_t) prod_t e_t(s_t)

#include <vector>

#include "unfold/base/views.h"
#include "unfold/numerics/random.h"

namespace unfold {

struct StateSteps {
  Index states = 0;
  const double* start = nullptr;  ///< log pi, [states]
  Matrix<const double> steps;  ///< [positions x states^2]: log a_t(i, j); row 0 is not read; stride 0: always the same
  Matrix<const double> emissions;  ///< [positions x states]: log e_t(j)

  Index positions() const { return emissions.rows; }
};

/// Room for the recursions below over one chain, to be used for chain after chain.
struct StateWork {
  std::vector<double> start, steps, emissions, alpha, beta, marginals, pairs;
  Index rows = 0, states = 0;

  /// For so many positions, with steps of their own, and states; `start` is left alone.
  void make_room(Index positions, Index count);
  Matrix<double> matrix(std::vector<double>& of) const { return {of.data(), rows, states, states}; }
  StateSteps chain() const;
};

/// alpha_t(j) = log of the sum over all beginnings that end in j at t; their sum over j is the logarithm of the
/// probability of all that was seen up to t. Returns that of everything.
double forward(const StateSteps& chain, Matrix<double> alpha);
/// beta_t(i) = log of the sum over all ends that follow i at t.
void backward(const StateSteps& chain, Matrix<double> beta);
/// p(s_t = j | y) [positions x states].
void state_marginals(Matrix<const double> alpha, Matrix<const double> beta, Matrix<double> p);
/// pairs[i * states + j] = p(s_{t-1} = i, s_t = j | y). REQUIRES t > 0.
void pair_marginals(const StateSteps& chain, Matrix<const double> alpha, Matrix<const double> beta, Index t,
                    double* pairs);
/// The most probable states; of equals those that end in the smallest.
std::vector<Index> best_states(const StateSteps& chain);

/// log p(s, y) of a path.
double path_score(const StateSteps& chain, const std::vector<Index>& path);
struct StatePath {
  std::vector<Index> states;
  double score = 0;
};
/// The `count` most probable paths, best first; fewer where there are not so many.
std::vector<StatePath> best_paths(const StateSteps& chain, Index count);
/// A draw of p(s | y). REQUIRES alpha of this chain; UsageError where nothing is possible.
std::vector<Index> draw_states(const StateSteps& chain, Matrix<const double> alpha, Random& random);

}  // namespace unfold
