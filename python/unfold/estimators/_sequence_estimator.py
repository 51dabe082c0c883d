"""The base class of the estimators of sequences of symbols or numbers."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from .._base import BaseEstimator, classes_of
from ..errors import UsageError
from .._feature_names import require_feature_names
from ._sequences import Sequences


class SequenceEstimator(BaseEstimator):
    """Base class of the classifier and the tagger for sequences of symbols or numbers: their data and classes."""

    _requires_y = True
    _empty_texts = False  # whether a text without words is a sequence, of one missing entry

    classes_: NDArray[Any]
    numeric_: bool
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def _more_tags_of(self, tags: Any) -> Any:
        tags.input_tags.string = True
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = True
        return tags

    def _read(self, X: Any, who: str) -> Sequences:
        self._require_fitted()
        require_feature_names(X, getattr(self, "feature_names_in_", None))
        sequences = Sequences(X, who, self._empty_texts).like(self.numeric_, getattr(self, "n_features_in_", 0), who)
        if sequences.names is None:
            sequences.names = getattr(self, "feature_names_in_", None)
        return sequences

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
        continues = self._continues or (who == "partial_fit" and self.__sklearn_is_fitted__())
        return self._read(X, who) if continues else Sequences(X, who, self._empty_texts)
