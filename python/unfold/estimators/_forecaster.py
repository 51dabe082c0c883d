"""Forecasts of one or several series by the methods that a backtest selects."""

from __future__ import annotations

import copy
import operator
import re
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

import numpy
from numpy.typing import NDArray

from .. import _core, _data
from .._base import Parameters
from .._public import set_module
from ..errors import DataError, UsageError
from ._adaptive_intervals import AdaptiveIntervals, ModelLimits, require_probability
from ._covariate_coding import CovariateCoding
from ._series_panel import OneSeries, Panel
from ._time_index import refuse_dates_as_text

Floats = NDArray[numpy.float64]
Steps = Union[None, int, Iterable[int]]

#: The coverages that are computed with every forecast.
_USUAL = (0.5, 0.8, 0.9, 0.95)


@set_module("unfold.estimators")
class Forecaster(Parameters):
    """Forecast one or several series, as ``unfold forecast`` does.

    Exponential smoothing, ARIMA, theta, seasonal and other methods, and a recurrent network if there are enough values,
    are compared in a backtest. The best are fitted to all values and combined, and the intervals are calibrated on the
    errors of the backtest. This happens when a forecast is requested, because it depends on the horizon.

    Parameters
    ----------
    members
        The methods to compare, such as ``["ets", "theta"]``; None: all that the number of values allows.
    season
        The seasonal period in steps; None: found in the values and, for dates, in the calendar.
    origins
        The number of backtests; None: chosen from the length of the series.
    minutes
        An approximate limit on the time; None: a limit on the number of operations.
    threads
        The number of threads; 0: all processors. It does not affect the results.
    verbose
        Whether to print notes, such as replaced outliers, to standard error.

    Attributes
    ----------
    notes_
        The notes of the last forecast.

    Examples
    --------
    >>> month = numpy.arange(120)
    >>> sales = 100 + month + 20 * numpy.sin(month * numpy.pi / 6)
    >>> forecaster = Forecaster(threads=1).fit(sales)
    >>> forecaster.predict(3).round().tolist()
    [220.0, 231.0, 239.0]
    >>> low, high = forecaster.predict_interval(3, coverage=0.95)
    >>> low.shape
    (3,)
    """

    notes_: list[str]

    def __init__(self, members: Sequence[str] | None = None, *, season: int | None = None,
                 origins: int | None = None, minutes: float | None = None, threads: int = 0,
                 verbose: bool = False) -> None:
        self.members, self.season, self.origins, self.minutes = members, season, origins, minutes
        self.threads, self.verbose = threads, verbose

    _panel: Panel
    _known: list[Floats] | None  # covariates [T, k] of each series
    _columns: list[Any] | None  # names of the covariates
    _coding: CovariateCoding | None  # of the covariates that are texts
    _horizon: Steps
    _intervals: list[AdaptiveIntervals]
    _last: tuple[Any, Any] | None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_panel")

    def fit(self, y: Any, X: Any = None, fh: Steps = None) -> Forecaster:
        """Read the series.

        Parameters
        ----------
        y
            One series: numbers ``[T]`` or a pandas Series. Several: numbers ``[T, n]`` or a pandas DataFrame (one series
            in each column), a list of series of any lengths, a dictionary, or a pandas Series with several index levels,
            the last of which is the time. Missing values are NaN. Times that are missing from a regular pandas index
            are missing values, and the calendar helps to find seasons.
        X
            Covariates that are also known for the time of the forecast, such as prices and holidays: numbers ``[T, k]``
            for the series, or for all columns of a table; a list or a dictionary of such tables for a list or a
            dictionary of series; a table with the index of y if that has several levels. Columns may also contain truth
            values, or texts such as the kind of a day, which are read as indicators of their categories. If ``members``
            are given, only those with the suffix ``+known`` use them.
        fh
            The default of ``fh`` in ``predict``.
        """
        if isinstance(self.members, str):
            names = re.split(r",\s*(?=[a-z])", self.members)  # not the commas of ets:A,Ad,N
            raise UsageError(f"members must be a list of names, {names!r}; to train a network such as gru:32 that "
                             "predicts the next value, use NetworkForecaster")
        panel = Panel.of(y)
        columns = None if X is None else _column_names(X)
        coding = None if X is None else CovariateCoding(X)
        known = None if coding is None else _covariates(panel, coding.coded(X), y)
        if fh is not None:
            _steps(fh)
        if X is not None and self.members and not any(name.endswith("+known") for name in self.members):
            warnings.warn(f"X is not used, because none of the members {list(self.members)} reads covariates; add the "
                          f"suffix +known, such as {self.members[0] + '+known'!r}, or leave out members", UserWarning, 2)
        self._panel, self._known, self._horizon, self._last = panel, known, fh, None
        self._columns, self._coding = columns, coding
        self._intervals = [AdaptiveIntervals() for _ in panel.series]
        return self

    def update(self, y: Any, X: Any = None) -> Forecaster:
        """Append the next values of the series.

        Intervals that ``predict_interval`` returned for these values are compared with them. After 20 values for a
        horizon, the intervals follow the observed coverage (adaptive conformal inference; Gibbs & Candès 2021).

        Parameters
        ----------
        y, X
            As for ``fit``; series that have no new values may be left out. Numbers without an index continue the times
            of the series.
        """
        self._require_fitted()
        added = Panel.of(y)
        panel = self._panel.extended(added)
        if (X is None) != (self._known is None):
            raise UsageError("update: X must be given if, and only if, it was given to fit")
        known = self._known
        if X is not None and self._known is not None:
            if len(added.series) != len(self._panel.series):
                raise DataError("update: with X, every series needs new values")
            later = _covariates(added, self._numbers(X), y)
            known = [numpy.concatenate([a, b]) for a, b in zip(self._known, later)]
            for one, table in zip(panel.series, known):
                if len(one.values) != len(table):
                    raise DataError("update: with X, the new values must follow the series without a gap")
        intervals = copy.deepcopy(self._intervals)
        for one, adaptive in zip(panel.series, intervals):
            adaptive.observe(one.values[:, None])
        self._panel, self._known, self._intervals, self._last = panel, known, intervals, None
        return self

    def predict(self, fh: Steps = None, X: Any = None) -> Any:
        """Return the forecast.

        Parameters
        ----------
        fh
            The forecasting horizon: the number of steps, or the steps themselves, such as ``[1, 2, 12]``; None: that of
            ``fit``.
        X
            The covariates at all steps up to the last one, if there were covariates in ``fit``.

        Returns
        -------
            In the form of y: numbers ``[steps]`` for one series, ``[steps, n]`` for a table, ``[series, steps]`` for a
            list, a dictionary, or a pandas object with the next times.
        """
        steps = self._steps_of(fh)
        mean, _ = self._forecast(int(steps.max()), X, 0.8)
        return self._panel.in_form(mean[:, steps - 1], steps)

    def predict_interval(self, fh: Steps = None, X: Any = None, coverage: float = 0.8) -> tuple[Any, Any]:
        """Return the lower and the upper limits of intervals that contain each value with probability ``coverage``.

        Parameters
        ----------
        fh, X
            As for ``predict``.
        coverage
            The probability, between 0 and 1.
        """
        steps = self._steps_of(fh)
        low, high = self._limits(int(steps.max()), X, coverage)
        return self._panel.in_form(low[:, steps - 1], steps), self._panel.in_form(high[:, steps - 1], steps)

    def predict_quantiles(self, fh: Steps = None, X: Any = None,
                          alpha: Sequence[float] = (0.1, 0.5, 0.9)) -> dict[float, Any]:
        """Return, for each probability of ``alpha``, the values that are exceeded with probability 1 - alpha.

        The quantile 0.5 is the forecast itself. The others are limits of central intervals.
        """
        steps = self._steps_of(fh)
        found = {}
        for a in alpha:
            if not 0 < a < 1:
                raise UsageError(f"alpha {a}: must be above 0 and below 1")
            if a == 0.5:
                numbers, _ = self._forecast(int(steps.max()), X, 0.8)
            else:
                numbers = self._limits(int(steps.max()), X, round(abs(1 - 2 * a), 12))[int(a > 0.5)]
            found[a] = self._panel.in_form(numbers[:, steps - 1], steps)
        return found

    def backtest(self, fh: Steps = None, X: Any = None) -> Any:
        """Return the errors of the methods in the backtest.

        Returns
        -------
            For one series, a dictionary with "mase" (the error of the combination: the mean absolute error, divided by
            that of repeating the previous season), "season", "origins", "outliers", "diagnostics" and "members": a list of dictionaries with "name",
            "mase", "weight", "form" and "note". For several series, a list or dictionary of these.
        """
        _, report = self._forecast(int(self._steps_of(fh).max()), X, 0.8)
        kept = ("mase", "season", "origins", "note", "outliers", "diagnostics", "members")
        return self._panel.each(lambda i: {name: report["series"][i][name] for name in kept
                                           if name in report["series"][i]})

    def plot(self, fh: Steps = None, X: Any = None, coverage: Sequence[float] = (0.8, 0.95), ax: Any = None) -> Any:
        """Plot the end of each series with its forecast and intervals. Requires matplotlib.

        Returns
        -------
        matplotlib.axes.Axes
            The axes; for several series, an array of them.
        """
        try:
            import matplotlib.pyplot
        except ImportError:
            raise ImportError("plot requires matplotlib: pip install matplotlib") from None
        steps = self._steps_of(fh)
        shown = self._panel.series[:12]
        if ax is None:
            ax = matplotlib.pyplot.subplots(len(shown), squeeze=False, figsize=(7, 2.6 * len(shown)),
                                            constrained_layout=True)[1][:, 0]
        axes = numpy.atleast_1d(ax)
        horizon = int(steps.max())
        mean, _ = self._forecast(horizon, X, 0.8)
        bands = [self._limits(horizon, X, c) for c in sorted(coverage, reverse=True)]
        for i, (one, place) in enumerate(zip(shown, axes)):
            _draw(place, one, mean[i], [(low[i], high[i]) for low, high in bands])
        return axes if len(shown) > 1 else axes[0]

    def _steps_of(self, fh: Steps) -> NDArray[numpy.int64]:
        self._require_fitted()
        fh = self._horizon if fh is None else fh
        if fh is None:
            raise UsageError("predict: fh is missing; give the number of steps, such as predict(12), or fh in fit")
        return _steps(fh)

    def _limits(self, horizon: int, X: Any, coverage: float) -> tuple[Floats, Floats]:
        """Return the lower and upper limits of all series, ``[series, horizon]``, adapted to the values of ``update``."""
        require_probability(coverage, ", or use predict_quantiles, which accepts several")
        mean, _ = self._forecast(horizon, X, coverage)
        usual, exact = self._interval(0.8), self._interval(coverage)
        low, high = numpy.empty_like(mean), numpy.empty_like(mean)
        for i, (one, adaptive) in enumerate(zip(self._panel.series, self._intervals)):
            limits = ModelLimits(mean[i][:, None], usual[0][i][:, None], usual[1][i][:, None])
            found = adaptive.issue(len(one.values), float(coverage), limits,
                                   (exact[0][i][:, None], exact[1][i][:, None]))
            low[i], high[i] = found[0][:, 0], found[1][:, 0]
            if not numpy.nanmin(one.values) < 0:
                low[i] = numpy.maximum(low[i], 0)
        return low, high

    def _numbers(self, X: Any) -> Any:
        """Return covariates as numbers, with the columns in the order that they had in ``fit``."""
        X = _in_columns(X, self._columns)
        return X if self._coding is None else self._coding.coded(X)

    def _interval(self, coverage: float) -> tuple[Floats, Floats]:
        assert self._last is not None
        return self._last[1][2][coverage]  # type: ignore[no-any-return]

    def _forecast(self, horizon: int, X: Any, coverage: float) -> tuple[Floats, dict[str, Any]]:
        """Return the means ``[series, horizon]`` and the report. The last result is kept."""
        known = self._future(horizon, X)
        key = (horizon, None if known is None else [table.tobytes() for table in known])
        wanted = tuple(sorted({*_USUAL, coverage}))
        if self._last is None or self._last[0] != key or coverage not in self._last[1][2]:
            self._last = (key, self._computed(horizon, known, wanted))
        return self._last[1][0], self._last[1][1]

    def _computed(self, horizon: int, known: list[Floats] | None, coverage: tuple[float, ...]) -> Any:
        notes: list[str] = []

        def note(text: str) -> None:
            notes.append(text)
            if self.verbose:
                print(text, file=sys.stderr)

        absent = sum(one.absent for one in self._panel.series)
        if absent > 0:
            note(f"{absent} of the {sum(len(one.values) for one in self._panel.series)} times of the index do not occur; "
                 "they are read as missing values")

        series = [(str(one.name), one.values, one.times(), None if known is None else known[i])
                  for i, one in enumerate(self._panel.series)]
        mean, low, high, report = _core.forecast(
            series, horizon=horizon, coverage=list(coverage), members=list(self.members or []),
            origins=_natural(self.origins, "origins"), season=_natural(self.season, "season"),
            minutes=None if self.minutes is None else float(self.minutes), threads=_natural(self.threads, "threads"),
            callback=lambda event: note(event["text"]) if event["event"] in ("remark", "warning") else None)
        self.notes_ = notes
        return mean, report, {c: (low[k], high[k]) for k, c in enumerate(coverage)}

    def _future(self, horizon: int, X: Any) -> list[Floats] | None:
        """Return the covariates ``[k, T + horizon]`` of each series."""
        if self._known is None:
            if X is not None:
                raise UsageError("predict: X has covariates, but fit had none; give their earlier values to fit")
            return None
        if X is None:
            raise UsageError("predict: X is missing; it needs the covariates of the steps to forecast")
        steps = numpy.arange(1, horizon + 1)
        future = _tables(self._panel, self._numbers(X), [one.future(steps) for one in self._panel.series])
        joined = []
        for one, earlier, later in zip(self._panel.series, self._known, future):
            if len(later) < horizon or later.shape[1] != earlier.shape[1]:
                raise DataError(f"predict: X must have {horizon} rows and {earlier.shape[1]} columns, not "
                                f"{len(later)} and {later.shape[1]}")
            joined.append(numpy.ascontiguousarray(numpy.concatenate([earlier, later[:horizon]]).T))
        return joined


