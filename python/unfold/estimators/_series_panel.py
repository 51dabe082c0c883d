"""One or several series in the forms that Python programs have them, and forecasts in the same form."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy
from numpy.typing import NDArray

from .. import _data
from ..errors import DataError
from ._time_index import in_order_of_time, refuse_dates_as_text, steps_of, warn_of_gaps

Floats = NDArray[numpy.float64]


@dataclass
class OneSeries:
    """A series with its pandas index, if it has one. Times that are missing from a regular step have the value NaN."""

    name: Any
    values: Floats
    index: Any = None
    rows: Any = None  #: the positions of the given rows among the values; None: all, in order
    step: Any = None  #: the frequency or difference of the index; None: no regular step
    absent: int = 0  #: the number of times that were inserted

    @classmethod
    def of(cls, name: Any, values: Floats, index: Any = None) -> OneSeries:
        """Insert the times that are missing from a regular step."""
        if index is None:
            return cls(name, values)
        complete, step = steps_of(index)
        if complete is None and hasattr(index, "inferred_freq"):
            warn_of_gaps(index, 7)
        if complete is None or len(complete) == len(index):
            return cls(name, values, index, None, step)
        rows = complete.get_indexer(index)
        filled = numpy.full(len(complete), numpy.nan)
        filled[rows] = values
        return cls(name, filled, complete, rows, step, len(complete) - len(index))

    def times(self) -> Optional[NDArray[numpy.int64]]:
        """Return the times in nanoseconds since 1970; None without dates."""
        index = self.index.to_timestamp() if hasattr(self.index, "to_timestamp") else self.index
        if type(index).__name__ != "DatetimeIndex" or self.step is None or len(index) < 2:
            return None
        if index.tz is not None and (index[1:] - index[:-1]).min().total_seconds() >= 86400:
            index = index.tz_localize(None)  # days of local time, which may have 23 or 25 hours
        times: NDArray[numpy.int64] = numpy.ascontiguousarray(index.as_unit("ns").asi8, numpy.int64)
        return times

    def future(self, steps: NDArray[numpy.int64]) -> Any:
        """Return the index of the values `steps` after the last one; None without a pandas index."""
        if self.index is None:
            return None
        import pandas

        last = self.index[-1]
        most = int(steps.max())
        if self.step is None:
            return pandas.RangeIndex(len(self.index), len(self.index) + most)[steps - 1]
        if isinstance(self.index, pandas.PeriodIndex):
            after = pandas.period_range(last, periods=most + 1, freq=self.index.freq)
        elif isinstance(self.index, pandas.DatetimeIndex):
            after = pandas.date_range(last, periods=most + 1, freq=self.step)
        else:
            after = pandas.Index([last + k * self.step for k in range(most + 1)])
        return after[1:][steps - 1].rename(self.index.name)

    def extended(self, other: OneSeries) -> OneSeries:
        """Return the series with later values appended. Values without an index continue the regular step of the series."""
        values = numpy.concatenate([self.values, other.values])
        if self.index is not None and other.index is None:
            if self.step is not None:
                later = self.future(numpy.arange(1, len(other.values) + 1))
                return OneSeries.of(self.name, values, self.index.append(later))
            warnings.warn("update: the new values have no times, and the times of the series have no regular step, so the "
                          "forecast has no times; pass the values with their times", UserWarning, 5)
        if self.index is None or other.index is None:
            return OneSeries.of(self.name, values, None)
        if len(self.index) and len(other.index) and not other.index[0] > self.index[-1]:
            raise DataError(f"the new values start at {other.index[0]}, which is not after the last value of the series, "
                            f"{self.index[-1]}")
        return OneSeries.of(self.name, values, self.index.append(other.index))


@dataclass
class Panel:
    """Several series, and the function that gives numbers for each of them the form of the original."""

    series: list[OneSeries]
    #: "vector", "table", "list", "mapping", "series", "frame", "groups"
    form: str
    names: Any = None
    index_names: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, y: Any) -> Panel:
        """Read numbers ``[T]`` or ``[T, n]``, a list or mapping of series, or a pandas series or table."""
        if type(y).__module__.partition(".")[0] == "pandas" and hasattr(y, "index"):
            return cls._of_pandas(y)
        if isinstance(y, Mapping):
            return cls([OneSeries.of(name, _vector(one, f"y[{name!r}]")) for name, one in y.items()], "mapping",
                       list(y))
        if isinstance(y, (list, tuple)) and len(y) > 0 and not isinstance(y[0], (str, bytes)) and hasattr(y[0], "__len__"):
            return cls([OneSeries.of(i, _vector(one, f"y[{i}]")) for i, one in enumerate(y)], "list")
        values = _data.as_numbers(y, "y").astype(float)
        if values.ndim == 1:
            return cls([OneSeries.of("y", _checked(values, "y"))], "vector")
        if values.ndim != 2:
            raise DataError(f"y must have shape [T] or [T, n], or be a list of series, not {values.shape}")
        return cls([OneSeries.of(i, _checked(numpy.ascontiguousarray(values[:, i]), f"y[:, {i}]"))
                    for i in range(values.shape[1])], "table")

    @classmethod
    def _of_pandas(cls, y: Any) -> Panel:
        if y.index.nlevels > 1:
            return cls._of_groups(y)
        refuse_dates_as_text(y.index, "y")
        y = in_order_of_time(y, stacklevel=6, gaps=True)
        if y.ndim == 1:
            return cls([OneSeries.of(y.name, _vector(y, "y"), y.index)], "series", y.name)
        columns = [OneSeries.of(name, _vector(y.iloc[:, i], f"column {name!r}"), y.index)
                   for i, name in enumerate(y.columns)]
        return cls(columns, "frame", y.columns)

    @classmethod
    def _of_groups(cls, y: Any) -> Panel:
        """Read a table whose last index level is the time and whose other levels name the series."""
        names = list(y.index.names)
        if y.ndim == 2:
            if y.shape[1] != 1:
                raise DataError(f"y has {y.shape[1]} columns and several index levels; select the column to forecast, "
                                f"y[{y.columns[0]!r}]")
            y = y.iloc[:, 0]
        levels = list(range(y.index.nlevels - 1))
        panel = []
        for name, one in y.groupby(level=levels if len(levels) > 1 else levels[0], sort=False):
            one = in_order_of_time(one.droplevel(levels), stacklevel=7, gaps=True)
            panel.append(OneSeries.of(name, _vector(one, f"series {name!r}"), one.index))
        return cls(panel, "groups", y.name, names)

    @property
    def has_index(self) -> bool:
        return self.form in ("series", "frame", "groups")

    def extended(self, other: Panel) -> Panel:
        """Return the panel with the later values of the same series appended."""
        mine, theirs = [one.name for one in self.series], [one.name for one in other.series]
        plain = {self.form, other.form} <= {"series", "vector"}
        if not plain and (self.form != other.form or set(theirs) - set(mine)):
            raise DataError(f"y has other series than the fitted ones: {_few(theirs)} instead of {_few(mine)}")
        if plain:
            return Panel([self.series[0].extended(other.series[0])], self.form, self.names, self.index_names)
        later = {one.name: one for one in other.series}
        return Panel([one.extended(later[one.name]) if one.name in later else one for one in self.series], self.form,
                     self.names, self.index_names)

    def in_form(self, numbers: NDArray[Any], steps: NDArray[numpy.int64]) -> Any:
        """Return numbers ``[series, steps, ...]`` in the form of the series."""
        if self.form == "vector":
            return numbers[0]
        if self.form == "table":
            return numpy.moveaxis(numbers, 0, 1)
        if self.form == "list":
            return numbers
        if self.form == "mapping":
            return dict(zip(self.names, numbers))
        return self._in_pandas(numbers, steps)

    def _in_pandas(self, numbers: NDArray[Any], steps: NDArray[numpy.int64]) -> Any:
        import pandas

        first = self.series[0].future(steps)
        if self.form == "series":
            return pandas.Series(numbers[0], index=first, name=self.names)
        if self.form == "frame":
            return pandas.DataFrame(numbers.T, index=first, columns=self.names)
        parts = {one.name: pandas.Series(row, index=one.future(steps), name=self.names)
                 for one, row in zip(self.series, numbers)}
        joined = pandas.concat(parts)
        joined.index = joined.index.set_names(self.index_names)
        return joined.rename(self.names)

    def each(self, make: Callable[[int], Any]) -> Any:
        """Return ``make(i)`` for every series: one result for a single series, otherwise a list or dictionary."""
        results = [make(i) for i in range(len(self.series))]
        if self.form in ("vector", "series"):
            return results[0]
        return results if self.form in ("table", "list") else {one.name: r for one, r in zip(self.series, results)}


def _vector(values: Any, what: str) -> Floats:
    numbers = _data.as_numbers(values, what).astype(float)
    if numbers.ndim == 2 and 1 in numbers.shape:
        numbers = numbers.ravel()
    if numbers.ndim != 1:
        raise DataError(f"{what} must have shape [T], not {numbers.shape}")
    return _checked(numbers, what)


def _checked(numbers: Floats, what: str) -> Floats:
    if len(numbers) == 0:
        raise DataError(f"{what} has no values")
    if numpy.isinf(numbers).any():
        raise DataError(f"{what} is infinite at position {int(numpy.isinf(numbers).argmax())}; missing values are NaN")
    if numpy.isnan(numbers).all():
        raise DataError(f"{what} has no observed value")
    return numpy.ascontiguousarray(numbers)


def _few(names: list[Any]) -> str:
    return ", ".join(map(repr, names[:3])) + (", ..." if len(names) > 3 else "")
