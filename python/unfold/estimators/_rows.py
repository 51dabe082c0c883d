"""The argument X of a classifier as rows of a table, each of which is an example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import numpy
from numpy.typing import NDArray

from .. import _data
from ..errors import DataError, UsageError
from .._feature_names import feature_names_of
from ._sequences import Sequences, is_text_column


def require_cells(values: Any, who: str, name: Any) -> None:
    """Raise DataError for a cell that is a list, a dictionary or another container."""
    array = numpy.asarray(values)
    if array.dtype.kind != "O":
        return
    for row, cell in enumerate(array.tolist()):
        if isinstance(cell, (dict, list, tuple, set, numpy.ndarray)):
            raise DataError(f"{who}: row {row}, column {name}: a cell must be a number, a text or a date, not "
                            f"{type(cell).__name__}")


class Rows:
    """The rows of a table, each of which is an example: columns of numbers or of categories."""

    rows = "independent"

    def __init__(self, columns: list[tuple[str, _data.Values]], names: Optional[NDArray[Any]]) -> None:
        self.columns, self.names = columns, names
        self.label = "label"
        while any(name == self.label for name, _ in columns):
            self.label += "_"

    @classmethod
    def of_table(cls, X: Any, who: str, known: bool = False) -> Optional[Rows]:
        """Return the rows of a table with columns of different kinds, which is not a list of sequences.

        Its columns contain numbers and strings, or strings, and some of them are texts of several words.

        Parameters
        ----------
        known
            Whether the rows of a table with columns of strings are examples, as in fit.
        """
        if feature_names_of(X) is None:
            return None
        columns: list[tuple[str, _data.Values]] = []
        for name, column in _data.columns_of(X):
            cells = _data.array_of_column(column)
            require_cells(cells, who, name)
            columns.append((str(name), _data.cells_of(cells, f"{who}: column {name}")))
        strings = [values for _, values in columns if not isinstance(values, numpy.ndarray)]
        different = len(strings) < len(columns) or known or (len(columns) > 1 and any(map(is_text_column, strings)))
        return cls(columns, feature_names_of(X)) if strings and different else None

    @classmethod
    def of_sequences(cls, sequences: Sequences, X: Any) -> Optional[Rows]:
        """Return series of equal length as rows with one column per position."""
        entries, lengths = sequences.entries, sequences.lengths
        if not isinstance(entries, numpy.ndarray) or sequences.width != 1 or (lengths != lengths[0]).any():
            return None
        numbers = entries.reshape(len(lengths), -1)
        names = feature_names_of(X)
        columns: list[tuple[str, _data.Values]] = [(f"x{i + 1}" if names is None else names[i], numbers[:, i])
                                                   for i in range(numbers.shape[1])]
        return cls(columns, names)

    def __len__(self) -> int:
        return len(self.columns[0][1])

    @property
    def roles(self) -> dict[str, Any]:
        return {"predict": f"{self.label}=softmax", "rows": "independent"}

    @property
    def attributes(self) -> dict[str, Any]:
        """Return the attributes of an estimator that is fitted to these rows."""
        numeric = all(isinstance(values, numpy.ndarray) for _, values in self.columns)
        known = {"numeric_": numeric, "n_features_in_": len(self.columns), "_label": self.label}
        return known if self.names is None else {**known, "feature_names_in_": self.names}

    def like(self, count: int, who: str) -> Rows:
        """Require as many columns as in fit."""
        if len(self.columns) != count:
            raise UsageError(f"{who}: X has {len(self.columns)} features, but the estimator is expecting {count} features "
                             "as input")
        return self

    def keep(self, kept: NDArray[numpy.bool_]) -> None:
        """Leave out the other rows."""
        if not kept.all():
            self.columns = [(name, values[kept] if isinstance(values, numpy.ndarray) else
                             [value for value, stays in zip(values, kept.tolist()) if stays])
                            for name, values in self.columns]

    def add_missing(self, count: int) -> None:
        """Append rows of missing cells."""
        self.columns = [(name, numpy.concatenate([values, numpy.full(count, numpy.nan)])
                         if isinstance(values, numpy.ndarray) else [*values, *[None] * count])
                        for name, values in self.columns]

    def describe(self, once: Sequence[tuple[str, _data.Values]] = ()) -> _data.Description:
        """Describe the table with further columns."""
        return _data.fields([(name, False, values) for name, values in [*self.columns, *once]], [len(self)], "table")
