"""Scikit-learn-compatible estimators: fit, predict, predict_proba, score, get_params, set_params and pickling.

They do not require scikit-learn. If it is installed, ``clone``, grid search and pipelines work. Parameters are those of
``unfold.train``. The fitted model is stored as the bytes of a model file, which are part of a pickle; restoring them
executes no code from the model. Data stays in memory: numbers are never converted to text, and nothing is written.
"""

from collections.abc import Sequence  # for typing.get_type_hints
from typing import Any

from .._base import NotFittedError
from ._adaptive_intervals import AdaptiveIntervals  # for typing.get_type_hints
from ._classifier import SequenceClassifier
from ._covariate_coding import CovariateCoding  # for typing.get_type_hints
from ._density import DensityEstimator
from ._forecaster import (
    Floats,  # for typing.get_type_hints
    Forecaster,
    Steps,
)
from ._network_forecaster import NetworkForecaster
from ._series_panel import Panel  # for typing.get_type_hints
from ._symbol_model import SymbolModel
from ._tagger import SequenceTagger

__all__ = ["DensityEstimator", "Forecaster", "NetworkForecaster", "NotFittedError", "SequenceClassifier",
           "SequenceTagger", "SymbolModel"]
