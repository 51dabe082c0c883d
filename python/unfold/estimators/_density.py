"""The density of rows of numbers."""

from __future__ import annotations

import math
import operator
from typing import Any, Optional

import numpy
from numpy.typing import NDArray

from .. import _data
from .._base import BaseEstimator, RandomState, seed_of, weights_of
from .._public import set_module
from ..errors import UsageError
from .._feature_names import feature_names_of, require_feature_names
from ._sequences import object_array

Floats = NDArray[numpy.float64]


@set_module("unfold.estimators")
class DensityEstimator(BaseEstimator):
    """Estimate the density of rows of numbers.

    Parameters
    ----------
    model
        Any model in ``docs/density.md``. By default, it is chosen by cross-validation from Gaussian mixtures and
        ``rnade:50`` or, for binary data, from Bernoulli mixtures and ``nade:100``.

    Attributes
    ----------
    n_features_in_
        The number of columns.
    feature_names_in_
        The names of the columns, if ``X`` is a table whose column names are strings.

    Examples
    --------
    >>> X = numpy.random.RandomState(0).randint(2, size=(80, 3))
    >>> fitted = DensityEstimator("nade:4", steps=20).fit(X)
    >>> fitted.score_samples(X[:5]).shape
    (5,)
    """

    _kind = "density_estimator"

    n_features_in_: int

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DensityEstimator:
        """Train on rows ``[rows, columns]`` of bits or numbers. Some of the rows are used for validation.

        Parameters
        ----------
        X
            The rows.
        sample_weight
            One weight per row, which multiplies its log-density: a row of weight 2 counts like two equal rows, and rows
            of weight 0 are left out.
        """
        rows = self._rows(X, "fit")
        weights = weights_of(sample_weight, len(rows), "fit", "row")
        rows, weights = rows[weights > 0], weights[weights > 0]
        if len(rows) < 2:
            raise UsageError("fit: n_samples=1 is too few: a part of the rows is used for validation")
        names = feature_names_of(X)
        if self._continues:
            self._known_rows(X, "fit")
            if "-mixture" in self.model_.spec:
                raise UsageError(f"fit: warm_start does not apply to {self.model_.spec}, which is fitted by "
                                 "expectation-maximization; choose a model such as nade:50 or rnade:50")
        default = {} if self.model or self._continues else self._default(rows)
        if (weights == 1).all():
            fitted = self._trained(self._table(rows), **default)
        else:
            fitted = self._trained(self._table(rows, weights), weights=self._WEIGHTS, **default)
        fitted["n_features_in_"] = rows.shape[1]
        if names is not None:
            fitted["feature_names_in_"] = names
        return self._set(fitted)

    @staticmethod
    def _default(rows: Floats) -> dict[str, Any]:
        """Return the settings with which ``train`` chooses the model; for few rows, the simplest one."""
        few = 8
        if len(rows) >= few and rows.shape[1] > 1:
            return {"format": "table"}
        return {"model": "bernoulli-mixture:1" if numpy.isin(rows, (0, 1)).all() else "gaussian-mixture:1"}

    def score_samples(self, X: Any) -> Floats:
        """Return the log-density of each row in nats; for binary data, the log-probability."""
        table = self._table(self._known_rows(X, "score_samples"))
        rows = self.model_.score_examples(table, threads=self.threads or 0)
        return numpy.array([-math.log(2) * row["bits"] for row in rows])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean of ``score_samples``, weighted by ``sample_weight``; higher is better."""
        found = self.score_samples(X)
        if sample_weight is None:
            return float(found.mean())
        return float(numpy.average(found, weights=weights_of(sample_weight, len(found), "score", "row")))

    def sample(self, n_samples: int = 1, *, random_state: RandomState = None) -> Floats:
        """Draw rows from the distribution."""
        self._require_fitted()
        seed = seed_of(self.random_state if random_state is None else random_state)
        return self.model_.sample_rows(operator.index(n_samples), seed=seed)

    def fill(self, X: Any, how: str = "mean", *, random_state: RandomState = None) -> Floats:
        """Return X with NaN replaced by the conditional "mean", the "best" value, or a joint "sample" per row."""
        rows = self._known_rows(X, "fill", holes=True)
        seed = seed_of(self.random_state if random_state is None else random_state)
        found = self.model_.fill(self._table(rows), how=how, seed=seed)
        names = self._names_of(rows.shape[1])
        return numpy.where(numpy.isnan(rows), [[one[name] for name in names] for one in found], rows)

    def _known_rows(self, X: Any, who: str, holes: bool = False) -> Floats:
        self._require_fitted()
        rows = self._rows(X, who, holes)
        require_feature_names(X, getattr(self, "feature_names_in_", None))
        if rows.shape[1] != self.n_features_in_:
            raise UsageError(f"{who}: {rows.shape[1]} columns, but the model has {self.n_features_in_}: X has "
                             f"{rows.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                             "features as input")
        return rows

    @staticmethod
    def _rows(X: Any, who: str, holes: bool = False) -> Floats:
        if hasattr(X, "tocsr"):
            raise TypeError(f"{who}: Sparse data was passed, but rows must be dense; use X.toarray()")
        names = feature_names_of(X)
        if _data.is_table(X):
            X = _data.array_of_table(X, who)
        if isinstance(X, numpy.ndarray) and X.dtype == object:
            X = object_array(X, who, names)
        rows = _data.as_numbers(X, who).astype(float)
        if rows.ndim == 1:
            raise UsageError(f"{who}: rows must have shape [rows x columns], not {rows.shape}: Expected 2D array, got 1D "
                             "array instead. Reshape your data")
        if rows.ndim != 2 or 0 in rows.shape:
            parts = [] if rows.ndim != 2 else [name for size, name in zip(rows.shape, ("sample", "feature")) if size == 0]
            raise UsageError(f"{who}: rows must have shape [rows x columns], not {rows.shape}."
                             + "".join(f" Found array with 0 {name}(s) (shape={rows.shape}) while a minimum of 1 is "
                                       "required." for name in parts[:1]))
        if numpy.isinf(rows).any() or (not holes and numpy.isnan(rows).any()):
            raise UsageError(f"{who}: some values are not finite: Input X contains NaN or infinity")
        return rows

    @staticmethod
    def _names_of(columns: int) -> list[str]:
        return [f"x{i + 1}" for i in range(columns)]

    _WEIGHTS = "weight"

    @classmethod
    def _table(cls, rows: Floats, weights: Optional[Floats] = None) -> _data.Description:
        columns: list[_data.Column] = [(name, False, rows[:, i])
                                       for i, name in enumerate(cls._names_of(rows.shape[1]))]
        if weights is not None:
            columns.append((cls._WEIGHTS, False, weights))
        return _data.fields(columns, [len(rows)], "table")
