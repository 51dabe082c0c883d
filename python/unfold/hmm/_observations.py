"""Observations of hidden Markov models: rows of numbers, the ends of their sequences, and weights."""

from __future__ import annotations

from typing import Any, Optional

import numpy
from numpy.typing import NDArray

from .. import _data
from .._base import weights_of
from ..errors import DataError, UsageError

Floats = NDArray[numpy.float64]
Integers = NDArray[numpy.int64]
_LARGEST = 1e150
Weights = Optional[Floats]  # one number per sequence or position; None: all are 1


def vectors_of(X: Any, who: str) -> Floats:
    if isinstance(X, (list, tuple)) and X and numpy.ndim(X[0]) == 2:
        raise UsageError(f"{who}: X is a list of sequences; pass numpy.concatenate(X), and "
                         "lengths=[len(x) for x in X]")
    rows = numpy.asarray(_data.as_numbers(X, who), dtype=float)
    if rows.ndim == 1:
        raise UsageError(f"{who}: X must have shape [positions, numbers], not {rows.shape}. Expected 2D array, got 1D "
                         "array instead: use X.reshape(-1, 1) for one number per position")
    if rows.ndim != 2 or 0 in rows.shape:
        raise UsageError(f"{who}: X must have shape [positions, numbers], not {rows.shape}")
    if numpy.isinf(rows).any():
        raise DataError(f"{who}: X contains infinity; use NaN for missing values")
    if (numpy.abs(rows) > _LARGEST).any():
        raise DataError(f"{who}: X contains values beyond {_LARGEST:g}, whose squares are not finite numbers; divide X by a "
                        "constant")
    return rows


def require_features(X: Floats, expected: int, who: str) -> None:
    """Require the number of columns that the model was fitted to."""
    if X.shape[1] != expected:
        raise UsageError(f"X has {X.shape[1]} features, but {who} is expecting {expected} features as input")


def ends_of(X: Floats, lengths: Any) -> Integers:
    if lengths is None:
        return numpy.array([len(X)], dtype=numpy.int64)
    array = numpy.asarray(lengths, dtype=numpy.int64).ravel()
    if (array < 1).any():
        i = int((array < 1).argmax())
        raise UsageError(f"lengths must be at least 1, but the length of sequence {i} is {array[i]}; leave empty sequences "
                         "out")
    if array.sum() != len(X):
        raise UsageError(f"lengths must sum to the number of positions, {len(X)}, not {array.sum()}")
    return numpy.cumsum(array)


def with_weights(X: Floats, ends: Integers, sample_weight: Any) -> tuple[Floats, Integers, Weights]:
    """Return the sequences whose weight is not 0, and their weights."""
    if sample_weight is None:
        return X, ends, None
    if len(ends) < ends[-1] and numpy.shape(sample_weight) == (ends[-1],):
        raise UsageError(f"fit: sample_weight has one weight per position, but positions are not separate examples; pass "
                         f"one weight for each of the {len(ends)} sequences that lengths define")
    weights = weights_of(sample_weight, len(ends), "fit")
    lengths, kept = numpy.diff(ends, prepend=0), weights > 0
    rest: Weights = None if (weights[kept] == 1).all() else weights[kept]
    return X[numpy.repeat(kept, lengths)], numpy.cumsum(lengths[kept]), rest


def weighted_sum(values: Floats, weights: Weights) -> float:
    return float((values if weights is None else values * weights).sum())
