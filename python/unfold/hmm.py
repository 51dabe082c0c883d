"""Hidden Markov models with the interface of hmmlearn: ``GaussianHMM``, ``GMMHMM``, ``CategoricalHMM``.

    p(s_1 = i) = startprob_[i],    p(s_t+1 = j | s_t = i) = transmat_[i, j],    p(x_t | s_t = j): the emissions

Models are fitted by expectation-maximization (Baum, Petrie, Soules & Weiss 1970). With the same initial parameters, the
fitted parameters, scores and paths are the same as those of hmmlearn. In addition:

- Observations may be missing (NaN).
- Transitions may be restricted (``allowed_transitions``).
- Parameters that are initialized at random are fitted from several random initializations (``n_init``), and the best
  fit is kept.
- Sequences may have weights (``sample_weight``).

Data is an array ``[positions, numbers]`` of concatenated sequences, whose lengths are in ``lengths``; by default, the
array is one sequence.
"""

from __future__ import annotations

import copy
import logging
import math
from dataclasses import dataclass, field
from typing import Any, Optional, TypeVar

import numpy
from numpy.typing import NDArray

from . import _core, _data
from ._base import Parameters, RandomState, generator_of, raise_not_fitted, weights_of
from .errors import DataError, UsageError

__all__ = ["CategoricalHMM", "ConvergenceMonitor", "GMMHMM", "GaussianHMM"]

Floats = NDArray[numpy.float64]
Integers = NDArray[numpy.int64]
Weights = Optional[Floats]  # one number per sequence or position; None: all are 1
H = TypeVar("H", bound="_HiddenMarkovModel")


class _CollapsedError(UsageError):
    """A covariance is not positive definite, or the log-likelihood is not finite, for one initialization."""

logger = logging.getLogger("unfold.hmm")

_COVARIANCES = ("spherical", "diag", "full", "tied")


@dataclass
class ConvergenceMonitor:
    """The progress of expectation-maximization.

    Attributes
    ----------
    history
        The log-likelihood, or log posterior, before each iteration.
    iter
        The number of iterations.
    """

    tol: float
    n_iter: int
    verbose: bool = False
    history: list[float] = field(default_factory=list)
    iter: int = 0

    def report(self, log_prob: float) -> None:
        """Record the log-likelihood of an iteration."""
        if self.verbose:
            logger.warning("iteration %d: log-likelihood %.8f", self.iter + 1, log_prob)
        self.history.append(log_prob)
        self.iter += 1

    @property
    def converged(self) -> bool:
        """Whether the last iteration gained less than ``tol``, or the maximum number of iterations was reached."""
        gained = len(self.history) < 2 or self.history[-1] - self.history[-2] >= self.tol
        return self.iter == self.n_iter or not gained


def _log(x: Any) -> Floats:
    with numpy.errstate(divide="ignore"):
        return numpy.asarray(numpy.log(numpy.asarray(x, dtype=float)))


def _normalized(x: Floats) -> Floats:
    """Return rows that sum to 1; rows of zeros stay as they are."""
    total = x.sum(axis=-1, keepdims=True)
    return numpy.asarray(x / numpy.where(total == 0, 1, total))