def _steps(fh: Any) -> NDArray[numpy.int64]:
    """Return the steps of a forecasting horizon."""
    if hasattr(fh, "__iter__"):
        steps = numpy.asarray(list(fh))
        if steps.ndim != 1 or steps.dtype.kind not in "iu" or len(steps) == 0 or steps.min() < 1:
            raise UsageError(f"fh {fh!r:.80}: must be the number of steps, or a list of steps from 1 on")
        return steps.astype(numpy.int64)
    count = operator.index(fh)
    if count < 1:
        raise UsageError(f"fh {count}: must be at least 1")
    return numpy.arange(1, count + 1)


def _natural(value: int | None, name: str) -> int:
    number = operator.index(value or 0)
    if number < 0:
        raise UsageError(f"{name} {number}: must not be negative")
    return number


def _column_names(X: Any) -> list[Any] | None:
    """Return the names of the covariates; None if X has none."""
    if isinstance(X, (Mapping, list, tuple)) and len(X) > 0:
        X = next(iter(X.values())) if isinstance(X, Mapping) else X[0]
    columns = getattr(X, "columns", None)
    return None if columns is None else list(columns)


def _in_columns(X: Any, names: list[Any] | None) -> Any:
    """Return X with the columns in the order that they had in `fit`."""
    if isinstance(X, Mapping):
        return {name: _in_columns(one, names) for name, one in X.items()}
    if isinstance(X, (list, tuple)):
        return [_in_columns(one, names) for one in X]
    columns = getattr(X, "columns", None)
    if names is None or columns is None or list(columns) == names:
        return X
    for name in names:
        if name not in columns:
            raise DataError(f"X has no column {name!r}, which it had in fit; its columns are {list(columns)}")
    for name in columns:
        if name not in names:
            raise DataError(f"X has a column {name!r}, which it did not have in fit; leave it out")
    return X[names]


