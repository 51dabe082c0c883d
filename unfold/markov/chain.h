#pragma once
/// A linear chain over labels, or over hidden states, in double and by logarithms: exact for any finite scores and for
/// impossible ones (-inf), whatever their size. crf.cpp has a faster way for scores of ordinary size.
///
///   score(y) = start[y_1] + sum_t e_t[y_t] + sum_{t>1} transitions[y_{t-1}][y_t] + stop[y_T]

#include <vector>

#include "unfold/base/views.h"
#include "unfold/numerics/random.h"

namespace unfold {

/// Scores of neighbours. -inf: cannot be.
struct ChainScores {
  Index labels = 0;
  std::vector<double> transitions, start, stop;  // [labels x labels], [labels], [labels]

  static ChainScores zeros(Index labels) {
    return {labels, std::vector<double>(at(labels * labels)), std::vector<double>(at(labels)),
            std::vector<double>(at(labels))};
  }
};

/// The labels of one chain, position by position, and the logarithm of their probability (of all that is allowed).
struct LabelledChain {
  std::vector<Symbol> labels;
  double log_probability = 0;
};

/// One chain: positions x labels, contiguous.
using Emissions = Matrix<const double>;

/// What an algorithm keeps between calls; contents have no meaning outside.
struct ChainScratch {
  std::vector<double> squares, row;
};

/// alpha_t(j) = log of the sum over all beginnings that end with label j at t. Returns log Z; -inf where nothing can
/// be.
double chain_forward(const ChainScores& scores, Emissions e, Matrix<double> alpha, ChainScratch& scratch);
/// beta_t(i) = log of the sum over all ends that follow label i at t.
void chain_backward(const ChainScores& scores, Emissions e, Matrix<double> beta, ChainScratch& scratch);

/// Sums += sign times the expected counts: `positions` [T x labels] is set, not added to.
struct ChainCounts {
  Matrix<double> positions;
  double* pairs;  ///< [labels x labels]
  double *first, *last;
};
/// REQUIRES alpha, beta and a finite log_z of these emissions.
void chain_marginals(const ChainScores& scores, Emissions e, Matrix<const double> alpha, Matrix<const double> beta,
                     double log_z, double sign, const ChainCounts& counts, ChainScratch& scratch);

/// The covariance of the counts times a direction: of emissions [T x labels] and of the scores of neighbours. Adds to
/// pairs, first and last; sets positions.
void chain_covariance(const ChainScores& scores, Emissions e, Matrix<const double> alpha, Matrix<const double> beta,
                      double log_z, Emissions direction, const ChainScores& along, const ChainCounts& result,
                      ChainScratch& scratch);

/// The score of given labels.
double chain_score(const ChainScores& scores, Emissions e, const Symbol* labels);
/// The most probable labels (of equal ones, the one whose last label comes first, then the one before, ...), and their
/// score; -inf where nothing can be.
double chain_best(const ChainScores& scores, Emissions e, Symbol* labels);
/// The `count` best, with their scores for log_probability.
std::vector<LabelledChain> chain_n_best(const ChainScores& scores, Emissions e, Index count);
/// One draw: the last label by alpha, then back. REQUIRES alpha of these emissions.
void chain_sample(const ChainScores& scores, Matrix<const double> alpha, Random& random, Symbol* labels,
                  ChainScratch& scratch);

}  // namespace unfold
