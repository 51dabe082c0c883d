"""Hidden Markov models whose states emit vectors with Gaussian distributions."""

from __future__ import annotations

from typing import Any

import numpy

from .._base import RandomState, raise_not_fitted
from .._public import set_module
from ..errors import UsageError
from ._chain import HiddenMarkovModel
from ._gaussian_densities import (
    covariance_of,
    filled_by_expectations,
    filled_by_means,
    log_gaussians,
    patterns_of,
    require_covariance_type,
)
from ._kmeans import cluster_centers
from ._observations import Floats, Weights, require_features, vectors_of


@set_module("unfold.hmm")
class GaussianHMM(HiddenMarkovModel):
    """A hidden Markov model with Gaussian emissions.

    Parameters
    ----------
    n_components
        The number of states.
    covariance_type
        "spherical": one variance per state; "diag": one variance per number; "full": a covariance matrix per state;
        "tied": one matrix for all states.
    min_covar
        Added to the initial variances.
    startprob_prior, transmat_prior
        Parameters of the Dirichlet priors.
    means_prior, means_weight
        Mean and precision of the normal prior of the means.
    covars_prior, covars_weight
        Parameters of the covariance prior: inverse gamma or inverse Wishart.
    algorithm
        "viterbi" or "map", for decode and predict.
    random_state
        The seed of the initializations.
    n_iter, tol
        The maximum number of iterations, and the gain in log-likelihood below which fitting ends.
    verbose
        Whether iterations are logged as warnings of the logger ``unfold.hmm``; otherwise they are not logged.
    params, init_params
        The parameters that fit changes, and those that it initializes: s (startprob_), t (transmat_), m (means_), c
        (covars_). The others start from their attributes, and are also initialized if these are not set.
    n_init
        The number of random initializations, of which the best fit is kept; None: 5, or 1 if nothing is initialized.
    allowed_transitions
        A matrix [states, states] of bools; other transitions have probability 0.

    Attributes
    ----------
    startprob_, transmat_
        Initial and transition probabilities.
    means_
        Means [states, numbers].
    covars_
        Covariances [states, numbers, numbers].
    monitor_
        The ConvergenceMonitor of the fit.

    Examples
    --------
    >>> model = GaussianHMM(2, random_state=0)
    >>> X = numpy.concatenate([numpy.zeros(50), numpy.ones(50) * 9]) + numpy.sin(numpy.arange(100))
    >>> states = model.fit(X[:, None]).predict(X[:, None])
    >>> bool(states[0] != states[-1]), model.means_.shape
    (True, (2, 1))
    """

    _emissions = {"m": "means_", "c": "covars_"}
    means_: Floats
    _covars_: Floats

    def __init__(self, n_components: int = 1, covariance_type: str = "diag", min_covar: float = 1e-3,
                 startprob_prior: Any = 1.0, transmat_prior: Any = 1.0, means_prior: Any = 0, means_weight: Any = 0,
                 covars_prior: Any = 1e-2, covars_weight: float = 1, algorithm: str = "viterbi",
                 random_state: RandomState = None, n_iter: int = 10, tol: float = 1e-2, verbose: bool = False,
                 params: str = "stmc", init_params: str = "stmc", implementation: str = "log",
                 n_init: int | None = None, allowed_transitions: Any = None) -> None:
        self.n_components, self.covariance_type, self.min_covar = n_components, covariance_type, min_covar
        self.startprob_prior, self.transmat_prior = startprob_prior, transmat_prior
        self.means_prior, self.means_weight = means_prior, means_weight
        self.covars_prior, self.covars_weight = covars_prior, covars_weight
        self.algorithm, self.random_state, self.n_iter, self.tol = algorithm, random_state, n_iter, tol
        self.verbose, self.params, self.init_params, self.implementation = verbose, params, init_params, implementation
        self.n_init, self.allowed_transitions = n_init, allowed_transitions

    @property
    def covars_(self) -> Floats:
        """The covariances [states, numbers, numbers]. Assign them in the form of ``covariance_type``."""
        if not hasattr(self, "_covars_"):
            raise AttributeError("covars_")
        return _full_covariances(self._covars_, self.covariance_type, self.n_components, numpy.shape(self.means_)[1])

    @covars_.setter
    def covars_(self, covars: Any) -> None:
        array = numpy.array(covars, dtype=float)
        if self.covariance_type == "spherical":
            array = array.reshape(len(array), -1).mean(axis=1)
        if self.covariance_type in ("tied", "full") and not numpy.allclose(array, numpy.swapaxes(array, -1, -2)):
            raise UsageError("covars_ must be symmetric")
        variances = array if self.covariance_type in ("spherical", "diag") else numpy.linalg.eigvalsh(array)
        if (variances <= 0).any():
            raise UsageError("covars_ must be positive definite")
        self._covars_ = array

    def _read(self, X: Any) -> Floats:
        rows = vectors_of(X, "GaussianHMM")
        if hasattr(self, "means_") and "m" not in self.init_params:
            require_features(rows, numpy.shape(self.means_)[1], "GaussianHMM")
        return rows

    def _initialize_emissions(self, X: Floats, random: numpy.random.RandomState, weights: Weights) -> None:
        require_covariance_type(self.covariance_type)
        complete = filled_by_means(X, weights)
        if self._initializes("m"):
            self.means_ = cluster_centers(complete, self.n_components, random, weights)
        if self._initializes("c"):
            covariance = covariance_of(complete, weights) if len(X) > 1 else numpy.zeros((X.shape[1],) * 2)
            self._covars_ = _compact_covariances(covariance + self.min_covar * numpy.eye(X.shape[1]),
                                                 self.covariance_type, self.n_components)

    def _check_emissions(self) -> None:
        self.means_ = numpy.asarray(self.means_, dtype=float)
        k = self.n_components
        if self.means_.ndim != 2 or len(self.means_) != k:
            raise UsageError(f"means_ must have shape (n_components, n_features), not {self.means_.shape}")
        n = self.n_features = self.means_.shape[1]
        if not hasattr(self, "_covars_"):
            raise_not_fitted(self)
        shape = {"spherical": (k,), "diag": (k, n), "tied": (n, n), "full": (k, n, n)}[self.covariance_type]
        if self._covars_.shape != shape:
            raise UsageError(f"{self.covariance_type} covars must have shape {shape}, not {self._covars_.shape}")

    def _spread(self) -> Floats:
        """Return variances [K, n], or covariances [K, n, n]."""
        k, n = self.means_.shape
        if self.covariance_type == "spherical":
            return numpy.broadcast_to(self._covars_[:, None], (k, n))
        if self.covariance_type == "tied":
            return numpy.broadcast_to(self._covars_, (k, n, n))
        return self._covars_

    def _log_emissions(self, X: Floats) -> Floats:
        require_features(X, self.means_.shape[1], "GaussianHMM")
        return log_gaussians(X, self.means_, self._spread())

    def _moments(self, X: Floats, posteriors: Floats, squares: bool) -> tuple[Floats, Floats]:
        """Return the expected sums of x, and of x x' or its diagonal. Missing values are replaced by expectations."""
        k, n = self.means_.shape
        diagonal = self.covariance_type in ("spherical", "diag")
        first, second = numpy.zeros((k, n)), numpy.zeros((k, n) if diagonal else (k, n, n))
        holes = numpy.isnan(X)
        spread = self._spread()
        for pattern, rows in patterns_of(holes) if holes.any() else [(numpy.zeros(n, dtype=bool), slice(None))]:
            for state in range(k):
                weights = posteriors[rows, state]
                filled, rest = filled_by_expectations(X[rows], pattern, self.means_[state], spread[state])
                first[state] += numpy.einsum("t,ti->i", weights, filled)
                if squares and diagonal:
                    second[state] += numpy.einsum("t,ti->i", weights, filled**2) + weights.sum() * rest
                elif squares:
                    weighted = filled * weights[:, None]
                    second[state] += numpy.einsum("ti,tj->ij", weighted, filled) + weights.sum() * rest
        return first, second

    def _maximize_emissions(self, X: Floats, posteriors: Floats) -> None:
        weights = posteriors.sum(axis=0)
        first, second = self._moments(X, posteriors, "c" in self.params)
        if "m" in self.params:
            self.means_ = ((self.means_weight * self.means_prior + first)
                           / (self.means_weight + weights[:, None]))
        if "c" not in self.params:
            return
        distance = self.means_ - self.means_prior
        if self.covariance_type in ("spherical", "diag"):
            scatter = (self.means_weight * distance**2 + second - 2 * self.means_ * first
                       + self.means_**2 * weights[:, None])
            counts = numpy.maximum(max(self.covars_weight - 1, 0) + weights[:, None], 1e-5)
            variances = (self.covars_prior + scatter) / counts
            self._covars_ = variances.mean(axis=1) if self.covariance_type == "spherical" else variances
            return
        cross = first[:, :, None] * self.means_[:, None, :]
        scatter = (self.means_weight * distance[:, :, None] * distance[:, None, :] + second - cross
                   - numpy.swapaxes(cross, 1, 2)
                   + self.means_[:, :, None] * self.means_[:, None, :] * weights[:, None, None])
        prior_count = max(self.covars_weight - self.means_.shape[1], 0)
        if self.covariance_type == "tied":
            self._covars_ = (self.covars_prior + scatter.sum(axis=0)) / (prior_count + weights.sum())
        else:
            self._covars_ = (self.covars_prior + scatter) / (prior_count + weights[:, None, None])

    def _draw(self, state: int, random: numpy.random.RandomState) -> Any:
        return random.multivariate_normal(self.means_[state], self.covars_[state])

    def _count_emission_parameters(self) -> dict[str, int]:
        k, n = self.means_.shape
        return {"m": k * n, "c": {"spherical": k, "diag": k * n, "full": k * n * (n + 1) // 2,
                                  "tied": n * (n + 1) // 2}[self.covariance_type]}


def _compact_covariances(covariance: Floats, kind: str, states: int) -> Floats:
    """Return a covariance for every state in the form of the covariance type."""
    if kind == "spherical":
        return numpy.full(states, numpy.diag(covariance).mean())
    if kind == "diag":
        return numpy.tile(numpy.diag(covariance), (states, 1))
    return covariance.copy() if kind == "tied" else numpy.tile(covariance, (states, 1, 1))


def _full_covariances(compact: Floats, kind: str, states: int, n: int) -> Floats:
    if kind == "full":
        return compact
    if kind == "tied":
        return numpy.array([compact] * states)
    if kind == "diag":
        return numpy.array([numpy.diag(row) for row in compact])
    return numpy.asarray(compact[:, None, None] * numpy.eye(n))
