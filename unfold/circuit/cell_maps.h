#pragma once
/// Maps of whole vectors that cells are made of (vector_map.h): layer normalisation, shares of a sum, and the decay of
/// complex numbers.

#include <memory>
#include <vector>

#include "unfold/circuit/vector_map.h"

namespace unfold {

/// Layer normalisation (Ba, Kiros & Hinton 2016): y_i = g_i (x_i - mean) / sqrt(variance + 1e-5), mean and variance
/// over the n components. Parameters [1 x n]: g.
std::shared_ptr<const VectorMap> layer_norm(Index n);

/// y_i = x_i / sum_j x_j. No parameters. Not a number where the sum is 0. Its Jacobian may be squared.
std::shared_ptr<const Operator> shares(Index n);

/// The recurrence of linear recurrent units (Orvieto et al. 2023): n complex numbers, n real and then n imaginary
/// parts, each times l = exp(-exp(nu) + i phase). Parameters [1 x 2n]: nu, then phases.
std::shared_ptr<const VectorMap> complex_decay(Index n);
/// n complex numbers, each times exp(g). Parameters [1 x n]: g.
std::shared_ptr<const VectorMap> complex_gain(Index n);
/// Starts of these: |l|^2 evenly spread between fastest^2 and slowest^2, phases over [0, turn); and the gains
/// sqrt(1 - |l|^2), with which white noise keeps its variance.
std::vector<double> spread_decays(Index n, double slowest, double fastest, double turn);
std::vector<double> keeping_gains(const std::vector<double>& decays);

/// Each of n components times a rate: of leaky units, 1 / theta with a time constant of theta steps. Fixed rates have
/// no parameter (one of no rows); learned ones are 1 / (1 + softplus(rho)), parameters [1 x n]: rho.
std::shared_ptr<const Operator> fixed_leak(std::vector<double> rates);
std::shared_ptr<const Operator> learned_leak(Index n);
/// Time constants whose logarithms are evenly spread over [0, log longest]; and the rho of learned leaks that start
/// there.
std::vector<double> spread_times(Index n, double longest);
std::vector<double> leak_starts(const std::vector<double>& times);

}  // namespace unfold
