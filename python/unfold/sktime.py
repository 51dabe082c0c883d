"""A forecaster for sktime. Needs the package sktime, which Unfold does not install."""

# mypy: allow-subclassing-any
# The base class is that of sktime, which has no types.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import numpy
from sktime.forecasting.base import BaseForecaster

from .estimators import Forecaster

__all__ = ["UnfoldForecaster"]


class UnfoldForecaster(BaseForecaster):
    """Forecasts one or several series by the methods that a backtest selects, with the interface of sktime.

    ``update`` appends the new values. The intervals of ``predict_interval`` adapt to the observed coverage
    (``Forecaster.update``).

    Parameters
    ----------
    members, season, origins, minutes, threads
        As for ``unfold.estimators.Forecaster``.

    Examples
    --------
    >>> import pandas
    >>> from sktime.split import temporal_train_test_split
    >>> index = pandas.period_range("2015-01", periods=96, freq="M")
    >>> y = pandas.Series(numpy.sin(numpy.arange(96) / 2), index)
    >>> train, test = temporal_train_test_split(y, test_size=6)
    >>> forecaster = UnfoldForecaster(threads=1)
    >>> forecast = forecaster.fit(train, fh=[1, 2, 3, 4, 5, 6]).predict()
    >>> forecast.index.equals(test.index)
    True
    """

    _tags = {
        "authors": ["unfold developers"],
        "scitype:y": "both",
        "y_inner_mtype": ["pd.Series", "pd.DataFrame"],
        "X_inner_mtype": "pd.DataFrame",
        "capability:exogenous": True,
        "requires-fh-in-fit": False,
        "capability:insample": False,
        "capability:pred_int": True,
        "capability:pred_int:insample": False,
        "capability:missing_values": True,
        "capability:update": True,
    }

    def __init__(self, members: Optional[Sequence[str]] = None, season: Optional[int] = None,
                 origins: Optional[int] = None, minutes: Optional[float] = None, threads: int = 0) -> None:
        self.members, self.season, self.origins, self.minutes, self.threads = members, season, origins, minutes, threads
        super().__init__()

    def _fit(self, y: Any, X: Any = None, fh: Any = None) -> UnfoldForecaster:
        self.forecaster_ = Forecaster(self.members, season=self.season, origins=self.origins, minutes=self.minutes,
                                      threads=self.threads).fit(y, X)
        return self

    def _steps(self, fh: Any) -> list[int]:
        return numpy.asarray(fh.to_relative(self.cutoff).to_pandas(), dtype=int).tolist()  # type: ignore[no-any-return]

    def _predict(self, fh: Any, X: Any = None) -> Any:
        return self.forecaster_.predict(self._steps(fh), X).set_axis(fh.to_absolute_index(self.cutoff))

    def _predict_interval(self, fh: Any, X: Any, coverage: Any) -> Any:
        import pandas

        names = self._get_varnames()
        columns = pandas.MultiIndex.from_product([names, coverage, ["lower", "upper"]])
        table = pandas.DataFrame(index=fh.to_absolute_index(self.cutoff), columns=columns, dtype=float)
        for probability in coverage:
            for side, limits in zip(("lower", "upper"), self._limits(self._steps(fh), X, probability)):
                for name, column in zip(names, limits.to_numpy().reshape(len(table), -1).T):
                    table[name, probability, side] = column
        return table

    def _limits(self, steps: list[int], X: Any, coverage: float) -> Any:
        """Return the limits; both are the forecast for a coverage of 0, by which sktime asks for the median."""
        if coverage == 0:
            return (self.forecaster_.predict(steps, X),) * 2
        return self.forecaster_.predict_interval(steps, X, coverage)

    def _update(self, y: Any, X: Any = None, update_params: bool = True) -> UnfoldForecaster:
        self.forecaster_.update(y, X)
        return self

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Return small settings for the checks of sktime."""
        return [{"members": ["naive"], "threads": 1}, {"members": ["mean", "ets"], "season": 2, "threads": 1}]
