"""A forecaster for sktime. Needs the package sktime, which Unfold does not install."""

# mypy: allow-subclassing-any
# The base class is that of sktime, which has no types.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy
from sktime.forecasting.base import BaseForecaster

from ._base import RandomState
from .estimators import Forecaster

__all__ = ["UnfoldForecaster"]


class UnfoldForecaster(BaseForecaster):
    """A recurrent network that forecasts one or several series, with the interface of sktime.

    ``update`` continues the training for one pass over the new values (``Forecaster.update`` with ``train=True``). The
    intervals of ``predict_interval`` adapt to the observed coverage.

    Parameters
    ----------
    model, optimizer, steps, epochs, minutes, random_state, threads, options
        As for ``unfold.estimators.Forecaster``.
    samples
        The number of sampled continuations, whose mean is the forecast beyond the next value.

    Examples
    --------
    >>> import pandas
    >>> from sktime.split import temporal_train_test_split
    >>> index = pandas.period_range("2015-01", periods=96, freq="M")
    >>> y = pandas.Series(numpy.sin(numpy.arange(96) / 2), index)
    >>> train, test = temporal_train_test_split(y, test_size=6)
    >>> forecaster = UnfoldForecaster("gru:8", steps=100, threads=1)
    >>> forecast = forecaster.fit(train, fh=[1, 2, 3, 4, 5, 6]).predict()
    >>> forecast.index.equals(test.index)
    True
    """

    _tags = {
        "authors": ["unfold developers"],
        "scitype:y": "both",
        "y_inner_mtype": ["pd.Series", "pd.DataFrame"],
        "X_inner_mtype": "pd.DataFrame",
        "capability:exogenous": False,
        "requires-fh-in-fit": False,
        "capability:insample": False,
        "capability:pred_int": True,
        "capability:pred_int:insample": False,
        "capability:missing_values": False,
        "capability:random_state": True,
        "capability:update": True,
    }

    def __init__(self, model: str = "lstm:32", optimizer: str | None = None, steps: int | None = None,
                 epochs: float | None = None, minutes: float | None = None, random_state: RandomState = None,
                 threads: int = 0, options: Mapping[str, Any] | None = None, samples: int = 200) -> None:
        self.model, self.optimizer, self.steps, self.epochs, self.minutes = model, optimizer, steps, epochs, minutes
        self.random_state, self.threads, self.options, self.samples = random_state, threads, options, samples
        super().__init__()

    def _fit(self, y: Any, X: Any = None, fh: Any = None) -> UnfoldForecaster:
        self.forecaster_ = Forecaster(self.model, optimizer=self.optimizer, steps=self.steps, epochs=self.epochs,
                                      minutes=self.minutes, random_state=self.random_state, threads=self.threads,
                                      options=self.options).fit(y.to_numpy())
        self._columns = y.columns if hasattr(y, "columns") else y.name
        return self

    def _predict(self, fh: Any, X: Any = None) -> Any:
        import pandas

        steps = numpy.asarray(fh.to_relative(self.cutoff).to_pandas(), dtype=int)
        values = self.forecaster_.predict(int(steps.max()), samples=self.samples)[steps - 1]
        index = fh.to_absolute_index(self.cutoff)
        if isinstance(self._columns, pandas.Index):
            return pandas.DataFrame(values.reshape(len(index), -1), index=index, columns=self._columns)
        return pandas.Series(values, index=index, name=self._columns)

    def _predict_interval(self, fh: Any, X: Any, coverage: Any) -> Any:
        import pandas

        steps = numpy.asarray(fh.to_relative(self.cutoff).to_pandas(), dtype=int)
        names = self._get_varnames()
        columns = pandas.MultiIndex.from_product([names, coverage, ["lower", "upper"]])
        table = pandas.DataFrame(index=fh.to_absolute_index(self.cutoff), columns=columns, dtype=float)
        for probability in coverage:
            for side, values in zip(("lower", "upper"), self._limits(int(steps.max()), probability)):
                for name, column in zip(names, values[steps - 1].reshape(len(steps), -1).T):
                    table[name, probability, side] = column
        return table

    def _limits(self, horizon: int, coverage: float) -> Any:
        """Return the limits of all steps; both are the mean for a coverage of 0, by which sktime asks for the median."""
        if coverage == 0:
            return (self.forecaster_.predict(horizon, samples=self.samples),) * 2
        return self.forecaster_.predict_interval(horizon, samples=self.samples, coverage=coverage)

    def _update(self, y: Any, X: Any = None, update_params: bool = True) -> UnfoldForecaster:
        self.forecaster_.update(y.to_numpy(), train=update_params and len(y) > 1)
        return self

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Return small settings for the checks of sktime."""
        return [{"model": "rnn:2", "steps": 3, "threads": 1, "samples": 5}, {"model": "gru:2", "epochs": 1, "threads": 1,
                                                                             "samples": 5}]
