"""The time index of a pandas series: its rows in the order of time, and warnings about steps that differ."""

from __future__ import annotations

import warnings
from typing import Any

import numpy

from ..errors import DataError

#: The pandas indexes of times.
_TIMES = ("DatetimeIndex", "PeriodIndex", "TimedeltaIndex")


def in_order_of_time(y: Any, stacklevel: int, gaps: bool = False) -> Any:
    """Return a pandas series or table in the order of its time index; other values are returned unchanged.

    Warns if rows were sorted and, unless ``gaps``, if the index is not regular. Raises DataError for several index levels, and for times
    that are missing or repeated.
    """
    index = getattr(y, "index", None)
    if getattr(index, "nlevels", 1) > 1:
        raise DataError("the series has several index levels; fit one Forecaster to each series: "
                        "{name: NetworkForecaster().fit(one.to_numpy()) for name, one in y.groupby(level=0)}; "
                        "a Forecaster reads several series")
    if index is None or type(index).__name__ not in _TIMES or len(index) < 2:
        return y
    if index.hasnans:
        raise DataError(f"the index of the series has a missing time at position {int(index.isna().argmax())}; leave that "
                        "row out")
    if not index.is_unique:
        raise DataError(f"the index of the series contains {index[index.duplicated()][0]} more than once; combine these "
                        "rows, for example with y.groupby(level=0).mean()")
    if not index.is_monotonic_increasing:
        warnings.warn("the rows of the series are not in the order of time; they are sorted by the index", UserWarning,
                      stacklevel)
        y = y.sort_index()
        index = y.index
    if not gaps:
        warn_of_gaps(index, stacklevel + 1)
    return y


def refuse_dates_as_text(index: Any, name: str) -> None:
    """Raise DataError if all entries of a pandas index are dates that are written as text."""
    if getattr(index, "nlevels", 1) != 1 or getattr(index, "inferred_type", "") != "string" or len(index) == 0:
        return
    import pandas

    if not all(any(c.isdigit() for c in text) and any(c in "-/.:" for c in text) for text in index):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # formats are found out
        dates = pandas.to_datetime(pandas.Series(index), errors="coerce")
    if dates.notna().all():
        raise DataError(f"the index of {name} has dates as text, such as {index[0]!r}; convert it: {name}.index = "
                        f"pandas.to_datetime({name}.index)")


def warn_of_gaps(index: Any, stacklevel: int) -> None:
    """Warn if the times have different distances, unless they follow a calendar, such as months or business days."""
    import pandas

    times = index.to_timestamp() if isinstance(index, pandas.PeriodIndex) else index
    if len(times) < 3 or times.freq is not None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the type of the result will change
        if pandas.infer_freq(times) is not None:
            return
    steps = times[1:] - times[:-1]
    largest = int(steps.argmax())
    warnings.warn(f"the times of the series have different distances: the median is {steps.to_series().median()}, and the "
                  f"largest, {steps[largest]}, follows {index[largest]}. The rows are read as if the distances were "
                  "equal; insert missing times, for hours with y.resample(\"h\").mean().interpolate()", UserWarning,
                  stacklevel)


#: The most positions of an index with gaps, for each row and ten more.
_MOST_POSITIONS = 100


def steps_of(index: Any) -> tuple[Any, Any]:
    """Return the index with the times that are missing from its regular step, and the step.

    The step is a frequency of dates or a difference. Both are None if there is no regular step; the step alone is None
    for an index that is neither time nor number. More than half of the times may be missing only if nearly all
    differences are one step. The command ``forecast`` has the same rules (sparse_dates.h).
    """
    import pandas

    if len(index) < 2 or not index.is_unique or not index.is_monotonic_increasing:
        return None, None
    if isinstance(index, pandas.PeriodIndex):
        complete = pandas.period_range(index[0], index[-1], freq=index.freq, name=index.name)
        return (complete, index.freq) if len(complete) <= 2 * len(index) else (None, None)
    if isinstance(index, pandas.DatetimeIndex):
        return _dates_of(index)
    if not isinstance(index, pandas.TimedeltaIndex) and index.dtype.kind not in "iuf":
        return None, None
    differences = index[1:] - index[:-1]
    step = differences.min()
    counts = numpy.asarray(differences / step, dtype=float)
    whole = counts.round()
    steps = int(whole.sum())
    most = _MOST_POSITIONS * (len(index) + 10) if (whole == 1).mean() > 0.5 else 2 * len(index)
    if not (abs(counts - whole) < 1e-9).all() or steps + 1 > most:
        return None, None
    if len(index) == steps + 1:
        return index, step
    complete = pandas.Index([index[0] + k * step for k in range(steps + 1)], name=index.name)
    return (complete, step) if (complete.get_indexer(index) >= 0).all() else (None, None)


