#pragma once
/// The pinball loss of several quantiles of real numbers (Koenker and Bassett 1978), for direct forecasts.
///
///     const auto loss = quantile_loss<float>({0.1, 0.5, 0.9});
///
/// The signal of a row with n values has n numbers for each level, level by level. nats = 2 sum over values and levels
/// p of p (y - q) if y >= q, else (1 - p)(q - y); for the median alone, this is the absolute error. It is the negative
/// log-likelihood of asymmetric Laplace distributions with a fixed scale, without the constant. Target components that
/// are NaN are not predicted.

#include <memory>
#include <vector>

#include "unfold/loss/loss.h"

namespace unfold {

/// Throws UsageError for no level or for a level outside (0, 1).
template <class T>
std::unique_ptr<Loss<T>> quantile_loss(const std::vector<double>& levels);

}  // namespace unfold
