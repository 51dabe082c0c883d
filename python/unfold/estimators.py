"""Scikit-learn-compatible estimators: fit, predict, predict_proba, score, get_params, set_params and pickling.

They do not require scikit-learn. If it is installed, ``clone``, grid search and pipelines work. Parameters are those of
``unfold.train``. The fitted model is stored as the bytes of a model file, which are part of a pickle; restoring them
executes no code from the model. Data stays in memory: numbers are never converted to text, and nothing is written.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy
from numpy.typing import NDArray

from . import _data
from ._base import (
    BaseEstimator,
    Callback,
    NotFittedError,
    RandomState,
    as_list,
    class_weights_of,
    classes_of,
    labels_of,
    plain,
    require_equal_lengths,
    seed_of,
    weights_of,
)
from ._core import Model
from .errors import DataError, UsageError

__all__ = ["DensityEstimator", "Forecaster", "NotFittedError", "SequenceClassifier", "SequenceTagger", "SymbolModel"]

Floats = NDArray[numpy.float64]


class Sequences:
    """The sequences of a classifier or tagger: symbols or numbers, one after another."""

    def __init__(self, X: Any, who: str) -> None:
        if hasattr(X, "tocsr"):
            raise TypeError(f"{who}: Sparse data was passed, but sequences are dense; use X.toarray()")
        if isinstance(X, (str, bytes)) or not hasattr(X, "__iter__") and not hasattr(X, "__array__"):
            raise UsageError(f"{who} expects a list of sequences, not "
                             f"{'one text' if isinstance(X, (str, bytes)) else type(plain(X)).__name__}")
        if _data._is_table(X):
            _require_plain_table(X, who)
            X = X.to_numpy()
        if not isinstance(X, numpy.ndarray) and not hasattr(X, "__iter__"):
            X = numpy.asarray(X)
        if isinstance(X, numpy.ndarray) and X.dtype.kind in "c":
            _data.as_numbers(X, who)
        if isinstance(X, numpy.ndarray) and X.dtype == object and X.ndim in (2, 3):
            X = _object_array(X, who)
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
        rows = X if isinstance(X, numpy.ndarray) and X.ndim in (2, 3) else [
            _words(one, f"{who}: sequence {i}:") for i, one in enumerate(X)]
        self.entries, self.lengths = _data.sequences(rows, who)
        self.numeric = isinstance(self.entries, numpy.ndarray)
        if isinstance(self.entries, numpy.ndarray) and numpy.isinf(self.entries).any():
            raise UsageError(f"{who}: Input X contains infinity: numbers must be finite; NaN is a missing value")
        self.width = 0 if not isinstance(self.entries, numpy.ndarray) else (
            1 if self.entries.ndim == 1 else self.entries.shape[1])

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
        return {**known, "n_features_in_": self.width} if self.numeric else known

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


class Rows:
    """The rows of a table, each of which is an example: columns of numbers or of categories."""

    rows = "independent"

    def __init__(self, columns: list[tuple[str, _data.Values]], names: Optional[NDArray[Any]]) -> None:
        self.columns, self.names = columns, names
        self.label = "label"
        while any(name == self.label for name, _ in columns):
            self.label += "_"

    @classmethod
    def of_table(cls, X: Any, who: str) -> Optional[Rows]:
        """Return the rows of a table with columns of numbers and columns of texts, which is not a list of sequences."""
        if not _data._is_table(X) or not hasattr(X, "columns") or _feature_names(X) is None:
            return None
        columns = [(str(name), _data._cells(_data._series(X[name]), f"{who}: column {name}")) for name in X.columns]
        kinds = {isinstance(values, numpy.ndarray) for _, values in columns}
        return cls(columns, _feature_names(X)) if len(kinds) > 1 else None

    @classmethod
    def of_sequences(cls, sequences: Sequences, X: Any) -> Optional[Rows]:
        """Return series of equal length as rows with one column per position."""
        entries, lengths = sequences.entries, sequences.lengths
        if not isinstance(entries, numpy.ndarray) or sequences.width != 1 or (lengths != lengths[0]).any():
            return None
        numbers = entries.reshape(len(lengths), -1)
        names = _feature_names(X)
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

    def describe(self, once: Sequence[tuple[str, _data.Values]] = ()) -> _data.Description:
        """Describe the table with further columns."""
        return _data.fields([(name, False, values) for name, values in [*self.columns, *once]], [len(self)], "table")


def _require_plain_table(X: Any, who: str) -> None:
    """Require a table with one row per sequence, as opposed to the tables of sktime."""
    if getattr(getattr(X, "index", None), "nlevels", 1) > 1:
        raise UsageError(f"{who}: X is a table with several index levels; pass one array per sequence: "
                         "[x.to_numpy() for _, x in X.groupby(level=0)]")
    first: Any = X.iloc[0, 0] if hasattr(X, "iloc") and 0 not in X.shape else None
    if numpy.ndim(first) > 0:
        raise UsageError(f"{who}: the cells of X are sequences; pass one array per sequence: "
                         "[numpy.column_stack(list(row)) for row in X.to_numpy()]")


def _object_array(X: NDArray[Any], who: str) -> Any:
    """Return an object array as a numeric array if all entries are numbers, otherwise as lists."""
    for entry in X.flat:
        if not isinstance(plain(entry), (str, bytes, bool, int, float)) and entry is not None:
            raise TypeError(f"{who}: an entry of type {type(entry).__name__}: argument must be a string or a number")
    if any(isinstance(entry, (str, bytes)) for entry in X.flat):
        return X.tolist()
    return X.astype(float)


def _words(sequence: Any, where: str) -> Any:
    """Split a text into words."""
    if isinstance(sequence, bytes):
        sequence = _data.as_text(sequence, where[:-1])
    return sequence.split() if isinstance(sequence, str) else sequence


def _feature_names(X: Any) -> Optional[NDArray[Any]]:
    """Return the column names of a table if all are strings."""
    if not _data._is_table(X) or not hasattr(X, "columns"):
        return None
    names = list(X.columns)
    return numpy.asarray(names, dtype=object) if names and all(isinstance(name, str) for name in names) else None


def _require_feature_names(X: Any, fitted: Optional[NDArray[Any]]) -> None:
    """Require the column names seen in fit, if both tables have names."""
    names = _feature_names(X)
    if names is None or fitted is None or list(names) == list(fitted):
        return
    unseen = [name for name in names if name not in fitted]
    missing = [name for name in fitted if name not in names]
    lines = ["The feature names should match those that were passed during fit."]
    if unseen:
        lines += ["Feature names unseen at fit time:", *(f"- {name}" for name in sorted(unseen)[:5])]
    if missing:
        lines += ["Feature names seen at fit time, yet now missing:", *(f"- {name}" for name in sorted(missing)[:5])]
    if not unseen and not missing:
        lines.append("Feature names must be in the same order as they were in fit.")
    raise UsageError("\n".join(lines) + "\n")


class _SequenceEstimator(BaseEstimator):
    """Base class of the classifier and the tagger for sequences of symbols or numbers."""

    _requires_y = True

    classes_: NDArray[Any]
    numeric_: bool
    n_features_in_: int

    def _more_tags_of(self, tags: Any) -> Any:
        tags.input_tags.string = True
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = True
        return tags

    def _read(self, X: Any, who: str) -> Sequences:
        self._require_fitted()
        return Sequences(X, who).like(self.numeric_, getattr(self, "n_features_in_", 0), who)

    def _number_classes(self, labels: list[Any], y: Any, who: str) -> tuple[NDArray[Any], dict[Any, int]]:
        """Return the classes and their numbers: those of the labels, or of the fitted model that training continues."""
        if not self._continues and (who != "partial_fit" or not self.__sklearn_is_fitted__()):
            return classes_of(labels, y)
        number = {label: i for i, label in enumerate(self.classes_.tolist())}
        for label in labels:
            if label not in number:
                raise UsageError(f"{who}: {label!r} is not a class of the fitted model, from which training continues; "
                                 f"leave out these sequences, or fit a new {type(self).__name__}")
        return self.classes_, number

    def _read_more(self, X: Any, who: str) -> Sequences:
        """Read the sequences for training, of the same kind as those of the fitted model if training continues."""
        sequences = Sequences(X, who)
        if self._continues or (who == "partial_fit" and self.__sklearn_is_fitted__()):
            sequences.like(self.numeric_, getattr(self, "n_features_in_", 0), who)
        return sequences


#: Settings with which nothing is selected (docs/defaults.md).
_CHOICES = ("model", "optimizer", "steps", "epochs", "minutes", "window", "start_from")


class SequenceClassifier(_SequenceEstimator):
    """Predict one label per sequence, or per row of a table.

    An array ``[N, T]`` can contain series, or rows of a table whose columns have different meanings and scales. If no
    model is given, both are compared by cross-validation: in a row, each column is standardized separately. Tables with
    columns of numbers and of strings contain rows. ``options={"rows": "independent"}`` always reads rows, and
    ``options={"rows": "sequence"}`` always reads sequences.

    A tenth of the sequences is used for validation, to select the best model; ``options={"split": "100/0/0"}`` trains
    on all of them. If there are fewer than 2,000 series of numbers and no model is given, the selected model is fitted to
    all of them.

    Parameters
    ----------
    class_weight
        None; a dictionary of classes and weights, which multiply the losses of their sequences (1 for other classes);
        or "balanced": weights for which every class has the same total weight.
    model, optimizer, steps, epochs, minutes, random_state, threads, options, verbose, callback, warm_start
        See ``unfold.train``. ``model=None`` is the default of the command for the data. For series of numbers it is
        selected by cross-validation among random kernels, an echo state network and a recurrent network.

    Attributes
    ----------
    classes_
        The sorted labels, with the same type as in ``y``.
    rows_
        "independent" if each row is an example, "sequence" if the entries of each example follow each other.
    n_features_in_
        The number of columns of a table; if the entries of sequences are numbers, the number of values per position.
    feature_names_in_
        The names of the columns of a table, if they are strings.

    Examples
    --------
    >>> rng = numpy.random.RandomState(0)
    >>> X = rng.normal(size=(60, 20)) + numpy.repeat([0, 2], 30)[:, None]
    >>> y = numpy.repeat([3, 7], 30)
    >>> fitted = SequenceClassifier("gru:4", optimizer="adam:rate=0.02", steps=60).fit(X, y)
    >>> fitted.predict(X[[0, -1]])
    array([3, 7])
    """

    _kind = "classifier"

    def __init__(self, model: str | None = None, *, class_weight: Any = None, optimizer: str | None = None,
                 steps: int | None = None, epochs: float | None = None, minutes: float | None = None,
                 random_state: RandomState = None, threads: int = 0, options: Mapping[str, Any] | None = None,
                 verbose: bool = False, callback: Callback | None = None, warm_start: bool = False) -> None:
        super().__init__(model, optimizer=optimizer, steps=steps, epochs=epochs, minutes=minutes,
                         random_state=random_state, threads=threads, options=options, verbose=verbose,
                         callback=callback, warm_start=warm_start)
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SequenceClassifier:
        """Train on sequences and their labels.

        Parameters
        ----------
        X
            Numbers ``[N, T]`` or ``[N, T, n]``, or a list of arrays ``[T]`` or ``[T, n]`` of different lengths, with
            NaN for missing values; or symbols: lists of strings, or texts, which are split into words.
        y
            One label per sequence: strings, integers, bools.
        sample_weight
            One weight per sequence, which multiplies its loss in training and in the selection of the best model;
            sequences with weight 0 are left out. Only the ratios of the weights matter. Metrics count every sequence
            once.
        """
        labels = labels_of(y, "fit")
        readings = [self._read(X, "fit")] if self._continues else self._readings(X, "fit")
        require_equal_lengths(readings[0], labels, "fit")
        classes, number = self._number_classes(labels, y, "fit")
        weights = weights_of(sample_weight, len(labels), "fit") * class_weights_of(self.class_weight, labels, classes,
                                                                                   "fit")
        found = [{**self._trained(self._weighted(examples, labels, number, weights, "fit"), **examples.roles),
                  **examples.attributes, "rows_": examples.rows, "classes_": classes} for examples in readings]
        return self._set(min(found, key=self._validated_nats))

    def _settings(self) -> dict[str, Any]:
        return {name: value for name, value in super()._settings().items() if name != "rows"}

    def _readings(self, X: Any, who: str) -> list[Sequences | Rows]:
        """Return the possible interpretations of X (rows, sequences); if there are two, `fit` compares them."""
        stated = (self.options or {}).get("rows")
        if stated not in (None, "independent", "sequence"):
            raise UsageError(f'{who}: options: rows must be "independent" or "sequence", not {stated!r}')
        chosen = any(self._settings().get(name) is not None for name in _CHOICES)
        table = Rows.of_table(X, who) if stated == "independent" or (stated is None and not chosen) else None
        if table is not None:
            return [table]
        sequences = Sequences(X, who)
        rows = Rows.of_sequences(sequences, X) if stated != "sequence" else None
        if stated == "independent":
            if rows is None:
                raise UsageError(f'{who}: options: rows="independent" needs a table, or numbers [N, n]')
            return [rows]
        most_columns, fewest_rows = 1000, 6
        if rows is None or chosen or len(rows.columns) > most_columns or len(rows) < fewest_rows:
            return [sequences]
        return [rows, sequences]

    def _validated_nats(self, attributes: dict[str, Any]) -> float:
        """Return the negative log-likelihood of the labels that the model has not read."""
        heads = (attributes["figures_"].get("valid") or {}).get("heads", {})
        return min((head.get("nats_per_example", math.inf) for head in heads.values()), default=math.inf)

    def _read(self, X: Any, who: str) -> Any:
        self._require_fitted()
        if self.rows_ == "sequence":
            return super()._read(X, who)
        _require_feature_names(X, getattr(self, "feature_names_in_", None))
        rows = Rows.of_table(X, who) or Rows.of_sequences(Sequences(X, who), X)
        if rows is None:
            raise UsageError(f"{who}: X must be a table with {self.n_features_in_} columns, as in fit")
        rows.like(self.n_features_in_, who)
        if not hasattr(self, "feature_names_in_"):
            rows.columns = [(f"x{i + 1}", values) for i, (_, values) in enumerate(rows.columns)]
        elif rows.names is None:
            rows.columns = [(name, values) for name, (_, values) in zip(self.feature_names_in_, rows.columns)]
        return rows

    rows_: str
    _label = "label"

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> SequenceClassifier:
        """Train for one pass over sequences, from the fitted model if there is one.

        All sequences are used for training, without validation, regardless of ``steps``, ``epochs`` and ``minutes``.
        The default optimizer is Adam with a constant learning rate; each call begins with new moments of the gradient.
        The first call fixes the alphabets and scales of the inputs.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``.
        classes
            In the first call: all classes of this and later calls; None: the classes in ``y``.

        Examples
        --------
        >>> X, y = numpy.sin(numpy.outer(numpy.arange(40) % 2 + 1, numpy.arange(12))), numpy.arange(40) % 2
        >>> model = SequenceClassifier("gru:4", optimizer="adam:rate=0.05", options={"batch": 4})
        >>> for i in range(60):
        ...     model = model.partial_fit(X[i % 4::4], y[i % 4::4], classes=[0, 1])
        >>> model.score(X, y)
        1.0
        """
        who = "partial_fit"
        if isinstance(self.class_weight, str):
            raise UsageError('partial_fit: class_weight="balanced" is not supported for partial_fit, because a part of the '
                             "data does not have the frequencies of all; pass a dictionary")
        labels = labels_of(y, who)
        sequences = self._read(X, who) if self.__sklearn_is_fitted__() else Sequences(X, who)
        require_equal_lengths(sequences, labels, who)
        missing: list[Any] = []
        if classes is not None:
            every = labels_of(classes, f"{who}: classes")
            unseen = sorted(set(labels) - set(every), key=repr)
            if unseen:
                raise UsageError(f"{who}: the label {unseen[0]!r} is not in classes")
            missing = [] if self.__sklearn_is_fitted__() else [label for label in every if label not in set(labels)]
        known, number = self._number_classes(labels + missing, classes if missing else y, who)
        weights = weights_of(sample_weight, len(labels), who) * class_weights_of(self.class_weight, labels, known, who)
        data = self._weighted(sequences, labels, number, weights, who, missing)
        return self._set({**self._trained_further(data, **sequences.roles), **sequences.attributes,
                          "rows_": sequences.rows, "classes_": known})

    @staticmethod
    def _weighted(sequences: Any, labels: list[Any], number: dict[Any, int], weights: Floats, who: str,
                  missing: Sequence[Any] = ()) -> _data.Description:
        """Return the description of labeled sequences or rows with their weights.

        ``missing``: classes without sequences, each of which gets a missing entry of weight 0.
        """
        kept = weights > 0
        sequences.keep(kept)
        labels = [label for label, stays in zip(labels, kept.tolist()) if stays] + list(missing)
        if len(set(labels) if who == "fit" else number) < 2:
            raise UsageError(f"{who}: labels must have at least two classes; there is only one class")
        if missing:
            sequences.add_missing(len(missing))
        weights = numpy.concatenate([weights[kept], numpy.zeros(len(missing))])
        targets: list[Optional[str]] = [str(number[label]) for label in labels]
        columns: list[tuple[str, _data.Values]] = [(sequences.label, targets)]
        if len(set(weights.tolist())) > 1:
            columns.append((_data.WEIGHTS, weights))
        description: _data.Description = sequences.describe(columns)
        return description

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities [sequences, classes], in the order of ``classes_``."""
        examples = self._read(X, "predict")
        found = self._columns(examples.describe())
        none = numpy.zeros(len(examples))
        return numpy.stack([found.get(f"{self._label}.{i}", (True, none))[1] for i in range(len(self.classes_))], axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable labels."""
        p = self.predict_proba(X)
        best: NDArray[Any] = self.classes_[p.argmax(axis=1)]
        return best

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, weighted by ``sample_weight``."""
        found, labels = self.predict(X), labels_of(y, "score")
        require_equal_lengths(found, labels, "score")
        right = numpy.array([a == b for a, b in zip(found.tolist(), labels)])
        return float(numpy.average(right, weights=sample_weight))


class SequenceTagger(_SequenceEstimator):
    """Predict one label per entry of each sequence.

    Attributes
    ----------
    classes_
        The sorted labels, with the same type as in ``y``.

    Examples
    --------
    >>> X = [list(text) for text in ("aba", "bb", "baab", "abb", "aa")] * 10
    >>> y = [[int(symbol == "a") for symbol in sequence] for sequence in X]
    >>> fitted = SequenceTagger("bilstm:4", optimizer="adam:rate=0.05", steps=40).fit(X, y)
    >>> fitted.predict([["b", "b", "a"]])
    [[0, 0, 1]]
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SequenceTagger:
        """Train on sequences and their labels.

        Parameters
        ----------
        X
            Sequences of numbers or symbols, as for SequenceClassifier.
        y
            For each sequence, a list of labels of the same length.
        sample_weight
            One weight per sequence, which multiplies its loss; sequences with weight 0 are left out. Only the ratios
            of the weights matter.
        """
        data, attributes = self._described(X, y, sample_weight, "fit")
        return self._set({**self._trained(data, **self._ROLES), **attributes})

    _ROLES = {"read": "entry", "predict": "tag"}

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> SequenceTagger:
        """Train for one pass over sequences, from the fitted model if there is one.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``.
        classes
            In the first call: all classes of this and later calls, each of which must occur in ``y``; None: those in
            ``y``.
        """
        data, attributes = self._described(X, y, sample_weight, "partial_fit")
        found = attributes["classes_"].tolist()
        for label in () if classes is None else [plain(label) for label in as_list(classes, "partial_fit", "classes")]:
            if label not in found:
                raise UsageError(f"partial_fit: the first call must have each class in y, but {label!r} is missing")
        return self._set({**self._trained_further(data, **self._ROLES), **attributes})

    def _described(self, X: Any, y: Any, sample_weight: Any,
                   who: str) -> tuple[_data.Description, dict[str, Any]]:
        """Return the description of tagged sequences, and the attributes of the estimator."""
        sequences = self._read_more(X, who)
        labels = self._labels(y, sequences.lengths, who)
        weights = weights_of(sample_weight, len(labels), who)
        classes, number = self._number_classes([label for one in labels for label in one], y, who)
        # Label schemes such as BIO are known by the texts.
        texts = all(isinstance(label, str) for label in classes.tolist())
        kept = weights > 0
        sequences.keep(kept)
        tags: list[Optional[str]] = [label if texts else str(number[label])
                                     for one, stays in zip(labels, kept.tolist()) if stays for label in one]
        columns: list[_data.Column] = [sequences.column(), ("tag", False, tags)]
        if len(set(weights[kept].tolist())) > 1:
            columns.append((_data.WEIGHTS, True, weights[kept]))
        names = [label if texts else str(i) for i, label in enumerate(classes.tolist())]
        attributes = {**sequences.attributes, "classes_": classes, "_tags": names}
        return _data.fields(columns, sequences.lengths), attributes

    _tags: list[str]

    @staticmethod
    def _labels(y: Any, lengths: Any, who: str) -> list[list[Any]]:
        every = as_list(y, who, "lists of labels")
        require_equal_lengths(lengths, every, who)
        result = []
        for i, one in enumerate(every):
            tags = [plain(tag) for tag in as_list(one, f"{who}: sequence {i}:", "labels")]
            if len(tags) != lengths[i]:
                raise UsageError(f"{who}: sequence {i} has {lengths[i]} entries, but {len(tags)} labels")
            for tag in tags:
                if tag is None or tag != tag:
                    raise UsageError(f"{who}: sequence {i}: a label is missing ({tag}); leave that sequence out")
                if not isinstance(tag, (str, bytes, bool, int, float)):
                    raise UsageError(f"{who}: sequence {i}: a label must be a string or a number, not "
                                     f"{type(tag).__name__}")
            result.append(tags)
        return result

    def predict(self, X: Any) -> list[list[Any]]:
        """Return the most probable labels, as one list per sequence."""
        sequences = self._read(X, "predict")
        found = self._columns(_data.fields([sequences.column()], sequences.lengths), probabilities=False)
        label = dict(zip(self._tags, self.classes_.tolist()))
        best = [label[tag] for tag in found["tag.best"][1]]
        return sequences.split(best)

    def predict_proba(self, X: Any) -> list[Floats]:
        """Return probabilities, as one array [entries, classes] per sequence."""
        sequences = self._read(X, "predict")
        found = self._columns(_data.fields([sequences.column()], sequences.lengths))
        # A label that is missing from the training part has no column, because it is never predicted.
        none = numpy.zeros(int(sequences.lengths.sum()))
        columns = [found.get(f"tag.{tag}", (False, none))[1] for tag in self._tags]
        return sequences.split(numpy.stack(columns, axis=1))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy over all entries, weighted by one weight per sequence."""
        found = self.predict(X)
        lengths = [len(one) for one in found]
        labels = self._labels(y, lengths, "score")
        right = [a == b for one, tags in zip(found, labels) for a, b in zip(one, tags)]
        weights = numpy.repeat(weights_of(sample_weight, len(found), "score"), lengths)
        return float(numpy.average(right, weights=weights))


class Forecaster(BaseEstimator):
    """Forecast the next values of a series.

    The values have no weights: the series is a single example, whose values depend on each other.

    Attributes
    ----------
    series_
        The series that the model was fitted to.

    Examples
    --------
    >>> wave = numpy.sin(numpy.arange(200) / 3)
    >>> fitted = Forecaster("gru:4", steps=20).fit(wave)
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

    def fit(self, y: Any) -> Forecaster:
        """Train on the whole series, without validation; the final model is kept.

        Parameters
        ----------
        y
            Numbers ``[T]`` or ``[T, n]``.
        """
        series = self._series(y)
        fitted = self._trained(self._data(series), **self._NEXT, split="100/0/0")
        return self._set({**fitted, "series_": series})

    _NEXT = {"read": "value", "predict": "value", "ahead": 1}

    def partial_fit(self, y: Any) -> Forecaster:
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
        if earlier is not None and earlier.shape[1:] != series.shape[1:]:
            raise UsageError(f"partial_fit: the series has shape {series.shape}, but the fitted one has {earlier.shape}")
        fitted = self._trained_further(self._data(series), **self._NEXT)
        return self._set({**fitted, "series_": series if earlier is None else numpy.concatenate([earlier, series])})

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

    def predict_interval(self, horizon: int, y: Any = None, samples: int = 200) -> tuple[Floats, Floats]:
        """Return the 10th and the 90th percentile of the forecast."""
        found = self._ahead(horizon, y, samples)
        return self._part(found, "q10"), self._part(found, "q90")

    def _ahead(self, horizon: int, y: Any, samples: int) -> dict[str, Any]:
        self._require_fitted()
        horizon = operator.index(horizon)
        if horizon < 1:
            raise UsageError(f"horizon {horizon}: must be at least 1")
        series = self.series_ if y is None else self._series(y)
        found: dict[str, Any] = self.model_.predict(self._data(series), ahead=horizon, samples=samples,
                                                    seed=seed_of(self.random_state), threads=self.threads or 0)[0]
        return found

    @staticmethod
    def _part(found: dict[str, Any], what: str) -> Floats:
        if f"value.{what}" in found:
            return numpy.array(found[f"value.{what}"])
        columns: list[Any] = []
        while f"value.{what}.{len(columns) + 1}" in found:
            columns.append(found[f"value.{what}.{len(columns) + 1}"])
        return numpy.array(columns).T

    @staticmethod
    def _series(y: Any) -> Floats:
        series = _data.as_numbers(y, "a series").astype(float)
        if series.ndim not in (1, 2) or len(series) < 2:
            raise UsageError(f"a series must have shape [T] or [T x n] with T >= 2, not {series.shape}")
        if not numpy.isfinite(series).all():
            holes = ~numpy.isfinite(series.reshape(len(series), -1)).all(axis=1)
            raise UsageError(f"the series contains {int(holes.sum())} values that are not finite, the first at position "
                             f"{int(holes.argmax())}; fill in missing values first, for example with "
                             "pandas.Series(y).interpolate(), or start after them")
        return series

    @staticmethod
    def _data(series: Floats) -> _data.Description:
        return _data.fields([("value", False, series)], [len(series)])


class DensityEstimator(BaseEstimator):
    """Estimate the density of rows of numbers.

    Parameters
    ----------
    model
        Any model in ``docs/density.md``. By default, it is chosen by cross-validation from Gaussian mixtures and
        ``rnade:50`` or, for binary data, from Bernoulli mixtures and ``nade:100``.

    Attributes
    ----------
    n_features_in_
        The number of columns.
    feature_names_in_
        The names of the columns, if ``X`` is a table whose column names are strings.

    Examples
    --------
    >>> X = numpy.random.RandomState(0).randint(2, size=(80, 3))
    >>> fitted = DensityEstimator("nade:4", steps=20).fit(X)
    >>> fitted.score_samples(X[:5]).shape
    (5,)
    """

    _kind = "density_estimator"

    n_features_in_: int

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DensityEstimator:
        """Train on rows ``[rows, columns]`` of bits or numbers. Some of the rows are used for validation.

        Parameters
        ----------
        X
            The rows.
        sample_weight
            One weight per row, which multiplies its log-density: a row of weight 2 counts like two equal rows, and rows
            of weight 0 are left out.
        """
        rows = self._rows(X, "fit")
        weights = weights_of(sample_weight, len(rows), "fit", "row")
        rows, weights = rows[weights > 0], weights[weights > 0]
        if len(rows) < 2:
            raise UsageError("fit: n_samples=1 is too few: a part of the rows is used for validation")
        names = _feature_names(X)
        if self._continues:
            self._known_rows(X, "fit")
            if "-mixture" in self.model_.spec:
                raise UsageError(f"fit: warm_start does not apply to {self.model_.spec}, which is fitted by "
                                 "expectation-maximization; choose a model such as nade:50 or rnade:50")
        default = {} if self.model or self._continues else self._default(rows)
        if (weights == 1).all():
            fitted = self._trained(self._table(rows), **default)
        else:
            fitted = self._trained(self._table(rows, weights), weights=self._WEIGHTS, **default)
        fitted["n_features_in_"] = rows.shape[1]
        if names is not None:
            fitted["feature_names_in_"] = names
        return self._set(fitted)

    @staticmethod
    def _default(rows: Floats) -> dict[str, Any]:
        """Return the settings with which ``train`` chooses the model; for few rows, the simplest one."""
        few = 8
        if len(rows) >= few and rows.shape[1] > 1:
            return {"format": "table"}
        return {"model": "bernoulli-mixture:1" if numpy.isin(rows, (0, 1)).all() else "gaussian-mixture:1"}

    def score_samples(self, X: Any) -> Floats:
        """Return the log-density of each row in nats; for binary data, the log-probability."""
        table = self._table(self._known_rows(X, "score_samples"))
        rows = self.model_.score_examples(table, threads=self.threads or 0)
        return numpy.array([-math.log(2) * row["bits"] for row in rows])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean of ``score_samples``, weighted by ``sample_weight``; higher is better."""
        found = self.score_samples(X)
        if sample_weight is None:
            return float(found.mean())
        return float(numpy.average(found, weights=weights_of(sample_weight, len(found), "score", "row")))

    def sample(self, n_samples: int = 1, *, random_state: RandomState = None) -> Floats:
        """Draw rows from the distribution."""
        self._require_fitted()
        seed = seed_of(self.random_state if random_state is None else random_state)
        return self.model_.sample_rows(operator.index(n_samples), seed=seed)

    def fill(self, X: Any, how: str = "mean", *, random_state: RandomState = None) -> Floats:
        """Return X with NaN replaced by the conditional "mean", the "best" value, or a joint "sample" per row."""
        rows = self._known_rows(X, "fill", holes=True)
        seed = seed_of(self.random_state if random_state is None else random_state)
        found = self.model_.fill(self._table(rows), how=how, seed=seed)
        names = self._names_of(rows.shape[1])
        return numpy.where(numpy.isnan(rows), [[one[name] for name in names] for one in found], rows)

    def _known_rows(self, X: Any, who: str, holes: bool = False) -> Floats:
        self._require_fitted()
        rows = self._rows(X, who, holes)
        _require_feature_names(X, getattr(self, "feature_names_in_", None))
        if rows.shape[1] != self.n_features_in_:
            raise UsageError(f"{who}: {rows.shape[1]} columns, but the model has {self.n_features_in_}: X has "
                             f"{rows.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                             "features as input")
        return rows

    @staticmethod
    def _rows(X: Any, who: str, holes: bool = False) -> Floats:
        if hasattr(X, "tocsr"):
            raise TypeError(f"{who}: Sparse data was passed, but rows must be dense; use X.toarray()")
        if _data._is_table(X):
            X = X.to_numpy()
        if isinstance(X, numpy.ndarray) and X.dtype == object:
            X = _object_array(X, who)
        rows = _data.as_numbers(X, who).astype(float)
        if rows.ndim == 1:
            raise UsageError(f"{who}: rows must have shape [rows x columns], not {rows.shape}: Expected 2D array, got 1D "
                             "array instead. Reshape your data")
        if rows.ndim != 2 or 0 in rows.shape:
            parts = [] if rows.ndim != 2 else [name for size, name in zip(rows.shape, ("sample", "feature")) if size == 0]
            raise UsageError(f"{who}: rows must have shape [rows x columns], not {rows.shape}."
                             + "".join(f" Found array with 0 {name}(s) (shape={rows.shape}) while a minimum of 1 is "
                                       "required." for name in parts[:1]))
        if numpy.isinf(rows).any() or (not holes and numpy.isnan(rows).any()):
            raise UsageError(f"{who}: some values are not finite: Input X contains NaN or infinity")
        return rows

    @staticmethod
    def _names_of(columns: int) -> list[str]:
        return [f"x{i + 1}" for i in range(columns)]

    _WEIGHTS = "weight"

    @classmethod
    def _table(cls, rows: Floats, weights: Optional[Floats] = None) -> _data.Description:
        columns: list[_data.Column] = [(name, False, rows[:, i])
                                       for i, name in enumerate(cls._names_of(rows.shape[1]))]
        if weights is not None:
            columns.append((cls._WEIGHTS, False, weights))
        return _data.fields(columns, [len(rows)], "table")


class SymbolModel(BaseEstimator):
    """A language model for texts, each of which is an independent sequence.

    Training on running text does not support weights; to give a text more influence, pass it several times.

    Parameters
    ----------
    symbols
        "chars", "words" or "bytes".
    unknown
        How ``score`` and ``score_samples`` treat a symbol that did not occur in fit: "error"; "skip", which leaves
        it out; or "surprise", which counts each of its characters as one of all Unicode characters with equal
        probabilities, -13.9 nats, as ``unfold score --unknown surprise`` does.

    Examples
    --------
    >>> fitted = SymbolModel("ngram:3").fit(["to be or not to be " * 20])
    >>> len(fitted.sample(length=10))
    1
    >>> bool(fitted.score(["to be"]) > fitted.score(["eb ot"]))
    True
    """

    _kind = "density_estimator"

    def __init__(self, model: str | None = "lstm:128", *, symbols: str = "chars", unknown: str = "error",
                 optimizer: str | None = None, steps: int | None = None, epochs: float | None = None,
                 minutes: float | None = None, random_state: RandomState = None, threads: int = 0,
                 options: Mapping[str, Any] | None = None, verbose: bool = False,
                 callback: Callback | None = None, warm_start: bool = False) -> None:
        super().__init__(model, optimizer=optimizer, steps=steps, epochs=epochs, minutes=minutes,
                         random_state=random_state, threads=threads, options=options, verbose=verbose,
                         callback=callback, warm_start=warm_start)
        self.symbols, self.unknown = symbols, unknown

    def _more_tags_of(self, tags: Any) -> Any:
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        return tags

    def fit(self, X: Any, y: Any = None) -> SymbolModel:
        """Train on a text, or on a list of texts."""
        self._check_unknown()
        return self._set(self._trained(_data.texts(_texts(X, "fit")), **self._reading(self._continues)))

    def partial_fit(self, X: Any, y: Any = None) -> SymbolModel:
        """Train for one pass over texts, from the fitted model if there is one.

        The first call fixes the symbols; ``unknown`` determines how later texts with other symbols are treated. The
        default optimizer is Adam with a constant learning rate. The model must be one that is trained by gradients,
        such as ``lstm:128``.
        """
        self._check_unknown()
        return self._set(self._trained_further(_data.texts(_texts(X, "partial_fit")), **self._reading(True)))

    def _reading(self, continues: bool) -> dict[str, Any]:
        settings = {"symbols": self.symbols}
        if continues and self.unknown != "error":
            settings["unknown"] = "skip"
        return settings

    def _check_unknown(self) -> None:
        if self.unknown not in ("error", "skip", "surprise"):
            raise UsageError(f'unknown must be "error", "skip" or "surprise", not {self.unknown!r}')

    def _scored(self, X: Any, who: str) -> list[tuple[float, int]]:
        """Return, for each text, its surprisal in nats and the number of scored symbols."""
        model: Model = self.model_
        self._check_unknown()
        found = []
        for text in _texts(X, who):
            count, surprise = model._unknown_symbols(text) if self.unknown == "surprise" else (0, 0.0)
            try:
                nats = model.score(text, unknown="error" if self.unknown == "error" else "skip", threads=1)
            except DataError:
                if count == 0:
                    raise
                nats = numpy.empty(0, dtype=numpy.float32)  # all symbols are unknown
            found.append((float(numpy.nansum(nats, dtype=float)) + surprise, int((~numpy.isnan(nats)).sum()) + count))
        return found

    def score_samples(self, X: Any) -> Floats:
        """Return the log-probability of each text in nats."""
        return numpy.array([-nats for nats, _ in self._scored(X, "score_samples")])

    def score(self, X: Any, y: Any = None) -> float:
        """Return the log-probability per symbol over all texts; higher is better."""
        scored = self._scored(X, "score")
        predicted = sum(count for _, count in scored)
        if predicted == 0:
            raise UsageError("score: the texts have no predicted symbols")
        return -sum(nats for nats, _ in scored) / predicted

    def sample(self, n_samples: int = 1, *, length: int = 256, random_state: RandomState = None,
               **options: Any) -> list[Any]:
        """Draw texts from the model. ``options`` are those of ``Model.sample``."""
        seed = seed_of(self.random_state if random_state is None else random_state)
        return self.model_.sample(length, count=n_samples, seed=seed, **options)


def _texts(X: Any, who: str) -> list[Any]:
    """Return a list of texts; a single text becomes a list of one."""
    texts = [X] if isinstance(X, (str, bytes)) else as_list(X, who, "texts")
    for i, text in enumerate(texts):
        if not isinstance(text, (str, bytes)):
            raise UsageError(f"{who}: text {i} must be a str or bytes, not {type(text).__name__}")
    if not texts:
        raise UsageError(f"{who}: there are no texts")
    return texts
