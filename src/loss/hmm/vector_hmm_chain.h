#pragma once
/// Internal: hidden Markov models for vectors (vector_hmm.h) in the form used by the recursions, and the data of one
/// sequence.

#include "loss/hmm/inhomogeneous_chain.h"
#include "loss/hmm/vector_hmm.h"

namespace unfold {

struct VectorHmmTables {
  explicit VectorHmmTables(const VectorHmm& of);

  const VectorHmm& hmm;
  std::vector<double> start, steps, log_weights;
  std::vector<GaussianFactors> factors;
};

struct VectorHmmChain {
  /// Computes the emissions of a sequence, and log w_jc N(y_t; m_jc, S_jc) in `components`.
  void see(const VectorHmmTables& tables, Matrix<const double> run);
  /// Runs forward and returns the log-likelihood of sequence s of `runs`, which it has seen, times the weights.
  double weighted_forward(const VectorSequences& runs, Index s);
  Matrix<double> matrix(std::vector<double>& of) const { return {of.data(), rows, states, states}; }

  Index rows = 0, states = 0;
  std::vector<double> emissions, components, alpha, beta;
  InhomogeneousChain chain;
};

}  // namespace unfold
