"""The argument X of a classifier or tagger as sequences."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Optional

import numpy
from numpy.typing import NDArray

from .. import _data
from .._base import plain
from ..errors import UsageError
from .._feature_names import feature_names_of


class Sequences:
    """The sequences of a classifier or tagger: symbols or numbers, one after another."""

    def __init__(self, X: Any, who: str, empty_texts: bool = False) -> None:
        """Read the sequences.

        Parameters
        ----------
        empty_texts
            Whether an empty text, None or NaN in a list of texts is a sequence of one missing entry, and a missing cell
            of a table of texts a missing entry, instead of an error.
        """
        if hasattr(X, "tocsr"):
            raise TypeError(f"{who}: Sparse data was passed, but sequences are dense; use X.toarray()")
        if isinstance(X, (str, bytes)) or not hasattr(X, "__iter__") and not hasattr(X, "__array__"):
            raise UsageError(f"{who} expects a list of sequences, not "
                             f"{'one text' if isinstance(X, (str, bytes)) else type(plain(X)).__name__}")
        self.names = feature_names_of(X)
        self._missing_cells = empty_texts and _data.is_table(X)
        if _data.is_table(X):
            _require_plain_table(X, who)
            X = _texts_of_table(X, who)
        elif _data.is_column(X):
            X = _data.array_of_table(X, who)
        if not isinstance(X, numpy.ndarray) and not hasattr(X, "__iter__"):
            X = numpy.asarray(X)
        if isinstance(X, numpy.ndarray) and X.dtype.kind in "c":
            _data.as_numbers(X, who)
        if isinstance(X, numpy.ndarray) and X.dtype == object and X.ndim in (2, 3):
            X = object_array(X, who, self.names)
        elif not isinstance(X, numpy.ndarray) and _data.is_array(X):
            X = _data.as_numbers(X, who)
        if isinstance(X, numpy.ndarray) and X.ndim == 1 and X.dtype != object and X.dtype.kind not in "US":
            raise UsageError(f"{who}: sequence 0: expects a list of entries, not {type(plain(X[0])).__name__}. Expected "
                             "2D array, got 1D array instead: Reshape your data to [sequences, positions]"
                             if len(X) else f"{who}: no sequences. Found array with 0 sample(s)")
        if isinstance(X, numpy.ndarray) and X.ndim > 1 and 0 in X.shape:
            raise UsageError(f"{who}: no sequences with entries: an array with shape {X.shape}. Found array with "
                             f"{X.shape[X.shape.index(0)]} "
                             f"{'sample(s)' if X.shape[0] == 0 else 'feature(s)'} (shape={X.shape}) while a minimum of 1 "
                             "is required.")
        if isinstance(X, numpy.ndarray) and X.ndim == 3 and X.shape[1] == 1 < X.shape[2] and who != "predict":
            warnings.warn(f"{who}: X has shape {X.shape}: each sequence is one position of {X.shape[2]} numbers. If the "
                          "axes are [sequences, variables, time], as in sktime, pass numpy.swapaxes(X, 1, 2)",
                          UserWarning, stacklevel=4)
        if isinstance(X, numpy.ndarray) and X.ndim in (2, 3):
            self.entries, self.lengths = _data.sequences(X, who)
        else:
            self._read_list(list(X), who, empty_texts)
        self.numeric = isinstance(self.entries, numpy.ndarray)
        if isinstance(self.entries, numpy.ndarray) and numpy.isinf(self.entries).any():
            raise UsageError(f"{who}: Input X contains infinity: numbers must be finite; NaN is a missing value")
        self.width = 0 if not isinstance(self.entries, numpy.ndarray) else (
            1 if self.entries.ndim == 1 else self.entries.shape[1])

    def _read_list(self, X: list[Any], who: str, empty_texts: bool) -> None:
        """Read a list of sequences; texts are split into words."""
        rows = [_words(one, f"{who}: sequence {i}:") for i, one in enumerate(X)]
        empty = _empty_texts(X) if empty_texts else []
        if empty and len(empty) == len(rows) and who != "predict":
            raise UsageError(f"{who}: all texts are empty")
        for i in empty:
            rows[i] = [""]
        missing = [(i, 0) for i in empty]
        if self._missing_cells:
            missing += [(i, j) for i, row in enumerate(rows) for j, cell in enumerate(row) if _data.is_missing(cell)]
            rows = [["" if _data.is_missing(cell) else cell for cell in row] for row in rows]
        self.entries, self.lengths = _data.sequences(rows, who)
        starts = numpy.cumsum(self.lengths) - self.lengths
        for i, j in missing:
            self.entries[int(starts[i]) + j] = None

    def __len__(self) -> int:
        return len(self.lengths)

    def like(self, numeric: bool, width: int, who: str) -> Sequences:
        """Require entries of the type seen in fit; models fitted to symbols read numbers as symbols."""
        if numeric and not self.numeric:
            raise UsageError(f"{who}: entries must be numbers, as in fit")
        if numeric and width != self.width:
            raise UsageError(f"{who}: X has {self.width} features per position, but the estimator is expecting {width} "
                             "features as input")
        if not numeric and isinstance(self.entries, numpy.ndarray):
            if self.width > 1:
                raise UsageError(f"{who}: entries must be symbols, as in fit, not vectors of {self.width} numbers")
            self.entries = [_data.as_text(entry, who) for entry in self.entries.ravel().tolist()]
            self.numeric = False
        return self

    label, rows = "label", "sequence"
    roles = {"read": "entry", "predict": "label@end"}

    @property
    def attributes(self) -> dict[str, Any]:
        """Return the attributes of an estimator that is fitted to these sequences."""
        known: dict[str, Any] = {"numeric_": self.numeric}
        if self.numeric:
            known["n_features_in_"] = self.width
        return known if self.names is None else {**known, "feature_names_in_": self.names}

    def column(self) -> _data.Column:
        return "entry", False, self.entries

    def describe(self, once: Sequence[tuple[str, _data.Values]] = ()) -> _data.Description:
        """Describe the sequences with columns of one value per sequence."""
        return _data.fields([self.column(), *((name, True, values) for name, values in once)], self.lengths)

    def keep(self, kept: NDArray[numpy.bool_]) -> None:
        """Leave out the other sequences."""
        if kept.all():
            return
        positions = numpy.repeat(kept, self.lengths)
        self.entries = (self.entries[positions] if isinstance(self.entries, numpy.ndarray) else
                        [entry for entry, stays in zip(self.entries, positions.tolist()) if stays])
        self.lengths = self.lengths[kept]

    def add_missing(self, count: int) -> None:
        """Append sequences of one missing entry."""
        if isinstance(self.entries, numpy.ndarray):
            holes = numpy.full((count, *self.entries.shape[1:]), numpy.nan)
            self.entries = numpy.concatenate([self.entries.astype(float), holes])
        else:
            self.entries = [*self.entries, *[None] * count]
        self.lengths = numpy.concatenate([self.lengths, numpy.ones(count, dtype=self.lengths.dtype)])

    def split(self, values: Any) -> list[Any]:
        """Return values of all positions by sequence."""
        ends = numpy.cumsum(self.lengths)
        return [values[end - length:end] for end, length in zip(ends, self.lengths)]


def _require_plain_table(X: Any, who: str) -> None:
    """Require a table with one row per sequence, as opposed to the tables of sktime."""
    if getattr(getattr(X, "index", None), "nlevels", 1) > 1:
        raise UsageError(f"{who}: X is a table with several index levels; pass one array per sequence: "
                         "[x.to_numpy() for _, x in X.groupby(level=0)]")
    first: Any = X.iloc[0, 0] if hasattr(X, "iloc") and 0 not in X.shape else None
    if numpy.ndim(first) > 0:
        raise UsageError(f"{who}: the cells of X are sequences; pass one array per sequence: "
                         "[numpy.column_stack(list(row)) for row in X.to_numpy()]")


def _texts_of_table(X: Any, who: str) -> NDArray[Any]:
    """Return the rows of a table as an array, or its cells as texts if it has one column of strings."""
    array = _data.array_of_table(X, who)
    if array.dtype.kind not in "OUS" or array.ndim != 2:
        return array
    texts = [is_text_column(column.tolist()) for column in array.T]
    if array.shape[1] == 1 and any(isinstance(cell, (str, bytes)) for cell in array.flat):
        return array[:, 0]
    if any(texts) and who != "predict":
        name = str(_data.columns_of(X)[texts.index(True)][0])
        warnings.warn(f"{who}: each row of X is a sequence of {array.shape[1]} symbols, because X has several columns of "
                      f"strings, but the cells of column {name} are texts; to split texts into words, pass one column "
                      f'(X["{name}"]) or join the columns; to use several columns as fields, use unfold.train',
                      UserWarning, stacklevel=5)
    return array


def is_text_column(column: Iterable[Any]) -> bool:
    """Return whether most cells have several words, and most cells are different."""
    cells = [cell for cell in column if isinstance(cell, str)]
    return 2 * len(set(cells)) > len(cells) < 2 * sum(len(cell.split()) > 1 for cell in cells)


def _empty_texts(X: list[Any]) -> list[int]:
    """Return the numbers of the empty and missing texts in a list of texts, or nothing if it has other sequences."""
    missing = [_data.is_missing(one) for one in X]
    if not all(isinstance(one, (str, bytes)) or absent for one, absent in zip(X, missing)) or all(missing):
        return []
    return [i for i, one in enumerate(X) if missing[i] or not one.split()]


def object_array(X: NDArray[Any], who: str, names: Optional[NDArray[Any]] = None) -> Any:
    """Return an object array as a numeric array if all entries are numbers, otherwise as lists.

    Parameters
    ----------
    names
        The names of the columns, for messages.
    """
    X = _data.without_na(X)
    for index, entry in numpy.ndenumerate(X):
        if not isinstance(plain(entry), (str, bytes, bool, int, float)) and entry is not None:
            raise TypeError(f"{who}: {_data.place_of(index, names)}: an entry of type {type(entry).__name__}: argument must "
                            "be a string or a number")
    if any(isinstance(entry, (str, bytes)) for entry in X.flat):
        return X.tolist()
    return X.astype(float)


def _words(sequence: Any, where: str) -> Any:
    """Split a text into words."""
    if isinstance(sequence, bytes):
        sequence = _data.as_text(sequence, where[:-1])
    return sequence.split() if isinstance(sequence, str) else sequence
