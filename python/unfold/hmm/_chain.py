"""The chain of states of hidden Markov models, and expectation-maximization; emissions are added by subclasses."""

from __future__ import annotations

import copy
import logging
import math
import operator
from dataclasses import dataclass, field
from typing import Any, Optional, TypeVar

import numpy
from numpy.typing import NDArray

from .. import _core
from .._base import Parameters, RandomState, generator_of, raise_not_fitted
from .._feature_names import feature_names_of, require_feature_names
from .._public import set_module
from ..errors import UsageError
from ._observations import Floats, Integers, Weights, ends_of, weighted_sum, with_weights
from ._probabilities import CollapsedError, log_of, normalized, require_sums_of_one

H = TypeVar("H", bound="HiddenMarkovModel")

logger = logging.getLogger("unfold.hmm")


@set_module("unfold.hmm")
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


class HiddenMarkovModel(Parameters):
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
    feature_names_in_: NDArray[Any]

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
        self._require_states()
        rows = self._read(X)
        ends = ends_of(rows, lengths)
        names = feature_names_of(X)
        rows, ends, weights = with_weights(rows, ends, sample_weight)
        random = generator_of(self.random_state)
        drawn = any(self._initializes(letter) for letter in self._attributes())
        starts = self.n_init if self.n_init is not None else 5 if drawn else 1
        if starts < 1:
            raise UsageError(f"n_init must be at least 1, not {starts}")
        best: Optional[H] = None
        best_score = -math.inf
        failure: Optional[CollapsedError] = None
        for _ in range(starts if drawn else 1):
            candidate = copy.deepcopy(self)
            candidate.n_features = rows.shape[1] if self._emissions.get("m") else getattr(self, "n_features", None)
            try:
                score = candidate._fit_once(rows, ends, random, weights)
            except CollapsedError as error:
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
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _require_states(self) -> None:
        if self.n_components < 1:
            raise UsageError(f"n_components must be at least 1, not {self.n_components}")

    def _initializes(self, letter: str) -> bool:
        """Return whether fit initializes a parameter: those of ``init_params``, and those that are not set."""
        return letter in self.init_params or not hasattr(self, self._attributes()[letter])

    def _attributes(self) -> dict[str, str]:
        """Return the attribute of each letter of ``params``."""
        return {"s": "startprob_", "t": "transmat_", **self._emissions}

    def _fit_once(self, X: Floats, ends: Integers, random: numpy.random.RandomState, weights: Weights) -> float:
        k = self.n_components
        of_positions = None if weights is None else numpy.repeat(weights, numpy.diff(ends, prepend=0))
        allowed = self._allowed()
        if self._initializes("s"):
            self.startprob_ = random.dirichlet(numpy.ones(k))
        if self._initializes("t"):
            self.transmat_ = normalized(random.dirichlet(numpy.ones(k), size=k) * allowed)
        self._initialize_emissions(X, random, of_positions)
        self._check()
        self.monitor_ = ConvergenceMonitor(self.tol, self.n_iter, bool(self.verbose))
        with numpy.errstate(divide="ignore", invalid="ignore"):  # the result is checked
            for _ in range(self.n_iter):
                likelihoods, posteriors, starts, moves = self._expectations(X, ends, weights=weights)
                if of_positions is not None:
                    posteriors *= of_positions[:, None]
                self._maximize(X, posteriors, starts, moves, allowed)
                self.monitor_.report(weighted_sum(likelihoods, weights))
                if self.monitor_.converged:
                    break
            score = weighted_sum(self._expectations(X, ends, pairs=False)[0], weights)
        if not math.isfinite(score):
            raise CollapsedError("fit: the log-likelihood is not finite, because the data has probability 0 or a "
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
            self.startprob_ = normalized(numpy.where(self.startprob_ == 0, 0, counts))
        if "t" in self.params:
            counts = numpy.maximum(self.transmat_prior - 1 + moves, 0) * allowed
            self.transmat_ = normalized(numpy.where(self.transmat_ == 0, 0, counts))
        self._maximize_emissions(X, posteriors)

    def _expectations(self, X: Floats, ends: Integers, pairs: bool = True,
                      weights: Weights = None) -> tuple[Floats, Floats, Floats, Floats]:
        """Return log-likelihoods and posteriors, and the expected starts and transitions times the weights."""
        found: tuple[Floats, Floats, Floats, Floats] = _core.hmm_expectations(
            log_of(self.startprob_), log_of(self.transmat_), numpy.ascontiguousarray(self._log_emissions(X)), ends, pairs,
            weights)
        return found

    def _check(self) -> None:
        self._require_states()
        k = self.n_components
        self.startprob_ = numpy.asarray(self.startprob_, dtype=float)
        self.transmat_ = numpy.asarray(self.transmat_, dtype=float)
        if self.startprob_.shape != (k,):
            raise UsageError(f"startprob_ must have length n_components, {k}, not shape {self.startprob_.shape}")
        if self.transmat_.shape != (k, k):
            raise UsageError(f"transmat_ must have shape (n_components, n_components), {(k, k)}, not "
                             f"{self.transmat_.shape}")
        require_sums_of_one(self.startprob_, "startprob_")
        # A state without observed transitions has a row of zeros.
        require_sums_of_one(self.transmat_[self.transmat_.any(axis=1)], "transmat_")
        self._check_emissions()

    def _require_fitted(self) -> None:
        if not all(hasattr(self, name) for name in self._attributes().values()):
            raise_not_fitted(self)

    def _fitted_data(self, X: Any, lengths: Any) -> tuple[Floats, Integers]:
        self._require_fitted()
        self._check()
        require_feature_names(X, getattr(self, "feature_names_in_", None))
        rows = self._read(X)
        return rows, ends_of(rows, lengths)

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
        scores, states = _core.hmm_best_path(log_of(self.startprob_), log_of(self.transmat_),
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
        if currstate is not None and not 0 <= operator.index(currstate) < self.n_components:
            raise UsageError(f"sample: currstate must be a state from 0 to {self.n_components - 1}, not {currstate}")
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
        return normalized(numpy.maximum(found, 0))

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
