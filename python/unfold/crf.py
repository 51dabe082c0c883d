"""Conditional random fields with the interface of sklearn-crfsuite.

    p(y | x) = exp(sum_t (sum_a x_ta w_a,y_t + u_y_t-1,y_t)) / Z(x)

``CRF`` maximizes the regularized log-likelihood, which has a single maximum, so the weights equal those of CRFsuite up
to the tolerance. For features of columns, such as words and their neighbors, the model ``crf`` of the command is
faster, and all subcommands can read its files (``docs/structured.md``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Optional

import numpy
from numpy.typing import NDArray

from . import _core
from ._base import Parameters, as_list, raise_not_fitted, require_equal_lengths, weights_of
from .errors import DataError, UsageError

__all__ = ["CRF"]

Floats = NDArray[numpy.float64]
Integers = NDArray[numpy.int64]
Features = list[tuple[str, float]]

logger = logging.getLogger("unfold.crf")


def features_of(item: Any) -> Features:
    """Return the attributes of a position and their values.

    Examples
    --------
    >>> features_of({"word": "the", "title": False, "length": 3})
    [('word:the', 1.0), ('title', 0.0), ('length', 3.0)]
    >>> features_of(["a", "b"])
    [('a', 1.0), ('b', 1.0)]
    >>> features_of({"near": {"x": 0.5}})
    [('near:x', 0.5)]
    """
    if isinstance(item, Mapping):
        found: Features = []
        for name, value in item.items():
            if isinstance(value, str):
                found.append((f"{name}:{value}", 1.0))
            elif isinstance(value, (bool, int, float, numpy.number, numpy.bool_)):
                found.append((str(name), float(value)))
            else:
                found += [(f"{name}:{inner}", weight) for inner, weight in features_of(value)]
        return found
    if isinstance(item, str) or not isinstance(item, Iterable):
        raise UsageError("CRF: the features of a position must be a dict, such as {'word': 'the'}, or a list of str, not "
                         f"{type(item).__name__}")
    return [(str(name), 1.0) for name in item]


class _Attributes:
    """The attributes of all positions as a sparse matrix, by row and by attribute.

    Sequences may be empty; ``lengths`` includes them, and ``ends`` leaves them out.
    """

    def __init__(self, X: Any, who: str, numbers: dict[str, int], new: bool) -> None:
        columns: list[int] = []
        values: list[float] = []
        counts: list[int] = []
        self.lengths: list[int] = []
        for i, sequence in enumerate(as_list(X, who, "sequences")):
            if isinstance(sequence, Mapping):
                raise UsageError(f"{who}: sequence {i} is a dict, the features of one position, but X is a list of "
                                 "sequences; pass [X] for a single sequence, or use predict_single")
            items = as_list(sequence, f"{who}: sequence {i}:", "positions")
            self.lengths.append(len(items))
            for item in items:
                before = len(columns)
                for name, value in features_of(item):
                    number = numbers.setdefault(name, len(numbers)) if new else numbers.get(name)
                    if number is not None:
                        columns.append(number)
                        values.append(value)
                counts.append(len(columns) - before)
        if not self.lengths:
            raise UsageError(f"{who}: there are no sequences")
        self.values: Floats = numpy.array(values, dtype=float)
        if not numpy.isfinite(self.values).all():
            raise DataError(f"{who}: the values of features must be finite")
        self.columns: Integers = numpy.array(columns, dtype=numpy.int64)
        self.rows: Integers = numpy.repeat(numpy.arange(len(counts)), counts)
        self.positions = len(counts)
        self.ends: Integers = numpy.cumsum([length for length in self.lengths if length > 0], dtype=numpy.int64)
        self._by_column = numpy.argsort(self.columns, kind="stable")

    def split(self, values: list[Any]) -> list[list[Any]]:
        """Return values of all positions as one list per sequence."""
        ends = numpy.cumsum(self.lengths).tolist()
        return [values[end - length:end] for end, length in zip(ends, self.lengths)]

    def times(self, weights: Floats) -> Floats:
        """Return the product with weights [attributes, labels]: scores [positions, labels]."""
        return _sums(self.rows, weights[self.columns] * self.values[:, None], self.positions)

    def transposed_times(self, x: Floats, attributes: int) -> Floats:
        """Return sums over positions [attributes, labels]."""
        order = self._by_column
        return _sums(self.columns[order], x[self.rows[order]] * self.values[order, None], attributes)


def _sums(groups: Integers, terms: Floats, count: int) -> Floats:
    """Return the sums of the terms of each group; groups are sorted."""
    result = numpy.zeros((count, terms.shape[1]))
    if len(groups):
        starts = numpy.flatnonzero(numpy.append(True, groups[1:] != groups[:-1]))
        result[groups[starts]] = numpy.add.reduceat(terms, starts, axis=0)
    return result


class CRF(Parameters):
    """A linear-chain conditional random field.

    Parameters
    ----------
    algorithm
        "lbfgs" is the only algorithm: L-BFGS, or OWL-QN if ``c1`` is not 0 (Andrew & Gao 2007).
    c1, c2
        The coefficients of the L1 and of the squared L2 norm of the weights.
    min_freq
        Attributes that occur less often than this are left out.
    all_possible_states, all_possible_transitions
        Whether pairs that do not occur in the data also have weights.
    max_iterations
        The maximum number of iterations; None: 1000.
    num_memories
        The number of steps that L-BFGS remembers.
    epsilon
        Training ends when the norm of the gradient is at most this fraction of the norm of the weights.
    period, delta
        Training ends when the objective has decreased by less than the fraction ``delta`` in ``period`` iterations.
    verbose
        Whether iterations are logged as warnings of the logger ``unfold.crf``.

    Attributes
    ----------
    classes_
        The labels, in order of first occurrence.
    attributes_
        The names of the attributes.
    state_features_
        {(attribute, label): weight}, without weights of 0.
    transition_features_
        {(label, next label): weight}, without weights of 0.
    n_iter_, objective_
        The number of iterations, and the regularized negative log-likelihood.

    Examples
    --------
    >>> X = [[{"word": word} for word in "the cat saw the dog".split()]] * 3
    >>> y = [["D", "N", "V", "D", "N"]] * 3
    >>> model = CRF(c2=0.01).fit(X, y)
    >>> model.predict([[{"word": "the"}, {"word": "dog"}]])
    [['D', 'N']]
    >>> sorted(model.predict_marginals_single([{"word": "the"}])[0]) == ["D", "N", "V"]
    True
    """

    _requires_y = True

    classes_: list[str]
    attributes_: list[str]
    _states: Floats
    _transitions: Floats

    def __init__(self, algorithm: str = "lbfgs", c1: float = 0.0, c2: float = 1.0, min_freq: float = 0,
                 all_possible_states: bool = False, all_possible_transitions: bool = False,
                 max_iterations: int | None = None, num_memories: int = 6, epsilon: float = 1e-5, period: int = 10,
                 delta: float = 1e-5, verbose: bool = False) -> None:
        self.algorithm, self.c1, self.c2, self.min_freq = algorithm, c1, c2, min_freq
        self.all_possible_states, self.all_possible_transitions = all_possible_states, all_possible_transitions
        self.max_iterations, self.num_memories, self.epsilon = max_iterations, num_memories, epsilon
        self.period, self.delta, self.verbose = period, delta, verbose

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> CRF:
        """Train on sequences.

        Parameters
        ----------
        X
            For each sequence, a list of positions, which may be empty. A position is a dict of features, whose values are
            texts, numbers or bools, or a list of texts.
        y
            For each sequence, a list of labels.
        sample_weight
            One weight per sequence, which multiplies its log-likelihood: a sequence of weight 2 counts like two equal
            sequences, also for ``min_freq``, and sequences of weight 0 are left out. The norms of ``c1`` and ``c2`` do
            not depend on the weights.
        """
        if self.algorithm != "lbfgs":
            raise UsageError(f'CRF: algorithm must be "lbfgs", not {self.algorithm!r}; it finds the minimum of the '
                             "regularized likelihood, which stochastic algorithms only approach")
        if self.c1 < 0 or self.c2 < 0:
            raise UsageError(f"CRF: c1 and c2 must be at least 0, not {self.c1} and {self.c2}")
        weights: Optional[Floats] = None
        if sample_weight is not None:
            X, y = as_list(X, "fit", "sequences"), as_list(y, "fit", "lists of labels")
            require_equal_lengths(X, y, "fit")
            weights = weights_of(sample_weight, len(X), "fit")
            X, y = ([one for one, weight in zip(values, weights) if weight > 0] for values in (X, y))
            weights = weights[weights > 0]
        numbers: dict[str, int] = {}
        data = _Attributes(X, "fit", numbers, new=True)
        if data.positions == 0:
            raise UsageError("fit: all sequences are empty")
        labels, classes = self._labels(y, data.lengths)
        fitting = _Fitting(data, labels, len(numbers), len(classes), self, weights)
        states, transitions, iterations, objective = fitting.run()
        self.classes_, self.attributes_ = classes, list(numbers)
        self._numbers, self._states, self._transitions = numbers, states, transitions
        self.n_iter_, self.objective_ = iterations, objective
        return self

    @staticmethod
    def _labels(y: Any, lengths: list[int]) -> tuple[Integers, list[str]]:
        every = as_list(y, "fit", "lists of labels")
        require_equal_lengths(lengths, every, "fit")
        numbers: dict[Any, int] = {}
        flat = []
        for i, sequence in enumerate(every):
            tags = as_list(sequence, f"fit: sequence {i}:", "labels")
            if len(tags) != lengths[i]:
                raise UsageError(f"fit: sequence {i} has {lengths[i]} positions, but {len(tags)} labels")
            flat += [numbers.setdefault(tag, len(numbers)) for tag in tags]
        return numpy.array(flat, dtype=numpy.int64), list(numbers)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_states")

    def _scores(self, X: Any) -> tuple[_Attributes, Floats]:
        if not self.__sklearn_is_fitted__():
            raise_not_fitted(self)
        data = _Attributes(X, "predict", self._numbers, new=False)
        return data, data.times(self._states)

    def predict(self, X: Any) -> list[list[Any]]:
        """Return the most probable labels, as one list per sequence."""
        data, scores = self._scores(X)
        if data.positions == 0:
            return data.split([])
        _, best = _core.hmm_best_path(numpy.zeros(len(self.classes_)), self._transitions, scores, data.ends)
        return data.split([self.classes_[label] for label in best.tolist()])

    def predict_single(self, xseq: Any) -> list[Any]:
        """Return the most probable labels of one sequence."""
        return self.predict([xseq])[0]

    def predict_marginals(self, X: Any) -> list[list[dict[Any, float]]]:
        """Return the probability of every label at every position, as one list of dicts per sequence."""
        data, scores = self._scores(X)
        if data.positions == 0:
            return data.split([])
        _, marginals, _, _ = _core.hmm_expectations(numpy.zeros(len(self.classes_)), self._transitions, scores,
                                                    data.ends, False)
        return data.split([dict(zip(self.classes_, row)) for row in marginals.tolist()])

    def predict_marginals_single(self, xseq: Any) -> list[dict[Any, float]]:
        """Return the probability of every label at every position of one sequence."""
        return self.predict_marginals([xseq])[0]

    def score(self, X: Any, y: Any, *, sample_weight: Any = None) -> float:
        """Return the accuracy over all positions, weighted by one weight per sequence."""
        found = self.predict(X)
        require_equal_lengths(found, y, "score")
        right = [a == b for one, labels in zip(found, y) for a, b in zip(one, labels)]
        if not right:
            raise UsageError("score: all sequences are empty")
        weights = None if sample_weight is None else numpy.repeat(weights_of(sample_weight, len(found), "score"),
                                                                  [len(one) for one in found])
        return float(numpy.average(right, weights=weights))

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        self._require_fitted()
        rows, columns = numpy.nonzero(self._states)
        return {(self.attributes_[a], self.classes_[c]): float(self._states[a, c])
                for a, c in zip(rows.tolist(), columns.tolist())}

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        self._require_fitted()
        return {(a, b): float(weight) for a, row in zip(self.classes_, self._transitions)
                for b, weight in zip(self.classes_, row) if weight != 0}

    @property
    def num_attributes_(self) -> int:
        return len(self.attributes_)


class _Fitting:
    """The objective of a CRF as a function of the weights that occur, and its minimization.

    ``sample_weight`` has one number per sequence; None means 1 for all.
    """

    def __init__(self, data: _Attributes, labels: Integers, attributes: int, classes: int, crf: CRF,
                 sample_weight: Optional[Floats] = None) -> None:
        self.data, self.attributes, self.classes, self.crf = data, attributes, classes, crf
        lengths = numpy.array(data.lengths)
        weights = numpy.ones(len(lengths)) if sample_weight is None else sample_weight
        self.sample_weight = weights[lengths > 0]  # as data.ends, without empty sequences
        self.of_positions = numpy.repeat(weights, lengths)
        observed = numpy.zeros((data.positions, classes))
        observed[numpy.arange(data.positions), labels] = self.of_positions
        self.state_counts = data.transposed_times(observed, attributes)
        follows = numpy.ones(data.positions, dtype=bool)
        follows[0] = False
        follows[data.ends[:-1]] = False
        at = numpy.flatnonzero(follows)
        self.transition_counts = numpy.zeros((classes, classes))
        numpy.add.at(self.transition_counts, (labels[at - 1], labels[at]), self.of_positions[at])
        self.states = self._state_mask(data, observed)
        self.transitions = self.transition_counts > 0
        if crf.all_possible_transitions:
            self.transitions[:] = True
        self.split = int(self.states.sum())
        self.empirical = numpy.concatenate([self.state_counts[self.states], self.transition_counts[self.transitions]])

    def _state_mask(self, data: _Attributes, observed: Floats) -> NDArray[numpy.bool_]:
        frequency = numpy.bincount(data.columns, self.of_positions[data.rows], self.attributes)
        occurs = _sums(data.columns[data._by_column], observed[data.rows[data._by_column]], self.attributes) > 0
        mask = numpy.ones_like(occurs) if self.crf.all_possible_states else occurs
        return numpy.asarray(mask & (frequency >= self.crf.min_freq)[:, None])

    def weights(self, x: Floats) -> tuple[Floats, Floats]:
        states = numpy.zeros((self.attributes, self.classes))
        transitions = numpy.zeros((self.classes, self.classes))
        states[self.states], transitions[self.transitions] = x[:self.split], x[self.split:]
        return states, transitions

    def value(self, x: Floats) -> tuple[float, Floats]:
        """Return the negative log-likelihood with the squared norm, and its gradient."""
        states, transitions = self.weights(x)
        likelihoods, marginals, _, pairs = _core.hmm_expectations(
            numpy.zeros(self.classes), transitions, self.data.times(states), self.data.ends, True, self.sample_weight)
        marginals *= self.of_positions[:, None]
        expected = numpy.concatenate([
            self.data.transposed_times(marginals, self.attributes)[self.states], pairs[self.transitions]])
        value = _dot(likelihoods, self.sample_weight) - _dot(x, self.empirical) + self.crf.c2 * _dot(x, x)
        return value, expected - self.empirical + 2 * self.crf.c2 * x

    def run(self) -> tuple[Floats, Floats, int, float]:
        crf = self.crf

        def report(iteration: int, value: float) -> None:
            if crf.verbose:
                logger.warning("iteration %d: objective %.6f", iteration, value)

        x, iterations, value = minimize(self.value, numpy.zeros(len(self.empirical)), l1=crf.c1,
                                        memories=crf.num_memories, iterations=crf.max_iterations or 1000,
                                        epsilon=crf.epsilon, period=crf.period, delta=crf.delta, report=report)
        states, transitions = self.weights(x)
        return states, transitions, iterations, value


def _dot(a: Floats, b: Floats) -> float:
    """Return a sum of products in an order that does not depend on the number of threads."""
    return float((a * b).sum())


def minimize(function: Callable[[Floats], tuple[float, Floats]], x: Floats, *, l1: float = 0.0, memories: int = 6,
             iterations: int = 1000, epsilon: float = 1e-5, period: int = 10, delta: float = 1e-5,
             report: Optional[Callable[[int, float], None]] = None) -> tuple[Floats, int, float]:
    """Minimize a function plus ``l1`` times the L1 norm by OWL-QN, which is L-BFGS if ``l1`` is 0.

    Examples
    --------
    >>> x, iterations, value = minimize(lambda x: (float(((x - 1) ** 2).sum()), 2 * (x - 1)), numpy.zeros(3))
    >>> x.round(4).tolist()
    [1.0, 1.0, 1.0]
    """
    value, gradient = function(x)
    value += l1 * float(numpy.abs(x).sum())
    steps: list[tuple[Floats, Floats]] = []
    history = [value]
    done = 0
    while done < iterations:
        slope = _pseudo_gradient(x, gradient, l1)
        if numpy.sqrt(_dot(slope, slope)) <= epsilon * max(1.0, numpy.sqrt(_dot(x, x))):
            break
        direction = _direction(slope, steps)
        if l1 > 0:
            direction[direction * slope >= 0] = 0
        moved = _line_search(function, x, value, slope, direction, l1, first=not steps)
        if moved is None:
            if not steps:
                break
            steps.clear()  # the remembered curvature is useless here
            continue
        new_x, new_value, new_gradient = moved
        step, change = new_x - x, new_gradient - gradient
        if _dot(step, change) > 1e-12 * _dot(change, change):
            steps = [*steps[-(memories - 1):], (step, change)] if memories > 1 else [(step, change)]
        x, value, gradient = new_x, new_value, new_gradient
        done += 1
        if report is not None:
            report(done, value)
        history.append(value)
        if len(history) > period and (history[-1 - period] - value) < delta * max(abs(value), 1e-300):
            break
    return x, done, value


def _pseudo_gradient(x: Floats, gradient: Floats, l1: float) -> Floats:
    if l1 == 0:
        return gradient
    right, left = gradient + l1, gradient - l1
    at_zero = numpy.where(right < 0, right, numpy.where(left > 0, left, 0))
    return numpy.asarray(numpy.where(x > 0, right, numpy.where(x < 0, left, at_zero)))


def _direction(slope: Floats, steps: list[tuple[Floats, Floats]]) -> Floats:
    """Return minus the slope times the inverse curvature (Nocedal 1980)."""
    direction = -slope
    shares = []
    for step, change in reversed(steps):
        share = _dot(step, direction) / _dot(step, change)
        direction = direction - share * change
        shares.append(share)
    if steps:
        step, change = steps[-1]
        direction = direction * (_dot(step, change) / _dot(change, change))
    for (step, change), share in zip(steps, reversed(shares)):
        direction = direction + (share - _dot(change, direction) / _dot(step, change)) * step
    return direction


def _line_search(function: Callable[[Floats], tuple[float, Floats]], x: Floats, value: float, slope: Floats,
                 direction: Floats, l1: float, first: bool) -> tuple[Floats, float, Floats] | None:
    """Return a point with sufficient decrease, its value and its gradient; None if there is none."""
    length = 1 / max(1e-300, numpy.sqrt(_dot(direction, direction))) if first else 1.0
    if _dot(direction, slope) >= 0:
        return None
    orthant = numpy.where(x != 0, numpy.sign(x), -numpy.sign(slope))
    for _ in range(50):
        point = x + length * direction
        if l1 > 0:
            point[point * orthant < 0] = 0
        new_value, gradient = function(point)
        new_value += l1 * float(numpy.abs(point).sum())
        if numpy.isfinite(new_value) and new_value <= value + 1e-4 * _dot(slope, point - x):
            return point, new_value, gradient
        length /= 2
    return None
