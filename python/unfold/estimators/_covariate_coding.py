"""Known covariates that are texts, as indicators of their categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy
from numpy.typing import NDArray

from .. import _data
from ..errors import DataError

_MOST_CATEGORIES = 50
_MOST_NAMED = 5


class CovariateCoding:
    """Replaces each column of texts by one indicator (0 or 1) per category except the most frequent one.

    ``unfold forecast`` codes columns of categories in the same way. Missing entries are a category. Columns of numbers
    and truth values are kept.
    """

    def __init__(self, X: Any) -> None:
        tables = [_columns(table) for table in _tables_in(X)]
        self._names = [name for name, _ in tables[0]] if tables else []
        self._categories: dict[int, list[str]] = {}
        for k in sorted({k for table in tables for k, (_, column) in enumerate(table) if _has_texts(column)}):
            counts = Counter(text for table in tables for text in _texts(table[k][1]))
            if len(counts) > _MOST_CATEGORIES:
                raise DataError(f"X: column {self._names[k]} has {len(counts)} categories; at most {_MOST_CATEGORIES} are "
                                "possible: combine rare ones")
            self._categories[k] = [text for text, _ in sorted(counts.items(), key=lambda one: (-one[1], one[0]))]

    def coded(self, X: Any) -> Any:
        """Return X with numbers only. The order of its columns is that of the constructor."""
        if not self._categories:
            return X
        if isinstance(X, Mapping):
            return {name: self.coded(one) for name, one in X.items()}
        if _is_list_of_tables(X):
            return [self.coded(one) for one in X]
        columns = _columns(X)
        parts = [self._indicators(k, column) if k in self._categories
                 else numpy.asarray(_data.as_numbers(column, f"X: column {name}"), dtype=float)
                 for k, (name, column) in enumerate(columns)]
        table = numpy.column_stack(parts)
        if hasattr(X, "iloc"):
            frame = X if hasattr(X, "columns") else X.to_frame()
            return type(frame)(table, index=X.index)
        return table

    def _indicators(self, k: int, column: Any) -> NDArray[numpy.float64]:
        categories, texts = self._categories[k], _texts(column)
        for row, text in enumerate(texts):
            if text not in categories:
                raise DataError(f"X: row {row}, column {self._names[k]}: {text!r} did not occur in fit, so its effect is "
                                f"unknown; fit had {_data.shown([repr(one) for one in categories], _MOST_NAMED)}")
        if len(categories) < 2:
            return numpy.zeros((len(texts), 1))
        return numpy.array([[float(text == category) for category in categories[1:]] for text in texts])


def _is_list_of_tables(X: Any) -> bool:
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(hasattr(one, "shape") for one in X)


def _tables_in(X: Any) -> list[Any]:
    """Return the tables of all series."""
    if isinstance(X, Mapping):
        return [table for one in X.values() for table in _tables_in(one)]
    return list(X) if _is_list_of_tables(X) else [X]


def _columns(table: Any) -> list[tuple[Any, Any]]:
    """Return the names and the columns of a table or an array."""
    if _data.is_table(table):
        return _data.columns_of(table)
    if _data.is_column(table):
        return [(getattr(table, "name", 0), table)]
    array = numpy.asarray(table)
    if array.dtype.kind in "US":  # numbers and texts in nested lists have become texts
        array = numpy.asarray(table, dtype=object)
    if array.ndim == 1:
        return [(0, array)]
    return [(k, array[:, k]) for k in range(array.shape[1])] if array.ndim == 2 else []


def _has_texts(column: Any) -> bool:
    """Return whether a column has texts that are not numbers."""
    values = numpy.asarray(column)
    if values.dtype.kind in "biuf" or values.dtype.kind not in "OUS":
        return False
    return any(isinstance(value, str) and not _is_number(value) for value in values)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _texts(column: Any) -> list[str]:
    return ["" if _data.is_missing(value) else str(value) for value in numpy.asarray(column, dtype=object)]
