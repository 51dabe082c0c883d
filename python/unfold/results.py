"""Result types of Unfold's functions."""

from __future__ import annotations

import csv
import html
import io
import json
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy import float32, int32
    from numpy.typing import NDArray

    from ._core import Model


@dataclass(frozen=True)
class Completion:
    """A continuation of a text found by beam search. Equality compares text, probability and ``stopped``."""

    text: str | bytes
    log_probability: float  #: of the whole continuation given the prime, in nats
    log_probabilities: NDArray[float32] = field(compare=False)  #: of each symbol
    symbols: NDArray[int32] = field(compare=False)  #: symbol indices
    stopped: bool  #: ended by ``stop`` rather than by the maximum length


@dataclass(frozen=True)
class Run:
    """The results of training.

    Examples
    --------
    >>> import unfold
    >>> run = unfold.train(text="to be or not to be " * 30, model="ngram:2")
    >>> run.path is None, run.model.kind
    (True, 'ngram')
    """

    path: str | None  #: the run folder; None: nothing was written
    figures: dict[str, Any]  #: the output of ``unfold train --json``
    _model: bytes | None = field(default=None, repr=False, compare=False)
    _events: list[dict[str, Any]] = field(default_factory=list, repr=False, compare=False)

    @property
    def model_bytes(self) -> bytes:
        """The contents of the model file."""
        if self._model is not None:
            return self._model
        assert self.path is not None
        with open(os.path.join(self.path, "model.safetensors"), "rb") as file:
            return file.read()

    @property
    def model(self) -> Model:
        """The best model by validation loss."""
        from ._core import Model

        return Model.from_bytes(self._model) if self._model is not None else Model.load(self.path or "")

    @property
    def log(self) -> list[dict[str, Any]]:
        """The events of the training log, as dictionaries; without a run folder, the events passed to ``progress``."""
        if self.path is None:
            return list(self._events)
        with open(os.path.join(self.path, "log.jsonl"), encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    def log_to_csv(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Return the log as CSV, or write it to a file: one row per event, one column per key, empty where absent.

        Examples
        --------
        >>> import unfold
        >>> run = unfold.train(text="to be or not to be " * 30, model="gru:3", steps=2, threads=1)
        >>> run.log_to_csv().splitlines()[0][:21]
        'event,step,epochs,fra'
        """
        log = self.log
        names = list(dict.fromkeys(["event", "step", *(name for event in log for name in event)]))
        text = io.StringIO()
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(log)
        if path is None:
            return text.getvalue()
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text.getvalue())
        return None

    def log_to_tensorboard(self, folder: str | os.PathLike[str]) -> None:
        """Write the numbers of the log as events of TensorBoard into a folder, which ``tensorboard --logdir`` reads.

        Needs the package ``tensorboard``. The tags are ``training/loss``, ``validation/nats_per_symbol``, and so on.
        """
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        log = self.log
        begin = time.time() - max((event.get("seconds", 0) for event in log), default=0)
        writer = EventFileWriter(os.fspath(folder))
        try:
            for event in log:
                values = [Summary.Value(tag=tag, simple_value=value) for tag, value in _scalars(event)]
                if values:
                    writer.add_event(Event(wall_time=begin + event.get("seconds", 0), step=event["step"],
                                           summary=Summary(value=values)))
        finally:
            writer.close()

    def plot(self, ax: Any = None) -> Any:
        """Plot the training and validation loss against the step. Requires matplotlib.

        Parameters
        ----------
        ax
            The axes to draw into; None: new ones.

        Returns
        -------
        matplotlib.axes.Axes
        """
        if ax is None:
            import matplotlib.pyplot

            ax = matplotlib.pyplot.subplots()[1]
        for kind, key, label in (("progress", "loss", "training"), ("validation", "nats_per_symbol", "validation")):
            points = [(event["step"], event[key]) for event in self.log if event.get("event") == kind and key in event]
            if points:
                steps, losses = zip(*points)
                ax.plot(steps, losses, label=label, marker="o" if kind == "validation" else None)
        ax.set_xlabel("step")
        ax.set_ylabel("loss in nats")
        if ax.lines:
            ax.legend()
        return ax

    def _repr_html_(self) -> str:
        rows = [("model", self.figures.get("model")), ("folder", self.path or "in memory")]
        for part in ("valid", "test"):
            for name, value in _numbers(self.figures.get(part), part):
                rows.append((name, f"{value:.6g}"))
        rows += [(name, self.figures[name]) for name in ("parameters", "steps", "ended_by") if name in self.figures]
        cells = "".join(f"<tr><th>{html.escape(str(name))}</th><td>{html.escape(str(value))}</td></tr>"
                        for name, value in rows)
        return f"<table>{cells}</table>"


def _scalars(event: dict[str, Any]) -> list[tuple[str, float]]:
    """Return the numbers of an event of training or validation with the tags of TensorBoard.

    Examples
    --------
    >>> _scalars({"event": "progress", "step": 3, "loss": 0.5, "seconds": 2.0})
    [('training/loss', 0.5)]
    """
    part = {"progress": "training", "validation": "validation"}.get(event.get("event", ""))
    if part is None or "step" not in event:
        return []
    position = {"step", "fraction", "seconds", "seconds_left", "symbols"}
    return [(f"{part}/{name}", float(value)) for name, value in event.items()
            if name not in position and isinstance(value, (int, float)) and not isinstance(value, bool)]


def _numbers(value: Any, name: str) -> list[tuple[str, float]]:
    """Return the numbers in nested dictionaries with their names."""
    if isinstance(value, dict):
        return [pair for key, inner in value.items() for pair in _numbers(inner, f"{name} {key}")][:20]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [(name, float(value))]
    return []
