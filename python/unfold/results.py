"""What functions of Unfold return."""

import json
import os
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Completion:
    """A continuation of a text, found by beam search. Equal are those with equal texts and probabilities."""

    text: "str | bytes"
    log_probability: float  #: of all of it, given the prime; natural
    log_probabilities: object = field(compare=False)  #: of each symbol, an array
    symbols: object = field(compare=False)  #: their numbers, an array
    stopped: bool  #: ended by ``stop``, not by the length


@dataclass(frozen=True)
class Run:
    """A run folder, and what the training said of it."""

    path: str
    figures: dict  #: what ``unfold train --json`` prints

    @property
    def model(self):
        """The best model by validation."""
        from ._core import Model

        return Model.load(self.path)

    @property
    def log(self):
        """The events of the training, dictionaries."""
        with open(os.path.join(self.path, "log.jsonl"), encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]
