"""Language models of texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy
from numpy.typing import NDArray

from .. import _data
from .._base import BaseEstimator, Callback, RandomState, as_list, seed_of
from .._core import Model
from .._public import set_module
from ..errors import DataError, UsageError

Floats = NDArray[numpy.float64]


@set_module("unfold.estimators")
class SymbolModel(BaseEstimator):
    """A language model for texts, each of which is an independent sequence.

    Training on running text does not support weights; to give a text more influence, pass it several times.

    A text has no end symbol: ``score`` and ``score_samples`` contain the probabilities of its symbols, not the
    probability that it ends there, and ``sample`` draws ``length`` symbols. To model the ends of texts, append a symbol
    that does not occur otherwise to each of them, and stop samples at it::

        fitted = SymbolModel("ngram:3").fit([text + "\\n" for text in texts])
        fitted.sample(stop="\\n")

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
