"""Unfold learns the structure of sequences: text, logs, DNA, music, events, numbers.

>>> import unfold
>>> run = unfold.train("book.txt", out="run", model="lstm:128", minutes=3, progress=True)
>>> model = unfold.load("run")
>>> model.sample(100, prime="The ")
>>> model.score("How surprising is this?")        # nats of each symbol, an array
>>> stream = model.stream()
>>> stream.push("a")                              # log-probabilities of the next symbol, an array

Results are bit-identical to those of the command ``unfold``. Exceptions are in ``unfold.errors``;
scikit-learn-compatible estimators are in ``unfold.estimators``.
"""

from . import errors
from ._core import Circuit, Model, Stream, Streams, __version__, compress, decompress, register_cell, settings
from .errors import (
    DataError,
    DivergedError,
    Interrupted,
    ModelError,
    RuntimeFailure,
    UnfoldError,
    UsageError,
    VerificationError,
)
from .results import Completion, Run
from .training import train

load = Model.load


def _model_from_bytes(bytes: bytes) -> Model:
    """Restore a pickled model. This is a module-level function because pickle stores functions by name."""
    return Model.from_bytes(bytes)


__all__ = [
    "Circuit",
    "Completion",
    "DataError",
    "DivergedError",
    "Interrupted",
    "Model",
    "ModelError",
    "Run",
    "RuntimeFailure",
    "Stream",
    "Streams",
    "UnfoldError",
    "UsageError",
    "VerificationError",
    "__version__",
    "compress",
    "decompress",
    "errors",
    "load",
    "register_cell",
    "settings",
    "train",
]