class _HiddenMarkovModel(Parameters):
    """The chain of states, common to all emissions."""

    n_components: int
    startprob_prior: Any
    transmat_prior: Any
    algorithm: str
    random_state: RandomState
    n_iter: int
    tol: float
    verbose: bool
    params: str
    init_params: str
    n_init: Optional[int]
    allowed_transitions: Any

    startprob_: Floats
    transmat_: Floats
    monitor_: ConvergenceMonitor
    n_features: Any

    #: the letters of ``params`` for the parameters of the emissions, and their attributes
    _emissions: dict[str, str] = {}

    # Implemented by the emission models.

    def _read(self, X: Any) -> Floats:
        raise NotImplementedError

    def _initialize_emissions(self, X: Floats, random: numpy.random.RandomState, weights: Weights) -> None:
        raise NotImplementedError

    def _check_emissions(self) -> None:
        raise NotImplementedError

    def _log_emissions(self, X: Floats) -> Floats:
        raise NotImplementedError

    def _maximize_emissions(self, X: Floats, posteriors: Floats) -> None:
        raise NotImplementedError

    def _draw(self, state: int, random: numpy.random.RandomState) -> Any:
        raise NotImplementedError

    def _count_emission_parameters(self) -> dict[str, int]:
        raise NotImplementedError

    # The public interface.

    def fit(self: H, X: Any, lengths: Any = None, *, sample_weight: Any = None) -> H:
        """Fit the model by expectation-maximization.

        Parameters
        ----------
        X
            Observations ``[positions, numbers]``; NaN is a missing value.
        lengths
            The lengths of the sequences that ``X`` contains; None: one sequence.
        sample_weight
            One weight per sequence, which multiplies its log-likelihood and its expected counts: a sequence of weight 2
            counts like two equal sequences, and sequences of weight 0 are left out. Positions have no weights, because
            the states of a sequence depend on each other: a position is not a separate example.
        """
        rows = self._read(X)
        ends = _ends(rows, lengths)
        rows, ends, weights = _weighted(rows, ends, sample_weight)
        random = generator_of(self.random_state)
        drawn = any(self._initializes(letter) for letter in self.init_params)
        starts = self.n_init if self.n_init is not None else 5 if drawn else 1
        if starts < 1:
            raise UsageError(f"n_init must be at least 1, not {starts}")
        best: Optional[H] = None
        best_score = -math.inf
        failure: Optional[_CollapsedError] = None
        for _ in range(starts if drawn else 1):
            candidate = copy.deepcopy(self)
            candidate.n_features = rows.shape[1] if self._emissions.get("m") else getattr(self, "n_features", None)
            try:
                score = candidate._fit_once(rows, ends, random, weights)
            except _CollapsedError as error:
                failure = error
                continue
            if best is None or score > best_score:
                best, best_score = candidate, score
        if best is None:
            assert failure is not None
            raise failure
        for name, value in vars(best).items():
            if name not in self._names() or name == "n_features":
                setattr(self, name, value)
        return self

    def _initializes(self, letter: str) -> bool:
        return letter in "st" or letter in self._emissions

    def _fit_once(self, X: Floats, ends: Integers, random: numpy.random.RandomState, weights: Weights) -> float:
        k = self.n_components
        of_positions = None if weights is None else numpy.repeat(weights, numpy.diff(ends, prepend=0))
        allowed = self._allowed()
        if "s" in self.init_params:
            self.startprob_ = random.dirichlet(numpy.ones(k))
        if "t" in self.init_params:
            self.transmat_ = _normalized(random.dirichlet(numpy.ones(k), size=k) * allowed)
        self._initialize_emissions(X, random, of_positions)
        self._check()
        self.monitor_ = ConvergenceMonitor(self.tol, self.n_iter, bool(self.verbose))
        with numpy.errstate(divide="ignore", invalid="ignore"):  # the result is checked
            for _ in range(self.n_iter):
                likelihoods, posteriors, starts, moves = self._expectations(X, ends, weights=weights)
                if of_positions is not None:
                    posteriors *= of_positions[:, None]
                self._maximize(X, posteriors, starts, moves, allowed)
                self.monitor_.report(_weighted_sum(likelihoods, weights))
                if self.monitor_.converged:
                    break
            score = _weighted_sum(self._expectations(X, ends, pairs=False)[0], weights)
        if not math.isfinite(score):
            raise _CollapsedError("fit: the log-likelihood is not finite, because the data has probability 0 or a "
                                  "variance became 0; use fewer states or Gaussians, or a prior for the covariances")
        return score

    def _allowed(self) -> NDArray[numpy.bool_]:
        shape = (self.n_components, self.n_components)
        if self.allowed_transitions is None:
            return numpy.ones(shape, dtype=bool)
        allowed = numpy.asarray(self.allowed_transitions, dtype=bool)
        if allowed.shape != shape or not allowed.any(axis=1).all():
            raise UsageError(f"allowed_transitions must have shape {shape} and allow a transition from every state")
        return allowed

    def _maximize(self, X: Floats, posteriors: Floats, starts: Floats, moves: Floats,
                  allowed: NDArray[numpy.bool_]) -> None:
        if "s" in self.params:
            counts = numpy.maximum(self.startprob_prior - 1 + starts, 0)
            self.startprob_ = _normalized(numpy.where(self.startprob_ == 0, 0, counts))
        if "t" in self.params:
            counts = numpy.maximum(self.transmat_prior - 1 + moves, 0) * allowed
            self.transmat_ = _normalized(numpy.where(self.transmat_ == 0, 0, counts))
        self._maximize_emissions(X, posteriors)

    def _expectations(self, X: Floats, ends: Integers, pairs: bool = True,
                      weights: Weights = None) -> tuple[Floats, Floats, Floats, Floats]:
        """Return log-likelihoods and posteriors, and the expected starts and transitions times the weights."""
        found: tuple[Floats, Floats, Floats, Floats] = _core.hmm_expectations(
            _log(self.startprob_), _log(self.transmat_), numpy.ascontiguousarray(self._log_emissions(X)), ends, pairs,
            weights)
        return found

    def _check(self) -> None:
        k = self.n_components
        self.startprob_ = numpy.asarray(self.startprob_, dtype=float)
        self.transmat_ = numpy.asarray(self.transmat_, dtype=float)
        if self.startprob_.shape != (k,):
            raise UsageError(f"startprob_ must have length n_components, {k}, not shape {self.startprob_.shape}")
        if self.transmat_.shape != (k, k):
            raise UsageError(f"transmat_ must have shape (n_components, n_components), {(k, k)}, not "
                             f"{self.transmat_.shape}")
        _check_sums(self.startprob_, "startprob_")
        # A state without observed transitions has a row of zeros.
        _check_sums(self.transmat_[self.transmat_.any(axis=1)], "transmat_")
        self._check_emissions()

    def _require_fitted(self) -> None:
        if not hasattr(self, "startprob_") or not hasattr(self, "transmat_"):
            raise_not_fitted(self)

    def _fitted_data(self, X: Any, lengths: Any) -> tuple[Floats, Integers]:
        self._require_fitted()
        self._check()
        rows = self._read(X)
        return rows, _ends(rows, lengths)

    def score_samples(self, X: Any, lengths: Any = None) -> tuple[float, Floats]:
        """Return the log-likelihood and the posteriors ``[positions, states]``."""
        likelihoods, posteriors, _, _ = self._expectations(*self._fitted_data(X, lengths), pairs=False)
        return float(likelihoods.sum()), posteriors

    def score(self, X: Any, lengths: Any = None) -> float:
        """Return the log-likelihood."""
        return self.score_samples(X, lengths)[0]

    def predict_proba(self, X: Any, lengths: Any = None) -> Floats:
        """Return the posteriors ``[positions, states]``."""
        return self.score_samples(X, lengths)[1]

    def decode(self, X: Any, lengths: Any = None, algorithm: str | None = None) -> tuple[float, Integers]:
        """Return the most probable states.

        Parameters
        ----------
        X, lengths
            The observations, as for fit.
        algorithm
            "viterbi": the most probable path, and the joint log-probability of this path and the observations. "map":
            the most probable state at each position, and the expected number of correct states. None: the algorithm of
            the constructor.
        """
        algorithm = algorithm or self.algorithm
        rows, ends = self._fitted_data(X, lengths)
        if algorithm == "map":
            posteriors = self._expectations(rows, ends, pairs=False)[1]
            return float(posteriors.max(axis=1).sum()), posteriors.argmax(axis=1)
        if algorithm != "viterbi":
            raise UsageError(f'algorithm must be "viterbi" or "map", not {algorithm!r}')
        scores, states = _core.hmm_best_path(_log(self.startprob_), _log(self.transmat_),
                                             numpy.ascontiguousarray(self._log_emissions(rows)), ends)
        return float(scores.sum()), states

    def predict(self, X: Any, lengths: Any = None) -> Integers:
        """Return the most probable states of ``decode``."""
        return self.decode(X, lengths)[1]

    def sample(self, n_samples: int = 1, random_state: RandomState = None,
               currstate: int | None = None) -> tuple[NDArray[Any], Integers]:
        """Draw a sequence.

        Parameters
        ----------
        n_samples
            The number of positions.
        random_state
            The generator or its seed; None: the value passed to the constructor.
        currstate
            The state of the first position; None: drawn.

        Returns
        -------
        (observations, states)
        """
        self._require_fitted()
        self._check()
        random = generator_of(self.random_state if random_state is None else random_state)
        moves = numpy.cumsum(self.transmat_, axis=1)
        if currstate is None:
            currstate = int((numpy.cumsum(self.startprob_) > random.rand()).argmax())
        states, drawn = [currstate], [self._draw(currstate, random)]
        for _ in range(n_samples - 1):
            states.append(int((moves[states[-1]] > random.rand()).argmax()))
            drawn.append(self._draw(states[-1], random))
        return numpy.atleast_2d(drawn), numpy.array(states, dtype=numpy.int64)

    def get_stationary_distribution(self) -> Floats:
        """Return the stationary distribution of the states, which the transitions leave unchanged."""
        self._require_fitted()
        k = self.n_components
        equations = numpy.vstack([self.transmat_.T - numpy.eye(k), numpy.ones(k)])
        found = numpy.linalg.lstsq(equations, numpy.append(numpy.zeros(k), 1), rcond=None)[0]
        return _normalized(numpy.maximum(found, 0))

    def _count_parameters(self) -> int:
        k = self.n_components
        counts = {"s": k - 1, "t": k * (k - 1), **self._count_emission_parameters()}
        return sum(count for letter, count in counts.items() if letter in self.params)

    def aic(self, X: Any, lengths: Any = None) -> float:
        """Return the Akaike information criterion; smaller is better."""
        return -2 * self.score(X, lengths) + 2 * self._count_parameters()

    def bic(self, X: Any, lengths: Any = None) -> float:
        """Return the Bayesian information criterion; smaller is better."""
        return -2 * self.score(X, lengths) + self._count_parameters() * math.log(len(self._read(X)))

    def _repr_html_(self) -> str:
        if not hasattr(self, "transmat_"):
            return f"<code>{self!r}</code>"
        rows = "".join(f"<tr><th>{i}</th><td>{start:.3g}</td>" + "".join(f"<td>{p:.3g}</td>" for p in row) + "</tr>"
                       for i, (start, row) in enumerate(zip(self.startprob_, self.transmat_)))
        heads = "".join(f"<th>to {j}</th>" for j in range(self.n_components))
        return f"<code>{self!r}</code><table><tr><th>state</th><th>start</th>{heads}</tr>{rows}</table>"


