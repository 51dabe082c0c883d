#pragma once
/// Linear-chain algorithms over labels or hidden states, in double precision and log space. They are exact for finite
/// scores of any size and for impossible scores (-inf). crf.cpp has a faster method for scores of ordinary size.
///
///   score(y) = start[y_1] + sum_t e_t[y_t] + sum_{t>1} transitions[y_{t-1}][y_t] + stop[y_T]

#include <vector>

#include "unfold/base/views.h"
#include "unfold/numerics/random.h"

namespace unfold {

/// Transition scores; -inf means impossible.
struct ChainScores {
  Index labels = 0;
  std::vector<double> transitions, start, stop;  // [labels x labels], [labels], [labels]

  static ChainScores zeros(Index labels) {
    return {labels, std::vector<double>(at(labels * labels)), std::vector<double>(at(labels)),
            std::vector<double>(at(labels))};
  }
};

/// The labels of one chain and the logarithm of their probability (relative to all permitted labelings).
struct ScoredLabeling {
  std::vector<Symbol> labels;
  double log_probability = 0;
};

/// The emissions of one chain: positions x labels, contiguous.
using Emissions = Matrix<const double>;

/// Scratch memory that is reused between calls.
struct ChainScratch {
  std::vector<double> squares, row;
};

/// Forward recursion: alpha_t(j) = log of the sum over all prefixes that end with label j at t. Returns log Z; -inf if
/// no labeling is possible.
double chain_forward(const ChainScores& scores, Emissions e, Matrix<double> alpha, ChainScratch& scratch);
/// Backward recursion: beta_t(i) = log of the sum over all suffixes that follow label i at t.
void chain_backward(const ChainScores& scores, Emissions e, Matrix<double> beta, ChainScratch& scratch);

/// Expected counts. The functions add `sign` times the counts, except that `positions` [T x labels] is set.
struct ChainCounts {
  Matrix<double> positions;
  double* pairs;  ///< [labels x labels]
  double *first, *last;
};
/// REQUIRES alpha, beta and a finite log_z computed from these emissions.
void chain_marginals(const ChainScores& scores, Emissions e, Matrix<const double> alpha, Matrix<const double> beta,
                     double log_z, double sign, const ChainCounts& counts, ChainScratch& scratch);

/// Multiplies the covariance of the counts by a direction: of the emissions [T x labels] and of the transition scores.
/// Adds to pairs, first and last; sets positions.
void chain_covariance(const ChainScores& scores, Emissions e, Matrix<const double> alpha, Matrix<const double> beta,
                      double log_z, Emissions direction, const ChainScores& along, const ChainCounts& result,
                      ChainScratch& scratch);

/// Returns the score of the given labels.
double chain_score(const ChainScores& scores, Emissions e, const Symbol* labels);
/// Viterbi decoding: returns the most probable labels (in case of ties, the one with the smallest last label, then the
/// smallest label before it, ...) and their score; -inf if no labeling is possible.
double chain_best(const ChainScores& scores, Emissions e, Symbol* labels);
/// Returns the `count` best labelings; log_probability holds their scores.
std::vector<ScoredLabeling> chain_n_best(const ChainScores& scores, Emissions e, Index count);
/// Draws one labeling: the last label from alpha, then backward. REQUIRES alpha computed from these emissions.
void chain_sample(const ChainScores& scores, Matrix<const double> alpha, Random& random, Symbol* labels,
                  ChainScratch& scratch);

}  // namespace unfold
