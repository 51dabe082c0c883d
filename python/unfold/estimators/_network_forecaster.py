"""Forecasts of a series by a network that predicts the next value."""

from __future__ import annotations

import copy
import operator
from collections.abc import Mapping
from typing import Any, Optional

import numpy
from numpy.typing import NDArray

from .. import _data
from .._base import BaseEstimator, Callback, RandomState, seed_of
from .._public import set_module
from ..errors import DataError, UsageError
from ._adaptive_intervals import AdaptiveIntervals, ModelLimits, require_probability
from ._time_index import in_order_of_time

Floats = NDArray[numpy.float64]


@set_module("unfold.estimators")
class NetworkForecaster(BaseEstimator):
    """Forecast the next values of a series with one trained model, which predicts the next value from earlier ones.

    ``Forecaster`` compares methods and is more accurate for most series. This class trains the given network, continues
    its training with ``partial_fit``, and forecasts beyond the next value with sampled continuations.

    The values have no weights: the series is a single example, whose values depend on each other. They must be finite:
    fill in missing values first.

    The rows of a pandas series or table with a time index are sorted by time, with a warning if they were not. Values are
    read as equally spaced; a warning states the largest gap of an irregular index. Other indexes are ignored.

    Attributes
    ----------
    series_
        The series that the model was fitted to, followed by the values of ``update`` and ``partial_fit``.

    Examples
    --------
    >>> wave = numpy.sin(numpy.arange(200) / 3)
    >>> fitted = NetworkForecaster("gru:4", steps=20).fit(wave)
    >>> fitted.predict(5, samples=10).shape
    (5,)
    """

    def __init__(self, model: str | None = "lstm:32", *, optimizer: str | None = None, steps: int | None = None,
                 epochs: float | None = None, minutes: float | None = None, random_state: RandomState = None,
                 threads: int = 0, options: Mapping[str, Any] | None = None, verbose: bool = False,
                 callback: Callback | None = None, warm_start: bool = False) -> None:
        super().__init__(model, optimizer=optimizer, steps=steps, epochs=epochs, minutes=minutes,
                         random_state=random_state, threads=threads, options=options, verbose=verbose,
                         callback=callback, warm_start=warm_start)

    series_: Floats
    _intervals: AdaptiveIntervals

    def fit(self, y: Any) -> NetworkForecaster:
        """Train on the whole series, without validation; the final model is kept.

        Parameters
        ----------
        y
            Numbers ``[T]`` or ``[T, n]``.
        """
        series = self._series(y)
        fitted = self._trained(self._data(series), **self._NEXT, split="100/0/0")
        return self._set({**fitted, "series_": series, "_intervals": AdaptiveIntervals()})

    _NEXT = {"read": "value", "predict": "value", "ahead": 1}

    def partial_fit(self, y: Any) -> NetworkForecaster:
        """Train for one pass over the next values of the series, which are appended to it.

        The model continues from its parameters and keeps its scales. The default optimizer is Adam with a constant
        learning rate.

        Parameters
        ----------
        y
            Numbers ``[T]`` or ``[T, n]``, which follow those of earlier calls.
        """
        series = self._series(y)
        earlier: Optional[Floats] = getattr(self, "series_", None)
        if earlier is not None:
            self._require_width(series, "partial_fit")
            series = series.reshape(len(series), *earlier.shape[1:])
        fitted = self._trained_further(self._data(series), **self._NEXT)
        intervals: AdaptiveIntervals = getattr(self, "_intervals", None) or AdaptiveIntervals()
        intervals.forget_issued()
        return self._set({**fitted, "series_": series if earlier is None else numpy.concatenate([earlier, series]),
                          "_intervals": intervals})

    def update(self, y: Any, train: bool = False) -> NetworkForecaster:
        """Append the next values of the series, and adapt the intervals to them.

        The values are compared with the intervals that ``predict_interval`` returned for them. If too many values are
        outside, the next intervals are wider; if too few are, they are narrower (adaptive conformal inference; Gibbs &
        Candès 2021). Each horizon, column and coverage is adapted separately, from the 20th value that is compared.
        Values for which no interval was requested do not affect the intervals.

        Parameters
        ----------
        y
            Numbers ``[T]`` or ``[T, n]``, at least one, which follow those of earlier calls.
        train
            Also train for one pass over these values, as ``partial_fit`` does. This needs at least two values.

        Examples
        --------
        >>> wave = numpy.sin(numpy.arange(300) / 3)
        >>> fitted = NetworkForecaster("gru:4", steps=20).fit(wave[:200])
        >>> for t in range(200, 230):
        ...     low, high = fitted.predict_interval(1, samples=10)
        ...     fitted = fitted.update(wave[t:t + 1])
        >>> len(fitted.series_)
        230
        """
        self._require_fitted()
        added = self._series(y, least=1)
        self._require_width(added, "update")
        series = numpy.concatenate([self.series_, added.reshape(len(added), *self.series_.shape[1:])])
        intervals = copy.deepcopy(self._intervals)
        intervals.observe(series.reshape(len(series), -1))
        if train:
            self.partial_fit(y)
        self.series_, self._intervals = series, intervals
        return self

    def predict(self, horizon: int, y: Any = None, samples: int = 200) -> Floats:
        """Return the mean forecast of the next ``horizon`` values after the series ``y``.

        Parameters
        ----------
        horizon
            The number of values.
        y
            The series to continue; None: the series passed to fit.
        samples
            The number of sampled continuations. All values after the next one are means over these samples.
        """
        return self._part(self._ahead(horizon, y, samples), "mean")

    def predict_interval(self, horizon: int, y: Any = None, samples: int = 200,
                         coverage: float = 0.8) -> tuple[Floats, Floats]:
        """Return the lower and the upper limits of intervals that contain each value with probability ``coverage``.

        For 0.8, they are the 10th and the 90th percentile of the forecast. For other probabilities, the distances from
        the mean are multiplied as for a normal distribution. After at least 20 values of ``update`` for a horizon, the
        intervals follow the observed coverage instead. For this purpose, the estimator remembers the intervals until
        their values have been observed, unless ``y`` is given.

        Parameters
        ----------
        horizon, y, samples
            As for ``predict``.
        coverage
            The probability, between 0 and 1.
        """
        require_probability(coverage)
        found = self._ahead(horizon, y, samples)
        mean, low, high = (self._part(found, what) for what in ("mean", "q10", "q90"))
        limits = ModelLimits(*(part.reshape(len(mean), -1) for part in (mean, low, high)))
        if y is None:
            below, above = self._intervals.issue(len(self.series_), float(coverage), limits)
        else:
            below, above = limits.scaled(float(coverage), numpy.full(limits.mean.shape, numpy.nan))
        return below.reshape(mean.shape), above.reshape(mean.shape)

    def _ahead(self, horizon: int, y: Any, samples: int) -> dict[str, Any]:
        self._require_fitted()
        horizon = operator.index(horizon)
        if horizon < 1:
            raise UsageError(f"horizon {horizon}: must be at least 1")
        series = self.series_ if y is None else self._series(y)
        self._require_width(series, "predict")
        found: dict[str, Any] = self.model_.predict(self._data(series), ahead=horizon, samples=samples,
                                                    seed=seed_of(self.random_state), threads=self.threads or 0)[0]
        return found

    def _require_width(self, series: Floats, who: str) -> None:
        """Require as many columns as in fit."""
        width, fitted = (numpy.prod(shape, dtype=int) for shape in (series.shape[1:], self.series_.shape[1:]))
        if width != fitted:
            raise DataError(f"{who}: y has {width} {'column' if width == 1 else 'columns'}, but the fitted series has "
                            f"{fitted}")

    @staticmethod
    def _part(found: dict[str, Any], what: str) -> Floats:
        if f"value.{what}" in found:
            return numpy.array(found[f"value.{what}"])
        columns: list[Any] = []
        while f"value.{what}.{len(columns) + 1}" in found:
            columns.append(found[f"value.{what}.{len(columns) + 1}"])
        return numpy.array(columns).T

    @staticmethod
    def _series(y: Any, least: int = 2) -> Floats:
        series = _data.as_numbers(in_order_of_time(y, stacklevel=4), "a series").astype(float)
        if series.ndim not in (1, 2) or len(series) < least:
            raise UsageError(f"a series must have shape [T] or [T x n] with T >= {least}, not {series.shape}")
        if not numpy.isfinite(series).all():
            holes = ~numpy.isfinite(series.reshape(len(series), -1)).all(axis=1)
            raise UsageError(f"the series contains {int(holes.sum())} values that are not finite, the first at position "
                             f"{int(holes.argmax())}; fill in missing values first, for example with "
                             "pandas.Series(y).interpolate(), or start after them")
        return series

    @staticmethod
    def _data(series: Floats) -> _data.Description:
        return _data.fields([("value", False, series)], [len(series)])