def _ends(X: Floats, lengths: Any) -> Integers:
    if lengths is None:
        return numpy.array([len(X)], dtype=numpy.int64)
    array = numpy.asarray(lengths, dtype=numpy.int64).ravel()
    if array.sum() != len(X) or (array < 1).any():
        raise UsageError(f"lengths must be at least 1 and sum to the number of positions: {len(X)}, not {array.sum()}")
    return numpy.cumsum(array)


def _weighted(X: Floats, ends: Integers, sample_weight: Any) -> tuple[Floats, Integers, Weights]:
    """Return the sequences whose weight is not 0, and their weights."""
    if sample_weight is None:
        return X, ends, None
    if len(ends) < ends[-1] and numpy.shape(sample_weight) == (ends[-1],):
        raise UsageError(f"fit: sample_weight has one weight per position, but positions are not separate examples; pass "
                         f"one weight for each of the {len(ends)} sequences that lengths define")
    weights = weights_of(sample_weight, len(ends), "fit")
    lengths, kept = numpy.diff(ends, prepend=0), weights > 0
    rest: Weights = None if (weights[kept] == 1).all() else weights[kept]
    return X[numpy.repeat(kept, lengths)], numpy.cumsum(lengths[kept]), rest


def _weighted_sum(values: Floats, weights: Weights) -> float:
    return float((values if weights is None else values * weights).sum())


