"""The tagger, which predicts a label per entry of each sequence."""

from __future__ import annotations

from typing import Any, Optional

import numpy
from numpy.typing import NDArray

from .. import _data
from .._base import as_list, plain, require_equal_lengths, weights_of
from .._public import set_module
from ..errors import UsageError
from ._sequence_estimator import SequenceEstimator

Floats = NDArray[numpy.float64]


@set_module("unfold.estimators")
class SequenceTagger(SequenceEstimator):
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
