#pragma once
/// The gamma function and its relatives for positive arguments, in double precision. Results are bit-identical on every
/// machine: exp and log are those of this project (functions.h), and no function of the C library is called.
///
/// Recurrences move small arguments up to where the asymptotic series are exact to double precision (Abramowitz &
/// Stegun 1964, 6.1.41, 6.3.18, 6.4.12). The incomplete functions are power series and continued fractions (ibid.,
/// 6.5.29, 6.5.31, 26.5.8), evaluated by the modified method of Lentz.

namespace unfold {

/// log(1 + x), accurate also for small |x|.
double log_of_one_plus(double x);

/// log Gamma(x), with an absolute error of about 1e-15 max(1, x log x).
double log_gamma(double x);
/// log Gamma(x + 1/2) - log Gamma(x), without cancellation.
double log_gamma_half_step(double x);
/// The first and the second derivative of log Gamma.
double digamma(double x);
double trigamma(double x);
/// x^2 trigamma(x) - x, without cancellation: the Fisher information of a Gamma distribution with shape x and a known
/// mean about log x. It decreases from 1 at x = 0 to 1/2.
double shape_information(double x);

/// The regularized lower incomplete gamma function: P(X <= x) of a Gamma distribution with this shape and scale 1.
double gamma_probability(double shape, double x);
/// The regularized incomplete beta function I_x(a, b). `rest` is 1 - x, which the caller often knows more precisely.
double beta_probability(double a, double b, double x, double rest);
/// The same with `front` = x^a (1 - x)^b / B(a, b), which a caller may know without the cancellation of large terms.
double beta_probability(double a, double b, double x, double rest, double front);

}  // namespace unfold
