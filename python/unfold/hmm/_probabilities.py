"""Probabilities: logarithms, normalization, checks."""

from __future__ import annotations

from typing import Any

import numpy

from ..errors import UsageError
from ._observations import Floats


class CollapsedError(UsageError):
    """A covariance is not positive definite, or the log-likelihood is not finite, for one initialization."""


def log_of(x: Any) -> Floats:
    with numpy.errstate(divide="ignore"):
        return numpy.asarray(numpy.log(numpy.asarray(x, dtype=float)))


def normalized(x: Floats) -> Floats:
    """Return rows that sum to 1; rows of zeros stay as they are."""
    total = x.sum(axis=-1, keepdims=True)
    return numpy.asarray(x / numpy.where(total == 0, 1, total))


def require_sums_of_one(x: Floats, name: str) -> None:
    if (x < 0).any() or not numpy.allclose(x.sum(axis=-1), 1):
        raise UsageError(f"{name} must contain probabilities that sum to 1, not {x.sum(axis=-1)}")