def _check_sums(x: Floats, name: str) -> None:
    if (x < 0).any() or not numpy.allclose(x.sum(axis=-1), 1):
        raise UsageError(f"{name} must contain probabilities that sum to 1, not {x.sum(axis=-1)}")


#: Models of hmmlearn that this module does not have, and what to use instead.
_OTHER_MODELS = {
    "MultinomialHMM": "CategoricalHMM emits single symbols; for other counts, use GaussianHMM on their square roots",
    "PoissonHMM": "use GaussianHMM on the square roots of the counts",
    "VariationalCategoricalHMM": "use CategoricalHMM with transmat_prior, startprob_prior and emissionprob_prior",
    "VariationalGaussianHMM": "use GaussianHMM with transmat_prior, startprob_prior and covars_prior",
}


def __getattr__(name: str) -> Any:
    if name in _OTHER_MODELS:
        raise AttributeError(f"unfold.hmm has no {name}; {_OTHER_MODELS[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _vectors(X: Any, who: str) -> Floats:
    if isinstance(X, (list, tuple)) and X and numpy.ndim(X[0]) == 2:
        raise UsageError(f"{who}: X is a list of sequences; pass numpy.concatenate(X), and "
                         "lengths=[len(x) for x in X]")
    rows = numpy.asarray(_data.as_numbers(X, who), dtype=float)
    if rows.ndim == 1:
        raise UsageError(f"{who}: X must have shape [positions, numbers], not {rows.shape}. Expected 2D array, got 1D "
                         "array instead: use X.reshape(-1, 1) for one number per position")
    if rows.ndim != 2 or 0 in rows.shape:
        raise UsageError(f"{who}: X must have shape [positions, numbers], not {rows.shape}")
    if numpy.isinf(rows).any():
        raise DataError(f"{who}: X contains infinity; use NaN for missing values")
    return rows


def _mean(X: Floats, weights: Weights) -> Floats:
    return numpy.asarray(X.mean(axis=0) if weights is None else numpy.average(X, axis=0, weights=weights))


def _covariance(X: Floats, weights: Weights) -> Floats:
    """Return the covariance of rows; those of an integer weight count as often."""
    if weights is None:
        return numpy.atleast_2d(numpy.cov(X.T))
    centered, total = X - _mean(X, weights), weights.sum()
    scatter = numpy.einsum("t,ti,tj->ij", weights, centered, centered)
    return numpy.asarray(scatter / (total - 1 if total >= 2 else total))


def _centers(X: Floats, count: int, random: numpy.random.RandomState, weights: Weights = None) -> Floats:
    """Return cluster centers: Lloyd's algorithm from rows drawn far from each other (Arthur & Vassilvitskii 2007)."""
    if len(X) < count:
        raise DataError(f"fit: {len(X)} positions are too few for {count} states or components")
    any_row = None if weights is None else weights / weights.sum()
    centers = X[[random.randint(len(X)) if any_row is None else random.choice(len(X), p=any_row)]]
    for _ in range(count - 1):
        distances = ((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1)
        if weights is not None:
            distances *= weights
        total = distances.sum()
        next_row = random.choice(len(X), p=distances / total) if total > 0 else random.randint(len(X))
        centers = numpy.vstack([centers, X[next_row]])
    for _ in range(100):
        nearest = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        moved = numpy.array([_mean(X[nearest == c], None if weights is None else weights[nearest == c])
                             if (nearest == c).any() else centers[c] for c in range(count)])
        if numpy.array_equal(moved, centers):
            break
        centers = moved
    return centers


def _log_gaussians(X: Floats, means: Floats, covars: Floats) -> Floats:
    """Return log-densities [positions, K]; covariances [K, n, n] or variances [K, n]. NaN is integrated out."""
    holes = numpy.isnan(X)
    if not holes.any():
        return _log_complete(X, means, covars)
    result = numpy.zeros((len(X), len(means)))
    for pattern, rows in _patterns(holes):
        known = ~pattern
        if known.any():
            inner = covars[:, known] if covars.ndim == 2 else covars[:, known][:, :, known]
            result[rows] = _log_complete(X[rows][:, known], means[:, known], inner)
    return result


def _patterns(holes: NDArray[numpy.bool_]) -> list[tuple[NDArray[numpy.bool_], NDArray[Any]]]:
    """Return the distinct patterns of missing values and the rows of each pattern."""
    patterns, which = numpy.unique(holes, axis=0, return_inverse=True)
    return [(pattern, numpy.flatnonzero(which.ravel() == i)) for i, pattern in enumerate(patterns)]


def _log_complete(X: Floats, means: Floats, covars: Floats) -> Floats:
    n = X.shape[1]
    result = numpy.empty((len(X), len(means)))
    for k, mean in enumerate(means):
        difference = X - mean
        if covars.ndim == 2:
            squares, log_det = (difference**2 / covars[k]).sum(axis=1), numpy.log(covars[k]).sum()
        else:
            try:
                factor = numpy.linalg.cholesky(covars[k])
            except numpy.linalg.LinAlgError:
                raise _CollapsedError(f"the covariance of state {k} must be symmetric and positive definite") from None
            squares = (numpy.linalg.solve(factor, difference.T) ** 2).sum(axis=0)
            log_det = 2 * numpy.log(numpy.diag(factor)).sum()
        result[:, k] = -0.5 * (n * math.log(2 * math.pi) + log_det + squares)
    return result


class GaussianHMM(_HiddenMarkovModel):
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
        (covars_). Set the attributes of all others before fit.
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
        rows = _vectors(X, "GaussianHMM")
        if hasattr(self, "means_") and rows.shape[1] != numpy.shape(self.means_)[1] and "m" not in self.init_params:
            raise UsageError(f"X has {rows.shape[1]} features, but GaussianHMM is expecting "
                             f"{numpy.shape(self.means_)[1]} features as input")
        return rows

    def _initialize_emissions(self, X: Floats, random: numpy.random.RandomState, weights: Weights) -> None:
        if self.covariance_type not in _COVARIANCES:
            raise UsageError(f"covariance_type must be one of {', '.join(_COVARIANCES)}, not {self.covariance_type!r}")
        complete = _imputed(X, weights)
        if "m" in self.init_params:
            self.means_ = _centers(complete, self.n_components, random, weights)
        if "c" in self.init_params:
            covariance = _covariance(complete, weights) if len(X) > 1 else numpy.zeros((X.shape[1],) * 2)
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
        if X.shape[1] != self.means_.shape[1]:
            raise UsageError(f"X has {X.shape[1]} features, but GaussianHMM is expecting {self.means_.shape[1]} "
                             "features as input")
        return _log_gaussians(X, self.means_, self._spread())

    def _moments(self, X: Floats, posteriors: Floats, squares: bool) -> tuple[Floats, Floats]:
        """Return the expected sums of x, and of x x' or its diagonal. Missing values are replaced by expectations."""
        k, n = self.means_.shape
        diagonal = self.covariance_type in ("spherical", "diag")
        first, second = numpy.zeros((k, n)), numpy.zeros((k, n) if diagonal else (k, n, n))
        holes = numpy.isnan(X)
        spread = self._spread()
        for pattern, rows in _patterns(holes) if holes.any() else [(numpy.zeros(n, dtype=bool), slice(None))]:
            for state in range(k):
                weights = posteriors[rows, state]
                filled, rest = _filled(X[rows], pattern, self.means_[state], spread[state])
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


def _filled(X: Floats, pattern: NDArray[numpy.bool_], mean: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Return rows with missing values replaced by their conditional means, and their conditional covariance."""
    rest = numpy.zeros_like(spread)
    if not pattern.any():
        return X, rest
    filled, known = X.copy(), ~pattern
    if spread.ndim == 1:
        filled[:, pattern] = mean[pattern]
        rest[pattern] = spread[pattern]
        return filled, rest
    inner = spread[numpy.ix_(pattern, pattern)].copy()
    expected = numpy.broadcast_to(mean[pattern], (len(X), int(pattern.sum())))
    if known.any():
        gain = numpy.linalg.solve(spread[numpy.ix_(known, known)], spread[numpy.ix_(known, pattern)])
        expected = expected + numpy.einsum("ti,ij->tj", X[:, known] - mean[known], gain)
        inner -= spread[numpy.ix_(pattern, known)] @ gain
    filled[:, pattern] = expected
    rest[numpy.ix_(pattern, pattern)] = inner
    return filled, rest


def _imputed(X: Floats, weights: Weights = None) -> Floats:
    """Return rows with missing values replaced by the means of the columns."""
    holes = numpy.isnan(X)
    if not holes.any():
        return X
    counts = (~holes).sum(axis=0) if weights is None else weights @ ~holes
    if not counts.all():
        raise DataError(f"fit: column {int(counts.argmin())} of X contains only NaN (missing values); leave out "
                        "this column")
    sums = numpy.nansum(X if weights is None else weights[:, None] * X, axis=0)
    return numpy.where(holes, sums / counts, X)


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


class CategoricalHMM(_HiddenMarkovModel):
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
        try:
            rows = _vectors(X, "CategoricalHMM")
        except DataError as error:
            if "not numeric" not in str(error):
                raise
            raise DataError("CategoricalHMM: X must contain numbers of symbols, 0, 1, 2, ...; number texts with "
                            "names, X = numpy.unique(texts, return_inverse=True) and X.reshape(-1, 1)") from None
        known = rows[~numpy.isnan(rows)]
        if rows.shape[1] != 1 or (known < 0).any() or (known % 1).any():
            raise UsageError("CategoricalHMM: X must have shape [positions, 1] and contain symbols: 0, 1, 2, ...")
        return rows

    def _initialize_emissions(self, X: Floats, random: numpy.random.RandomState, weights: Weights) -> None:
        symbols = self.n_features
        if symbols is None:
            symbols = int(numpy.nanmax(X)) + 1 if "e" in self.init_params else numpy.shape(self.emissionprob_)[1]
        self.n_features = symbols
        if "e" in self.init_params:
            self.emissionprob_ = _normalized(random.rand(self.n_components, symbols))

    def _check_emissions(self) -> None:
        self.emissionprob_ = numpy.atleast_2d(numpy.asarray(self.emissionprob_, dtype=float))
        if self.n_features is None:
            self.n_features = self.emissionprob_.shape[1]
        if self.emissionprob_.shape != (self.n_components, self.n_features):
            raise UsageError(f"emissionprob_ must have shape (n_components, n_features), "
                             f"{(self.n_components, self.n_features)}, not {self.emissionprob_.shape}")
        _check_sums(self.emissionprob_, "emissionprob_")

    def _log_emissions(self, X: Floats) -> Floats:
        known = ~numpy.isnan(X[:, 0])
        symbols = numpy.where(known, X[:, 0], 0).astype(int)
        if symbols.max() >= self.emissionprob_.shape[1]:
            raise DataError(f"CategoricalHMM: symbol {symbols.max()} is not one of the {self.emissionprob_.shape[1]} "
                            "symbols of the model")
        return numpy.asarray(numpy.where(known[:, None], _log(self.emissionprob_).T[symbols], 0))

    def _maximize_emissions(self, X: Floats, posteriors: Floats) -> None:
        if "e" not in self.params:
            return
        counts = numpy.zeros_like(self.emissionprob_)
        known = ~numpy.isnan(X[:, 0])
        numpy.add.at(counts.T, X[known, 0].astype(int), posteriors[known])
        self.emissionprob_ = _normalized(numpy.maximum(self.emissionprob_prior - 1 + counts, 0))

    def _draw(self, state: int, random: numpy.random.RandomState) -> Any:
        return [int((numpy.cumsum(self.emissionprob_[state]) > random.rand()).argmax())]

    def _count_emission_parameters(self) -> dict[str, int]:
        return {"e": self.n_components * (self.emissionprob_.shape[1] - 1)}


class GMMHMM(_HiddenMarkovModel):
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
        return _vectors(X, "GMMHMM")

    def _shape(self, n: int) -> tuple[int, ...]:
        k, m = self.n_components, self.n_mix
        if self.covariance_type not in _COVARIANCES:
            raise UsageError(f"covariance_type must be one of {', '.join(_COVARIANCES)}, not {self.covariance_type!r}")
        return {"spherical": (k, m), "diag": (k, m, n), "tied": (k, n, n), "full": (k, m, n, n)}[self.covariance_type]

    def _initialize_emissions(self, X: Floats, random: numpy.random.RandomState, weights: Weights) -> None:
        k, m, n = self.n_components, self.n_mix, X.shape[1]
        X = _imputed(X, weights)
        covariance = _covariance(X, weights) + self.min_covar * numpy.eye(n)
        if "w" in self.init_params:
            self.weights_ = numpy.full((k, m), 1 / m)
        if "m" in self.init_params:
            centers = _centers(X, k, random, weights)
            nearest = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
            self.means_ = numpy.stack([
                _centers(X[nearest == c], m, random, None if weights is None else weights[nearest == c])
                if (nearest == c).sum() >= m
                else random.multivariate_normal(centers[c], covariance, size=m) for c in range(k)])
        if "c" in self.init_params:
            single = {"spherical": numpy.diag(covariance).mean(), "diag": numpy.diag(covariance)}
            self.covars_ = numpy.broadcast_to(single.get(self.covariance_type, covariance), self._shape(n)).copy()

    def _check_emissions(self) -> None:
        self.weights_ = numpy.asarray(self.weights_, dtype=float)
        self.means_ = numpy.asarray(self.means_, dtype=float)
        self.covars_ = numpy.asarray(self.covars_, dtype=float)
        k, m = self.n_components, self.n_mix
        if self.weights_.shape != (k, m):
            raise UsageError(f"weights_ must have shape (n_components, n_mix), {(k, m)}, not {self.weights_.shape}")
        _check_sums(self.weights_, "weights_")
        if self.means_.ndim != 3 or self.means_.shape[:2] != (k, m):
            raise UsageError(f"means_ must have shape (n_components, n_mix, n_features), not {self.means_.shape}")
        self.n_features = self.means_.shape[2]
        if self.covars_.shape != self._shape(self.n_features):
            raise UsageError(f"{self.covariance_type} covars must have shape {self._shape(self.n_features)}, not "
                             f"{self.covars_.shape}")

    def _log_components(self, X: Floats) -> Floats:
        """Return log w N(x) [positions, states, mix]."""
        k, m, n = self.means_.shape
        if X.shape[1] != n:
            raise UsageError(f"X has {X.shape[1]} features, but GMMHMM is expecting {n} features as input")
        densities = _log_gaussians(X, self.means_.reshape(k * m, n), self._spread()).reshape(len(X), k, m)
        return numpy.asarray(densities + _log(self.weights_))

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
        for pattern, which in _patterns(numpy.isnan(X)):
            for g in range(k * m):
                rows[which, g], rest = _filled(X[which], pattern, self.means_.reshape(k * m, n)[g], spread[g])
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
