"""Prediction intervals of a stream of forecasts, whose widths follow the observed coverage.

Adaptive conformal inference (Gibbs & Candès, "Adaptive conformal inference under distribution shift", 2021), separately
for each horizon and column. The score of an observed value is its distance from the mean forecast, divided by the
distance of the model's 80 % limit on the same side. The interval of probability c multiplies both distances with the
(1 - a)-quantile of the recent scores. The level a starts at 1 - c; after each observed value, ``RATE * (1 - c - missed)``
is added to it, where ``missed`` is 1 if the value was outside its interval and 0 otherwise.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Optional

import numpy
from numpy.typing import NDArray

from ..errors import UsageError

Floats = NDArray[numpy.float64]

#: The number of scores at a horizon from which they replace the limits of the model, and the number that is kept.
FEWEST, MOST = 20, 100
#: The step of a level.
RATE = 0.02


def require_probability(coverage: Any, remedy: str = "") -> None:
    """Raise UsageError unless the coverage is one number between 0 and 1."""
    if hasattr(coverage, "__iter__"):
        raise UsageError(f"coverage {coverage!r:.80}: must be one probability; call predict_interval once for each{remedy}")
    if not 0 < coverage < 1:
        raise UsageError(f"coverage {coverage}: must be above 0 and below 1; for 95 %, use 0.95")


@dataclass
class ModelLimits:
    """The mean forecast of a model and its 80 % limits, ``[horizon, columns]``."""

    mean: Floats
    low: Floats
    high: Floats

    def sides(self) -> tuple[Floats, Floats]:
        """Return the distances of the limits from the mean, each at least a tenth of the width of the interval."""
        least = 0.1 * (self.high - self.low)
        return numpy.maximum(self.mean - self.low, least), numpy.maximum(self.high - self.mean, least)

    def scaled(self, coverage: float, factors: Floats) -> tuple[Floats, Floats]:
        """Return limits at ``factors`` times the distances; NaN: as for a normal distribution with these limits."""
        normal = NormalDist()
        usual = 1.0 if coverage == 0.8 else normal.inv_cdf(0.5 + 0.5 * coverage) / normal.inv_cdf(0.9)
        known = numpy.where(numpy.isnan(factors), usual, factors)
        below, above = self.sides()
        exact = numpy.isnan(factors) & (usual == 1)
        return numpy.where(exact, self.low, self.mean - known * below), numpy.where(exact, self.high,
                                                                                     self.mean + known * above)


@dataclass
class _Issued:
    """An interval that was returned for the values from ``origin`` on."""

    origin: int
    coverage: float
    limits: ModelLimits
    factors: Floats
    seen: int = 0  #: the number of its values that have been compared


class AdaptiveIntervals:
    """The scores of the observed values and the levels of the intervals of one stream."""

    def __init__(self) -> None:
        self._issued: list[_Issued] = []
        self._scores: dict[int, deque[Floats]] = {}  # by horizon: [columns] for each observed value
        self._scored: dict[int, int] = {}  # by horizon: the origin of the last score
        self._levels: dict[tuple[float, int], Floats] = {}  # by coverage and horizon: [columns]

    def issue(self, origin: int, coverage: float, limits: ModelLimits,
              exact: Optional[tuple[Floats, Floats]] = None) -> tuple[Floats, Floats]:
        """Return the intervals for the values from ``origin`` on, and remember them until the values are observed.

        ``exact``: the limits for this coverage, which are returned where there are not enough scores.
        """
        horizon, columns = limits.mean.shape
        factors = numpy.array([self._factors(coverage, h, columns) for h in range(horizon)])
        self._issued = [one for one in self._issued if (one.origin, one.coverage) != (origin, coverage)]
        self._issued.append(_Issued(origin, coverage, limits, factors))
        low, high = limits.scaled(coverage, factors)
        if exact is None:
            return low, high
        usual = numpy.isnan(factors)
        return numpy.where(usual, exact[0], low), numpy.where(usual, exact[1], high)

    def observe(self, series: Floats) -> None:
        """Compare the intervals with the values of the series, ``[T, columns]``, that have been observed since."""
        for one in self._issued:
            known = min(len(one.limits.mean), len(series) - one.origin)
            for h in range(one.seen, known):
                self._compare(one, h, series[one.origin + h])
            one.seen = max(one.seen, known)
        self._issued = [one for one in self._issued if one.seen < len(one.limits.mean)]

    def forget_issued(self) -> None:
        """Forget the intervals whose values have not been observed."""
        self._issued = []

    def _factors(self, coverage: float, h: int, columns: int) -> Floats:
        scores = self._scores.get(h, ())
        if len(scores) < FEWEST:
            return numpy.full(columns, math.nan)
        levels = self._levels.setdefault((coverage, h), numpy.full(columns, 1 - coverage))
        ordered = numpy.sort(numpy.array(scores), axis=0)
        places = numpy.ceil((len(ordered) + 1) * (1 - levels) - 1e-9).astype(int).clip(1, len(ordered))
        factors: Floats = ordered[places - 1, numpy.arange(columns)]
        return factors

    def _compare(self, one: _Issued, h: int, value: Floats) -> None:
        below, above = (side[h] for side in one.limits.sides())
        error = value - one.limits.mean[h]
        side = numpy.where(error < 0, below, above)
        if not (side > 0).all() or not numpy.isfinite(error).all():
            return  # there is no uncertainty that could be scaled, or no value
        score = numpy.abs(error) / side
        if self._scored.get(h, -1) < one.origin:
            self._scores.setdefault(h, deque(maxlen=MOST)).append(score)
            self._scored[h] = one.origin
        if not numpy.isnan(one.factors[h]).any():
            levels = self._levels[one.coverage, h]
            missed = score > one.factors[h]
            self._levels[one.coverage, h] = numpy.clip(levels + RATE * (1 - one.coverage - missed), 0, 1)