def _dates_of(index: Any) -> tuple[Any, Any]:
    """Return the dates of a regular calendar that contain all dates of the index, and its frequency."""
    import pandas

    known = index.freq
    if known is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the type of the result will change
            known = pandas.infer_freq(index) if len(index) > 2 else None
    if known is not None:
        return index, known
    local = index.tz_localize(None)
    if len(set(local - local.normalize())) > 1:
        local = index  # only days and longer steps have 23 or 25 hours when the clock changes
    for step, days, is_open_days in _calendars(local):
        if (local[-1] - local[0]) / pandas.Timedelta(days=1) > days * _MOST_POSITIONS * (len(index) + 10):
            continue
        try:
            complete = pandas.date_range(local[0], local[-1], freq=step, name=index.name)
        except ValueError:  # a frequency that this version of pandas does not know
            continue
        places = complete.get_indexer(local)
        if (places < 0).any():
            continue
        is_usual = (places[1:] - places[:-1] == 1).mean() >= 0.9
        if not is_usual and (len(complete) > 2 * len(index) or is_open_days and not _are_closed(index, complete)):
            continue
        if local is not index and index.tz is not None:
            complete = complete.tz_localize(index.tz, ambiguous=True, nonexistent="shift_forward")
            if not index.isin(complete).all():
                continue
        return complete, step
    return None, None


def _calendars(index: Any) -> list[tuple[Any, float, bool]]:
    """Return frequencies that could contain all dates, each with its length in days and whether it is one of open days."""
    import pandas

    calendars: list[tuple[Any, float, bool]] = []
    if (least := _common_difference(index)) is not None:
        calendars.append((least, least / pandas.Timedelta(days=1), False))
    present = sorted(set(index.day_of_week))
    same_time = len(set(index - index.normalize())) == 1
    if same_time and 2 <= len(present) < 7 and len(index) >= 2 * len(present):
        names = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
        week = pandas.offsets.CustomBusinessDay(weekmask=" ".join(names[day] for day in present))
        calendars.insert(0, (week, 1.0, True))
    if same_time and (step := _common_difference(index.year * 12 + index.month)):
        if (index.day == 1).all():
            calendars.append((pandas.offsets.MonthBegin(int(step)), 28.0 * step, False))
        elif index.is_month_end.all():
            calendars.append((pandas.offsets.MonthEnd(int(step)), 28.0 * step, False))
        elif (index.day == index.day[0]).all():
            calendars.append((pandas.DateOffset(months=int(step)), 28.0 * step, False))
    return calendars + [("BMS", 28.0, False), ("BME", 28.0, False)]


def _common_difference(times: Any) -> Any:
    """Return the smallest difference if it is the most frequent one and occurs at least twice; otherwise None."""
    differences, counts = numpy.unique(numpy.asarray(times[1:] - times[:-1]), return_counts=True)
    return (times[1:] - times[:-1]).min() if counts[0] == counts.max() > 1 else None


def _are_closed(index: Any, complete: Any) -> bool:
    """Return whether the days of the week that do not occur are not absent by chance."""
    if len(index) < 3 * len(set(index.day_of_week)):
        return False
    absent = 1 - len(index) / len(complete)
    days = (complete[-1] - complete[0]).days + 1
    first = complete[0].day_of_week
    counts = [(days - (day - first) % 7 + 6) // 7 for day in range(7)]
    return all(7 * absent ** counts[day] <= 0.05 for day in set(range(7)) - set(complete.day_of_week))
