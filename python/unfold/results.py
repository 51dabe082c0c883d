"""Result types of the functions of Unfold."""

import json
import os
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Completion:
    """A continuation of a text found by beam search. Equality compares text, probability and ``stopped``."""

    text: "str | bytes"
    log_probability: float  #: of the whole continuation given the prime, in nats
    log_probabilities: object = field(compare=False)  #: of each symbol, as an array
    symbols: object = field(compare=False)  #: symbol indices, as an array
    stopped: bool  #: ended by ``stop`` rather than by the maximum length


@dataclass(frozen=True)
class Run:
    """A run folder and the results of training."""

    path: str
    figures: dict  #: the output of ``unfold train --json``

    @property
    def model(self):
        """The best model by validation loss."""
        from ._core import Model

        return Model.load(self.path)

    @property
    def log(self):
        """The events of the training log, as dictionaries."""
        with open(os.path.join(self.path, "log.jsonl"), encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]
