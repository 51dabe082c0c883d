#pragma once
/// Internal: univariate probability distributions used by distribution.h. All computations are in double precision and
/// bit-identical on every machine: exp is an implementation of this project, and no function of the C library is
/// called.

#include <span>

#include "unfold/numerics/random.h"

namespace unfold {

/// exp(-z^2 / 2) / sqrt(2 pi).
double normal_density(double z);
/// P(Z <= z) of the standard normal distribution, with relative error below 1e-14 down to the smallest normal numbers.
/// Rational approximations of W. J. Cody, Algorithm 715 (SPECFUN), ACM Transactions on Mathematical Software 19, 1993.
double normal_probability(double z);

/// A component of a Gaussian mixture.
struct WeightedNormal {
  double weight, mean, deviation;
};

/// Returns the quantile of a mixture of Gaussians at `level`, 0 < level < 1. Weights must sum to 1.
double mixture_quantile(std::span<const WeightedNormal> mixture, double level);
/// Returns the continuous ranked probability score (CRPS) of a Gaussian mixture in closed form (Grimit, Gneiting,
/// Berrocal and Johnson 2006): sum_k w_k A(y - m_k, d_k^2) - 1/2 sum_kl w_k w_l A(m_k - m_l, d_k^2 + d_l^2), where A(m,
/// d^2) = E |N(m, d^2)| = 2 d phi(m / d) + m (2 Phi(m / d) - 1).
double mixture_crps(std::span<const WeightedNormal> mixture, double observed);

/// Poisson distribution. For a rate above 10^6, it is approximated by a Gaussian with the same mean and variance; the
/// quantile is rounded to an integer.
double poisson_quantile(double rate, double level);
double poisson_crps(double rate, double observed);

/// Negative binomial distribution of counts with this mean and the variance mean + dispersion * mean^2. If the variance
/// is above 10^7 or more than 1000 times the mean, it is approximated by a Gamma distribution with the same mean and
/// variance; the quantile is rounded to an integer.
double negative_binomial_quantile(double mean, double dispersion, double level);
double negative_binomial_crps(double mean, double dispersion, double observed);

/// Student's t distribution with `freedom` > 1 degrees of freedom, which need not be an integer. For more than 10^6, it
/// is the standard normal distribution.
double student_probability(double t, double freedom);  ///< P(T <= t)
double student_quantile(double level, double freedom);
/// Closed form (Jordan, Krueger and Lerch 2019).
double student_crps(double freedom, double observed);

}  // namespace unfold