def _covariates(panel: Panel, X: Any, y: Any) -> list[Floats]:
    """Return the covariates ``[T, k]`` of each series; missing times have no covariates, which is an error."""
    tables = _tables(panel, X, [one.index for one in panel.series], getattr(y, "index", None))
    for one, table in zip(panel.series, tables):
        if len(table) != len(one.values):
            raise DataError(f"X has {len(table)} rows, but the series has {len(one.values)} steps; X needs a row for every "
                            "step, also for missing ones")
    return tables


def _tables(panel: Panel, X: Any, indexes: list[Any], given: Any = None) -> list[Floats]:
    if panel.form == "list":
        if len(X) != len(panel.series):
            raise DataError(f"X must be a list of {len(panel.series)} tables, one for each series")
        return [_table(one, None) for one in X]
    if panel.form == "mapping" and isinstance(X, Mapping):
        return [_table(X[one.name], None) for one in panel.series]
    if panel.form in ("groups", "mapping") and getattr(getattr(X, "index", None), "nlevels", 1) == 1:
        return [_table(X, index) for index in indexes]  # a calendar for all series
    if panel.form == "groups":
        levels = list(range(X.index.nlevels - 1))
        by_name = {name: table.droplevel(levels)
                   for name, table in X.groupby(level=levels if len(levels) > 1 else levels[0], sort=False)}
        return [_table(by_name[one.name], index) for one, index in zip(panel.series, indexes)]
    shared = _table(X, indexes[0], given)
    return [shared] * len(panel.series)


