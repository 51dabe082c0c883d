"""Cluster centers, from which the means of Gaussians are initialized."""

from __future__ import annotations

import numpy

from ..errors import DataError
from ._gaussian_densities import weighted_mean
from ._observations import Floats, Weights


def cluster_centers(X: Floats, count: int, random: numpy.random.RandomState, weights: Weights = None) -> Floats:
    """Return cluster centers: Lloyd's algorithm from rows drawn far from each other (Arthur & Vassilvitskii 2007)."""
    if len(X) < count:
        raise DataError(f"fit: {len(X)} positions are too few for {count} states or components")
    any_row = None if weights is None else weights / weights.sum()
    centers = X[[random.randint(len(X)) if any_row is None else random.choice(len(X), p=any_row)]]
    for _ in range(count - 1):
        distances = ((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1)
        if weights is not None:
            distances *= weights
        total = distances.sum()
        next_row = random.choice(len(X), p=distances / total) if total > 0 else random.randint(len(X))
        centers = numpy.vstack([centers, X[next_row]])
    for _ in range(100):
        nearest = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        moved = numpy.array([weighted_mean(X[nearest == c], None if weights is None else weights[nearest == c])
                             if (nearest == c).any() else centers[c] for c in range(count)])
        if numpy.array_equal(moved, centers):
            break
        centers = moved
    return centers
