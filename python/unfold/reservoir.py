"""Echo state networks (Jaeger 2001): a fixed random reservoir with a linear readout, fitted in one pass."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from . import _data
from ._base import BaseEstimator, RandomState, require_equal_lengths, weights_of
from .errors import UsageError

__all__ = ["ESN"]

Floats = NDArray[numpy.float64]


class ESN(BaseEstimator):
    """An echo state network that predicts numbers at every position of sequences of numbers.

    Parameters
    ----------
    units
        The number of units of the reservoir.
    spectral_radius
        The spectral radius of the recurrent matrix.
    leak
        The fraction of the state that a step replaces.
    input_scaling, bias_scaling
        Input weights and biases are uniform between minus and plus these values.
    degree
        The number of edges that leave each unit.
    ridge
        The parameter of the ridge regression, relative to the mean square of a state; 0: chosen by generalized
        cross-validation.
    washout
        The number of positions at the beginning of each sequence that the fit ignores.
    random_state, threads, options, verbose
        As for the other estimators.

    Attributes
    ----------
    n_features_in_, n_outputs_
        The number of values that are read and predicted per position.

    Examples
    --------
    >>> wave = numpy.sin(numpy.arange(300) / 4)
    >>> model = ESN(30, washout=20).fit(wave[:-1], wave[1:])
    >>> bool(numpy.abs(model.predict(wave[:-1])[50:] - wave[51:]).max() < 0.1)
    True
    """

    n_features_in_: int
    n_outputs_: int

    # Settings of the other estimators that do not apply to a readout fitted in one pass.
    model = optimizer = steps = epochs = minutes = callback = None
    warm_start = False

    def __init__(self, units: int = 100, *, spectral_radius: float = 0.9, leak: float = 1.0,
                 input_scaling: float = 0.5, bias_scaling: float = 0.1, degree: int = 10, ridge: float = 0.0,
                 washout: int = 0, random_state: RandomState = None, threads: int = 0, options: Any = None,
                 verbose: bool = False) -> None:
        self.units, self.spectral_radius, self.leak = units, spectral_radius, leak
        self.input_scaling, self.bias_scaling, self.degree = input_scaling, bias_scaling, degree
        self.ridge, self.washout = ridge, washout
        self.random_state, self.threads, self.options, self.verbose = random_state, threads, options, verbose

    def _settings(self) -> dict[str, Any]:
        spec = (f"esn:{self.units},radius={self.spectral_radius},leak={self.leak},input-scale={self.input_scaling},"
                f"bias-scale={self.bias_scaling},degree={min(self.degree, self.units)},ridge={self.ridge},"
                f"washout={self.washout}")
        return {**super()._settings(), "model": spec}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ESN:
        """Fit the readout.

        Parameters
        ----------
        X
            One sequence ``[T]`` or ``[T, n]``, several of the same length ``[N, T, n]``, or a list of sequences.
        y
            The values to predict at every position, in the same form.
        sample_weight
            One weight per sequence, which multiplies its squared residuals; sequences with weight 0 are left out. Only
            the ratios of the weights matter.
        """
        inputs, lengths, _ = _values(X, "fit: X")
        targets, target_lengths, _ = _values(y, "fit: y")
        require_equal_lengths(lengths, target_lengths, "fit")
        if not numpy.array_equal(lengths, target_lengths):
            raise UsageError("fit: the sequences of X and y have different lengths")
        weights = weights_of(sample_weight, len(lengths), "fit")
        kept = weights > 0
        of_positions = numpy.repeat(kept, lengths)
        inputs, targets, lengths, weights = inputs[of_positions], targets[of_positions], lengths[kept], weights[kept]
        columns: list[_data.Column] = [("input", False, inputs), ("output", False, targets)]
        if len(set(weights.tolist())) > 1:
            columns.append((_data.WEIGHTS, True, weights))
        data = _data.fields(columns, lengths)
        fitted = self._trained(data, read="input", predict="output=gaussian", split="100/0/0")
        return self._set({**fitted, "n_features_in_": inputs.shape[1], "n_outputs_": targets.shape[1]})

    def predict(self, X: Any) -> Any:
        """Return predictions in the same form as ``X``."""
        self._require_fitted()
        inputs, lengths, form = _values(X, "predict")
        if inputs.shape[1] != self.n_features_in_:
            raise UsageError(f"predict: X has {inputs.shape[1]} features, but ESN is expecting {self.n_features_in_} "
                             "features as input")
        found = self._columns(_data.fields([("input", False, inputs)], lengths), probabilities=False)
        names = ["output.mean"] if self.n_outputs_ == 1 else [f"output.mean.{i + 1}" for i in range(self.n_outputs_)]
        values = numpy.stack([found[name][1] for name in names], axis=1)
        if self.n_outputs_ == 1:
            values = values[:, 0]
        if form == "one":
            return values
        ends = numpy.cumsum(lengths)
        parts = [values[end - length:end] for end, length in zip(ends, lengths)]
        return numpy.stack(parts) if form == "array" else parts

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination over all values, weighted by one weight per sequence."""
        found, _, _ = _values(self.predict(X), "score")
        targets, lengths, _ = _values(y, "score: y")
        weights = numpy.repeat(weights_of(sample_weight, len(lengths), "score"), lengths)[:, None]
        residual = float((weights * (targets - found) ** 2).sum())
        mean = (weights * targets).sum(axis=0) / weights.sum()
        return 1 - residual / float((weights * (targets - mean) ** 2).sum())


def _values(X: Any, who: str) -> tuple[Floats, NDArray[Any], str]:
    """Return values [positions, n], the lengths of the sequences, and the data format: "one", "array" or "list"."""
    if _data.is_table(X) or _data.is_column(X):
        X = _data.array_of_table(X, who)
    if _data.is_array(X) or (isinstance(X, list) and X and not hasattr(X[0], "__len__")):
        array = _data.as_numbers(X, who)
        if array.ndim in (1, 2):
            rows = array.reshape(len(array), -1).astype(float)
            return rows, numpy.array([len(rows)]), "one"
    flat, lengths = _data.sequences(X, who)
    if not isinstance(flat, numpy.ndarray):
        raise UsageError(f"{who}: the values must be numbers")
    return flat.reshape(len(flat), -1).astype(float), lengths, "array" if _data.is_array(X) else "list"
