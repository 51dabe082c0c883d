#pragma once
/// Operators on whole vectors for use in cells and heads (vector_map.h): layer normalization, normalization by the sum,
/// softmax, means of mixtures, leaks, and complex decay.

#include <memory>
#include <vector>

#include "unfold/graph/circuit/vector_map.h"

namespace unfold {

/// Layer normalization (Ba, Kiros & Hinton 2016): y_i = g_i (x_i - mean) / sqrt(variance + 1e-5), with mean and
/// variance over the n components. Parameters [1 x n]: g.
std::shared_ptr<const VectorMap> layer_norm(Index n);

/// y_i = x_i / sum_j x_j. No parameters. NaN if the sum is 0. Has a squared Jacobian.
std::shared_ptr<const Operator> shares(Index n);

/// y_i = exp(x_i) / sum_j exp(x_j). No parameters. Has a squared Jacobian.
std::shared_ptr<const Operator> softmax_operator(Index n);

/// The mean of a mixture of vectors of n numbers: y = sum over k of softmax(a)_k m_k. The input is a, one number per
/// component, followed by m_1, m_2, .... No parameters.
std::shared_ptr<const Operator> mixture_mean(Index components, Index n);

/// The recurrence of linear recurrent units (Orvieto et al. 2023): n complex numbers, stored as n real followed by n
/// imaginary parts, are multiplied by l = exp(-exp(nu) + i phase). Parameters [1 x 2n]: nu, then phases.
std::shared_ptr<const VectorMap> complex_decay(Index n);
/// Multiplies n complex numbers by exp(g). Parameters [1 x n]: g.
std::shared_ptr<const VectorMap> complex_gain(Index n);
/// Return the initial values of decays, with |l|^2 evenly spaced between fastest^2 and slowest^2 and phases over [0,
/// turn), and of gains, sqrt(1 - |l|^2), which preserve the variance of white noise.
std::vector<double> initial_decays(Index n, double slowest, double fastest, double turn);
std::vector<double> variance_preserving_gains(const std::vector<double>& decays);

/// Multiplies each of n components by a leak rate: in leaky units, 1 / theta for a time constant of theta steps. Fixed
/// rates have an empty parameter (no rows). Learned rates are 1 / (1 + softplus(rho)) with parameters rho [1 x n].
std::shared_ptr<const Operator> fixed_leak(std::vector<double> rates);
std::shared_ptr<const Operator> learned_leak(Index n);
/// Return time constants whose logarithms are evenly spaced over [0, log longest], and the initial rho of learned leaks
/// with given time constants.
std::vector<double> initial_time_constants(Index n, double longest);
std::vector<double> initial_leaks(const std::vector<double>& times);

}  // namespace unfold
