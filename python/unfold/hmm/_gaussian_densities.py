"""Gaussian densities and moments of rows of numbers, some of which are missing (NaN)."""

from __future__ import annotations

import math
from typing import Any

import numpy
from numpy.typing import NDArray

from ..errors import DataError, UsageError
from ._observations import Floats, Weights
from ._probabilities import CollapsedError

_COVARIANCE_TYPES = ("spherical", "diag", "full", "tied")


def require_covariance_type(kind: str) -> None:
    if kind not in _COVARIANCE_TYPES:
        raise UsageError(f"covariance_type must be one of {', '.join(_COVARIANCE_TYPES)}, not {kind!r}")


def weighted_mean(X: Floats, weights: Weights) -> Floats:
    return numpy.asarray(X.mean(axis=0) if weights is None else numpy.average(X, axis=0, weights=weights))


def covariance_of(X: Floats, weights: Weights) -> Floats:
    """Return the covariance of rows; those of an integer weight count as often."""
    if weights is None:
        return numpy.atleast_2d(numpy.cov(X.T))
    centered, total = X - weighted_mean(X, weights), weights.sum()
    scatter = numpy.einsum("t,ti,tj->ij", weights, centered, centered)
    return numpy.asarray(scatter / (total - 1 if total >= 2 else total))


def log_gaussians(X: Floats, means: Floats, covars: Floats) -> Floats:
    """Return log-densities [positions, K]; covariances [K, n, n] or variances [K, n]. NaN is integrated out."""
    holes = numpy.isnan(X)
    if not holes.any():
        return _log_complete(X, means, covars)
    result = numpy.zeros((len(X), len(means)))
    for pattern, rows in patterns_of(holes):
        known = ~pattern
        if known.any():
            inner = covars[:, known] if covars.ndim == 2 else covars[:, known][:, :, known]
            result[rows] = _log_complete(X[rows][:, known], means[:, known], inner)
    return result


def patterns_of(holes: NDArray[numpy.bool_]) -> list[tuple[NDArray[numpy.bool_], NDArray[Any]]]:
    """Return the distinct patterns of missing values and the rows of each pattern."""
    patterns, which = numpy.unique(holes, axis=0, return_inverse=True)
    return [(pattern, numpy.flatnonzero(which.ravel() == i)) for i, pattern in enumerate(patterns)]


def _log_complete(X: Floats, means: Floats, covars: Floats) -> Floats:
    n = X.shape[1]
    result = numpy.empty((len(X), len(means)))
    for k, mean in enumerate(means):
        difference = X - mean
        if covars.ndim == 2:
            squares, log_det = (difference**2 / covars[k]).sum(axis=1), numpy.log(covars[k]).sum()
        else:
            try:
                factor = numpy.linalg.cholesky(covars[k])
            except numpy.linalg.LinAlgError:
                raise CollapsedError(f"the covariance of state {k} must be symmetric and positive definite") from None
            squares = (numpy.linalg.solve(factor, difference.T) ** 2).sum(axis=0)
            log_det = 2 * numpy.log(numpy.diag(factor)).sum()
        result[:, k] = -0.5 * (n * math.log(2 * math.pi) + log_det + squares)
    return result


def filled_by_expectations(X: Floats, pattern: NDArray[numpy.bool_], mean: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Return rows with missing values replaced by their conditional means, and their conditional covariance."""
    rest = numpy.zeros_like(spread)
    if not pattern.any():
        return X, rest
    filled, known = X.copy(), ~pattern
    if spread.ndim == 1:
        filled[:, pattern] = mean[pattern]
        rest[pattern] = spread[pattern]
        return filled, rest
    inner = spread[numpy.ix_(pattern, pattern)].copy()
    expected = numpy.broadcast_to(mean[pattern], (len(X), int(pattern.sum())))
    if known.any():
        gain = numpy.linalg.solve(spread[numpy.ix_(known, known)], spread[numpy.ix_(known, pattern)])
        expected = expected + numpy.einsum("ti,ij->tj", X[:, known] - mean[known], gain)
        inner -= spread[numpy.ix_(pattern, known)] @ gain
    filled[:, pattern] = expected
    rest[numpy.ix_(pattern, pattern)] = inner
    return filled, rest


def filled_by_means(X: Floats, weights: Weights = None) -> Floats:
    """Return rows with missing values replaced by the means of the columns."""
    holes = numpy.isnan(X)
    if not holes.any():
        return X
    counts = (~holes).sum(axis=0) if weights is None else weights @ ~holes
    if not counts.all():
        raise DataError(f"fit: column {int(counts.argmin())} of X contains only NaN (missing values); leave out "
                        "this column")
    sums = numpy.nansum(X if weights is None else weights[:, None] * X, axis=0)
    return numpy.where(holes, sums / counts, X)
