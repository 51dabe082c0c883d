"""Hidden Markov models whose states emit vectors with mixtures of Gaussians."""

from __future__ import annotations

from typing import Any

import numpy

from .._base import RandomState
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
from ._probabilities import log_of, require_sums_of_one


@set_module("unfold.hmm")
class GMMHMM(HiddenMarkovModel):
    """A hidden Markov model whose states emit mixtures of Gaussians.

    Parameters
    ----------
    n_components, n_mix
        The number of states, and of Gaussians per state.
    covariance_type
        "spherical", "diag", "full", or "tied": one matrix for all Gaussians of a state.
    weights_prior, means_prior, means_weight, covars_prior, covars_weight
        Parameters of the priors; None: priors without influence.
    startprob_prior, transmat_prior, min_covar, algorithm, random_state, n_iter, tol, verbose, n_init,
    allowed_transitions
        As for GaussianHMM.
    params, init_params
        s (startprob_), t (transmat_), m (means_), c (covars_), w (weights_).

    Attributes
    ----------
    startprob_, transmat_
        Initial and transition probabilities.
    weights_
        Weights of the Gaussians [states, mix].
    means_
        Means [states, mix, numbers].
    covars_
        Covariances [states, mix], [states, mix, numbers], [states, numbers, numbers] or
        [states, mix, numbers, numbers].

    Examples
    --------
    >>> X = numpy.random.RandomState(0).normal(size=(100, 2))
    >>> GMMHMM(2, n_mix=2, random_state=0).fit(X).weights_.shape
    (2, 2)
    """

    _emissions = {"m": "means_", "c": "covars_", "w": "weights_"}
    means_: Floats
    covars_: Floats
    weights_: Floats

    def __init__(self, n_components: int = 1, n_mix: int = 1, min_covar: float = 1e-3, startprob_prior: Any = 1.0,
                 transmat_prior: Any = 1.0, weights_prior: Any = 1.0, means_prior: Any = 0.0, means_weight: Any = 0.0,
                 covars_prior: Any = None, covars_weight: Any = None, algorithm: str = "viterbi",
                 covariance_type: str = "diag", random_state: RandomState = None, n_iter: int = 10,
                 tol: float = 1e-2, verbose: bool = False, params: str = "stmcw", init_params: str = "stmcw",
                 implementation: str = "log", n_init: int | None = None, allowed_transitions: Any = None) -> None:
        self.n_components, self.n_mix, self.min_covar = n_components, n_mix, min_covar
        self.startprob_prior, self.transmat_prior, self.weights_prior = startprob_prior, transmat_prior, weights_prior
        self.means_prior, self.means_weight = means_prior, means_weight
        self.covars_prior, self.covars_weight = covars_prior, covars_weight
        self.algorithm, self.covariance_type, self.random_state = algorithm, covariance_type, random_state
        self.n_iter, self.tol, self.verbose = n_iter, tol, verbose
        self.params, self.init_params, self.implementation = params, init_params, implementation
        self.n_init, self.allowed_transitions = n_init, allowed_transitions

    def _read(self, X: Any) -> Floats:
        return vectors_of(X, "GMMHMM")

    def _shape(self, n: int) -> tuple[int, ...]:
        k, m = self.n_components, self.n_mix
        require_covariance_type(self.covariance_type)
        return {"spherical": (k, m), "diag": (k, m, n), "tied": (k, n, n), "full": (k, m, n, n)}[self.covariance_type]

    def _initialize_emissions(self, X: Floats, random: numpy.random.RandomState, weights: Weights) -> None:
        k, m, n = self.n_components, self.n_mix, X.shape[1]
        X = filled_by_means(X, weights)
        covariance = covariance_of(X, weights) + self.min_covar * numpy.eye(n)
        if self._initializes("w"):
            self.weights_ = numpy.full((k, m), 1 / m)
        if self._initializes("m"):
            centers = cluster_centers(X, k, random, weights)
            nearest = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
            self.means_ = numpy.stack([
                cluster_centers(X[nearest == c], m, random, None if weights is None else weights[nearest == c])
                if (nearest == c).sum() >= m
                else random.multivariate_normal(centers[c], covariance, size=m) for c in range(k)])
        if self._initializes("c"):
            single = {"spherical": numpy.diag(covariance).mean(), "diag": numpy.diag(covariance)}
            chosen = numpy.asarray(single.get(self.covariance_type, covariance))
            self.covars_ = numpy.broadcast_to(chosen, self._shape(n)).copy()

    def _check_emissions(self) -> None:
        self.weights_ = numpy.asarray(self.weights_, dtype=float)
        self.means_ = numpy.asarray(self.means_, dtype=float)
        self.covars_ = numpy.asarray(self.covars_, dtype=float)
        k, m = self.n_components, self.n_mix
        if self.weights_.shape != (k, m):
            raise UsageError(f"weights_ must have shape (n_components, n_mix), {(k, m)}, not {self.weights_.shape}")
        require_sums_of_one(self.weights_, "weights_")
        if self.means_.ndim != 3 or self.means_.shape[:2] != (k, m):
            raise UsageError(f"means_ must have shape (n_components, n_mix, n_features), not {self.means_.shape}")
        self.n_features = self.means_.shape[2]
        if self.covars_.shape != self._shape(self.n_features):
            raise UsageError(f"{self.covariance_type} covars must have shape {self._shape(self.n_features)}, not "
                             f"{self.covars_.shape}")

    def _log_components(self, X: Floats) -> Floats:
        """Return log w N(x) [positions, states, mix]."""
        k, m, n = self.means_.shape
        require_features(X, n, "GMMHMM")
        densities = log_gaussians(X, self.means_.reshape(k * m, n), self._spread()).reshape(len(X), k, m)
        return numpy.asarray(densities + log_of(self.weights_))

    def _spread(self) -> Floats:
        """Return variances [states * mix, numbers], or covariances [states * mix, numbers, numbers]."""
        k, m, n = self.means_.shape
        if self.covariance_type == "spherical":
            return numpy.broadcast_to(self.covars_[:, :, None], (k, m, n)).reshape(k * m, n)
        if self.covariance_type == "diag":
            return self.covars_.reshape(k * m, n)
        each = self.covars_[:, None] if self.covariance_type == "tied" else self.covars_
        return numpy.broadcast_to(each, (k, m, n, n)).reshape(k * m, n, n)

    def _completed(self, X: Floats, shares: Floats) -> tuple[Floats, Floats]:
        """Return the rows completed by each Gaussian's conditional means, and the sums of the conditional covariances.

        The rows are [positions, states, mix, numbers]. The sums, weighted by the posteriors, are [states, mix, numbers]
        or [states, mix, numbers, numbers].
        """
        k, m, n = self.means_.shape
        spread = self._spread()
        rows, rests = numpy.empty((len(X), k * m, n)), numpy.zeros_like(spread)
        for pattern, which in patterns_of(numpy.isnan(X)):
            for g in range(k * m):
                rows[which, g], rest = filled_by_expectations(X[which], pattern, self.means_.reshape(k * m, n)[g], spread[g])
                rests[g] += shares.reshape(len(X), k * m)[which, g].sum() * rest
        return rows.reshape(len(X), k, m, n), rests.reshape(k, m, *spread.shape[1:])

    def _log_emissions(self, X: Floats) -> Floats:
        return numpy.asarray(numpy.logaddexp.reduce(self._log_components(X), axis=2))

    def _priors(self) -> tuple[Any, Any]:
        """Return covars_prior and covars_weight; the defaults give the prior no influence."""
        n, m = self.n_features, self.n_mix
        prior = {"full": 0.0, "tied": 0.0, "diag": -1.5, "spherical": -(m + 2) / 2}[self.covariance_type]
        weight = {"full": -(1.0 + n + 1.0), "tied": -(m + n + 1.0), "diag": 0.0, "spherical": 0.0}[self.covariance_type]
        return (prior if self.covars_prior is None else numpy.asarray(self.covars_prior),
                weight if self.covars_weight is None else numpy.asarray(self.covars_weight))

    def _maximize_emissions(self, X: Floats, posteriors: Floats) -> None:
        k, m, n = self.means_.shape
        logs = self._log_components(X)
        with numpy.errstate(under="ignore"):
            shares = numpy.exp(logs - numpy.logaddexp.reduce(logs, axis=2)[:, :, None]) * posteriors[:, :, None]
        counts, states = shares.sum(axis=0), posteriors.sum(axis=0)
        if numpy.isnan(X).any():
            rows, rests = self._completed(X, shares)
            totals_of_rows = numpy.einsum("ijk,ijkl->jkl", shares, rows)
        else:
            rows, rests = X[:, None, None, :], numpy.zeros(())
            totals_of_rows = numpy.einsum("ijk,il->jkl", shares, X)
        centered = rows - self.means_
        means_weight = numpy.broadcast_to(self.means_weight, (k, m))
        means_prior = numpy.broadcast_to(self.means_prior, (k, m, n))
        if "w" in self.params:
            prior = numpy.broadcast_to(self.weights_prior, (k, m)) - 1
            self.weights_ = (counts + prior) / (states + prior.sum(axis=1))[:, None]
        if "m" in self.params:
            sums = means_weight[:, :, None] * means_prior + totals_of_rows
            totals = counts + means_weight
            totals[(self.weights_ == 0) & (sums == 0).all(axis=-1)] = 1
            self.means_ = sums / totals[:, :, None]
        if "c" in self.params:
            self._maximize_covariances(shares, counts, states, centered, rests, means_weight, self.means_ - means_prior)

    def _maximize_covariances(self, shares: Floats, counts: Floats, states: Floats, centered: Floats, rests: Floats,
                              means_weight: Any, distance: Floats) -> None:
        m, n = self.n_mix, self.n_features
        prior, weight = self._priors()
        if self.covariance_type in ("diag", "spherical"):
            squares = numpy.einsum("ijk,ijkl->jkl", shares, centered**2) + means_weight[:, :, None] * distance**2 + rests
            if self.covariance_type == "diag":
                self.covars_ = (squares + 2 * weight) / (counts[:, :, None] + 1 + 2 * (prior + 1))
            else:
                self.covars_ = (squares.sum(axis=2) + 2 * weight) / (n * (counts + 1) + 2 * (prior + 1))
            return
        outer = distance[..., :, None] * distance[..., None, :] * means_weight[:, :, None, None]
        scatter = numpy.einsum("ijk,ijkl,ijkm->jklm", shares, centered, centered) + outer + rests
        if self.covariance_type == "full":
            total = counts + 1 + weight + n + 1
            self.covars_ = (scatter + numpy.swapaxes(numpy.atleast_2d(prior), -1, -2)) / total[:, :, None, None]
        else:
            total = states + m + weight + n + 1
            self.covars_ = (scatter.sum(axis=1) + numpy.swapaxes(numpy.atleast_2d(prior), -1, -2)) / total[:, None,
                                                                                                         None]

    def _draw(self, state: int, random: numpy.random.RandomState) -> Any:
        component = random.choice(self.n_mix, p=self.weights_[state])
        n = self.n_features
        if self.covariance_type == "tied":
            covariance = self.covars_[state]
        elif self.covariance_type == "full":
            covariance = self.covars_[state, component]
        else:
            covariance = numpy.diag(numpy.broadcast_to(self.covars_[state, component], (n,)))
        return random.multivariate_normal(self.means_[state, component], covariance)

    def _count_emission_parameters(self) -> dict[str, int]:
        k, m, n = self.means_.shape
        return {"m": k * m * n, "w": k * (m - 1),
                "c": {"spherical": k * m, "diag": k * m * n, "full": k * m * n * (n + 1) // 2,
                      "tied": k * n * (n + 1) // 2}[self.covariance_type]}
