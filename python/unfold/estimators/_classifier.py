"""The classifier of sequences and of rows of a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy
from numpy.typing import NDArray

from .. import _data
from .._base import Callback, RandomState, class_weights_of, labels_of, require_equal_lengths, weights_of
from .._public import set_module
from ..errors import UsageError
from .._feature_names import require_feature_names
from ._rows import Rows
from ._sequence_estimator import SequenceEstimator
from ._sequences import Sequences

Floats = NDArray[numpy.float64]

#: Settings with which nothing is selected (docs/defaults.md).
_CHOICES = ("model", "optimizer", "steps", "epochs", "minutes", "window", "start_from")


@set_module("unfold.estimators")
class SequenceClassifier(SequenceEstimator):
    """Predict one label per sequence, or per row of a table.

    An array ``[N, T]`` can contain series, or rows of a table whose columns have different meanings and scales. If no
    model is given, both are compared by cross-validation: in a row, each column is standardized separately. Tables with
    columns of numbers and of strings, or with several columns of strings and texts of several words among them, contain
    rows. ``options={"rows": "independent"}`` always reads rows, and
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
        The names of the columns, if ``X`` is a table whose column names are strings.

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
    _empty_texts = True

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
            NaN for missing values; or symbols: lists of strings, or texts, which are split into words. Texts can be a
            list, a Series or a table with one column of strings; an empty text, None or NaN is a missing text.
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
        table = Rows.of_table(X, who) if stated != "sequence" else None
        if table is not None:
            return [table]
        sequences = Sequences(X, who, self._empty_texts)
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
        require_feature_names(X, getattr(self, "feature_names_in_", None))
        rows = Rows.of_table(X, who, known=True) or Rows.of_sequences(Sequences(X, who, self._empty_texts), X)
        if rows is None:
            raise UsageError(f"{who}: X must be a table with {self.n_features_in_} columns, as in fit")
        rows.like(self.n_features_in_, who)
        if not hasattr(self, "feature_names_in_"):
            rows.columns = [(f"x{i + 1}", values) for i, (_, values) in enumerate(rows.columns)]
        elif rows.names is None:
            rows.names = self.feature_names_in_
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
        sequences = self._read(X, who) if self.__sklearn_is_fitted__() else self._readings(X, who)[-1]
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
