#pragma once
/// ARMA processes w_t = sum_k a_k w_{t-k} + e_t + sum_k b_k e_{t-k}, e_t ~ N(0, sigma^2), and their exact Gaussian
/// likelihood by a Kalman filter started from the stationary distribution.
///
/// The state is Harvey's: r = max(p, q + 1) numbers, the first of which is w_t. Coefficients are stored as a[0] = a_1,
/// padded with zeros to r; b[0] = b_1 likewise.

#include <span>
#include <vector>

#include "model/forecast/lanes.h"
#include "unfold/base/types.h"

namespace unfold::forecasting {

/// Coefficients of kLanes processes of one order.
struct ArmaLanes {
  std::vector<Lanes> a, b;
};

/// Computes the exact likelihood of a series without missing values under kLanes processes: sum of v_t^2 / F_t, and sum
/// of log F_t, with sigma = 1. Computed by the recursions of Chandrasekhar type, which update the gain in O(r) per step
/// instead of O(r^2) (Morf, Sidhu and Kailath 1974; Pearlman 1980), until the gain is constant. A lane is infeasible
/// (infinite squares) if its process is not stationary. `means` is subtracted from the values. `predicted` and `state`,
/// if given, receive the one-step forecasts of the first lane (for the values minus the mean) and the prediction of the
/// final state of this lane.
void arma_likelihood(std::span<const double> w, const ArmaLanes& process, Lanes means, Lanes& squares, Lanes& log_sum,
                     std::vector<double>* predicted = nullptr, std::vector<double>* state = nullptr);

/// Conditional sum of squares: errors are computed from t = p on; earlier errors are 0. `lags_a` and `lags_b` list the
/// lags with coefficients. Returns the sum over t >= p.
Lanes arma_conditional_squares(std::span<const double> w, const ArmaLanes& process, std::span<const Index> lags_a,
                               std::span<const Index> lags_b, Lanes means);

/// The Kalman filter of one process. If there are missing values (NaN), it is the full filter with O(r^2) operations
/// per step.
struct ArmaFilter {
  double squares = 0, log_sum = 0;  ///< sums of v_t^2 / F_t and log F_t over the observed values, sigma = 1
  Index observed = 0;
  std::vector<double> predicted;  ///< one-step forecasts of every value
  std::vector<double> state;      ///< prediction of the state after the last value
};
/// If the process is not stationary, the squares are infinite.
ArmaFilter arma_filter(std::span<const double> w, std::span<const double> a, std::span<const double> b);

/// Returns the autocovariances 0, ..., max_lag with sigma = 1; empty if the process is not stationary.
std::vector<double> arma_autocovariances(std::span<const double> a, std::span<const double> b, Index max_lag);

/// Returns whether all roots of 1 - a_1 z - ... - a_p z^p have a modulus greater than `modulus`.
bool is_stationary(std::span<const double> a, double modulus = 1);

}  // namespace unfold::forecasting
