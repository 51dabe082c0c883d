"""Hidden Markov models whose states emit symbols."""

from __future__ import annotations

from typing import Any

import numpy

from .. import _data
from .._base import RandomState
from .._public import set_module
from ..errors import DataError, UsageError
from ._chain import HiddenMarkovModel
from ._observations import Floats, Weights, vectors_of
from ._probabilities import log_of, normalized, require_sums_of_one


@set_module("unfold.hmm")
class CategoricalHMM(HiddenMarkovModel):
    """A hidden Markov model that emits symbols 0, 1, ..., n_features - 1.

    Parameters
    ----------
    n_components
        The number of states.
    emissionprob_prior
        The parameter of the Dirichlet prior of the emissions.
    n_features
        The number of symbols; None: the largest symbol in fit plus one.
    startprob_prior, transmat_prior, algorithm, random_state, n_iter, tol, verbose, n_init, allowed_transitions
        As for GaussianHMM.
    params, init_params
        s (startprob_), t (transmat_), e (emissionprob_).

    Attributes
    ----------
    startprob_, transmat_
        Initial and transition probabilities.
    emissionprob_
        Probabilities of the symbols [states, symbols].

    Examples
    --------
    >>> model = CategoricalHMM(2, init_params="")
    >>> model.startprob_, model.transmat_ = [0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]]
    >>> model.emissionprob_ = [[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]]
    >>> log_probability, states = model.decode([[0], [1], [2]])
    >>> states.tolist(), round(float(numpy.exp(log_probability)), 5)
    ([1, 0, 0], 0.01344)
    """

    _emissions = {"e": "emissionprob_"}
    emissionprob_: Floats

    def __init__(self, n_components: int = 1, startprob_prior: Any = 1.0, transmat_prior: Any = 1.0, *,
                 emissionprob_prior: Any = 1.0, n_features: int | None = None, algorithm: str = "viterbi",
                 random_state: RandomState = None, n_iter: int = 10, tol: float = 1e-2, verbose: bool = False,
                 params: str = "ste", init_params: str = "ste", implementation: str = "log",
                 n_init: int | None = None, allowed_transitions: Any = None) -> None:
        self.n_components, self.startprob_prior, self.transmat_prior = n_components, startprob_prior, transmat_prior
        self.emissionprob_prior, self.n_features = emissionprob_prior, n_features
        self.algorithm, self.random_state, self.n_iter, self.tol = algorithm, random_state, n_iter, tol
        self.verbose, self.params, self.init_params, self.implementation = verbose, params, init_params, implementation
        self.n_init, self.allowed_transitions = n_init, allowed_transitions

    def _read(self, X: Any) -> Floats:
        _refuse_texts(X)
        rows = vectors_of(X, "CategoricalHMM")
        known = rows[~numpy.isnan(rows)]
        if rows.shape[1] != 1 or (known < 0).any() or (known % 1).any():
            raise UsageError("CategoricalHMM: X must have shape [positions, 1] and contain symbols: 0, 1, 2, ...")
        return rows

    def _initialize_emissions(self, X: Floats, random: numpy.random.RandomState, weights: Weights) -> None:
        symbols = self.n_features
        if symbols is None:
            symbols = int(numpy.nanmax(X)) + 1 if self._initializes("e") else numpy.shape(self.emissionprob_)[1]
        self.n_features = symbols
        if self._initializes("e"):
            self.emissionprob_ = normalized(random.rand(self.n_components, symbols))

    def _check_emissions(self) -> None:
        self.emissionprob_ = numpy.atleast_2d(numpy.asarray(self.emissionprob_, dtype=float))
        if self.n_features is None:
            self.n_features = self.emissionprob_.shape[1]
        if self.emissionprob_.shape != (self.n_components, self.n_features):
            raise UsageError(f"emissionprob_ must have shape (n_components, n_features), "
                             f"{(self.n_components, self.n_features)}, not {self.emissionprob_.shape}")
        require_sums_of_one(self.emissionprob_, "emissionprob_")

    def _log_emissions(self, X: Floats) -> Floats:
        known = ~numpy.isnan(X[:, 0])
        symbols = numpy.where(known, X[:, 0], 0).astype(int)
        if symbols.max() >= self.emissionprob_.shape[1]:
            raise DataError(f"CategoricalHMM: symbol {symbols.max()} is not one of the {self.emissionprob_.shape[1]} "
                            "symbols of the model")
        return numpy.asarray(numpy.where(known[:, None], log_of(self.emissionprob_).T[symbols], 0))

    def _maximize_emissions(self, X: Floats, posteriors: Floats) -> None:
        if "e" not in self.params:
            return
        counts = numpy.zeros_like(self.emissionprob_)
        known = ~numpy.isnan(X[:, 0])
        numpy.add.at(counts.T, X[known, 0].astype(int), posteriors[known])
        self.emissionprob_ = normalized(numpy.maximum(self.emissionprob_prior - 1 + counts, 0))

    def _draw(self, state: int, random: numpy.random.RandomState) -> Any:
        return [int((numpy.cumsum(self.emissionprob_[state]) > random.rand()).argmax())]

    def _count_emission_parameters(self) -> dict[str, int]:
        return {"e": self.n_components * (self.emissionprob_.shape[1] - 1)}


def _refuse_texts(X: Any) -> None:
    """Raise DataError for texts, with the lines that number their symbols."""
    if isinstance(X, (str, bytes)):
        raise DataError("CategoricalHMM: X must contain numbers of symbols, 0, 1, 2, ..., not a text; number its "
                        "characters: names, symbols = numpy.unique(list(text), return_inverse=True), and pass "
                        "symbols.reshape(-1, 1)")
    if _data.is_table(X) or _data.is_column(X):
        X = _data.array_of_table(X, "CategoricalHMM")
    if isinstance(X, numpy.ndarray) and X.ndim > 0 and X.dtype.kind in "OUST":
        X = X.tolist()
    if not isinstance(X, (list, tuple)):
        return
    entries = [entry for row in X for entry in (row if isinstance(row, (list, tuple)) else [row])]
    if any(isinstance(entry, (str, bytes)) for entry in entries):
        raise DataError("CategoricalHMM: X must contain numbers of symbols, 0, 1, 2, ..., not strings. If each string is a "
                        "symbol: names, symbols = numpy.unique(X, return_inverse=True), and pass symbols.reshape(-1, 1). "
                        'If each string is a sequence of characters: names, symbols = numpy.unique(list("".join(X)), '
                        "return_inverse=True), and pass symbols.reshape(-1, 1) and lengths=[len(text) for text in X]")