def _table(X: Any, index: Any, given: Any = None) -> Floats:
    """Return numbers ``[T, k]`` in the order of an index, if X has an index of the same kind."""
    own = getattr(X, "index", None)
    if type(index).__name__ == "DatetimeIndex":
        refuse_dates_as_text(own, "X")
    if index is not None and own is not None and not callable(own) and type(own) is type(index) and own.is_unique:
        missing = index.difference(own)
        if len(missing):
            raise DataError(f"X has no row for {missing[0]}")
        X = X.reindex(index)
    elif given is not None and index is not None and len(given) == len(index) and not given.equals(index):
        X = numpy.asarray(X)[given.argsort()]
    table = _data.as_numbers(X, "X").astype(float)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or not numpy.isfinite(table).all():
        raise DataError("X must have shape [T, k] and finite numbers or texts")
    return table


def _draw(ax: Any, one: OneSeries, mean: Floats, bands: list[tuple[Floats, Floats]]) -> None:
    """Draw the last values of a series, the forecast and the intervals, the widest first."""
    horizon = len(mean)
    begin = max(0, len(one.values) - max(4 * horizon, 40))
    steps = numpy.arange(1, horizon + 1)
    past: Any = numpy.arange(begin, len(one.values))
    future: Any = numpy.arange(len(one.values), len(one.values) + horizon)
    if one.index is not None and one.step is not None:
        past, future = one.index[begin:], one.future(steps)
        if hasattr(past, "to_timestamp"):
            past, future = past.to_timestamp(), future.to_timestamp()
    ax.plot(past, one.values[begin:], color="#444444", linewidth=1.2)
    for k, (low, high) in enumerate(bands):
        ax.fill_between(future, low, high, color="#1f77b4", alpha=0.18 + 0.12 * k, linewidth=0)
    ax.plot(future, mean, color="#1f77b4", linewidth=1.6)
    ax.set_title(str(one.name), loc="left", fontsize=10)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
