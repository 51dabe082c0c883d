"""Training with the settings of ``unfold train`` as keyword arguments."""

from __future__ import annotations

import inspect
import logging
import sys
import textwrap
from collections.abc import Callable, Iterable
from typing import Any, TextIO, Union

from . import _core
from .errors import UsageError
from .results import Run

Event = dict[str, Any]
Progress = Union[None, bool, Callable[[Event], object]]

logger = logging.getLogger("unfold")
logger.addHandler(logging.NullHandler())


class _Line:
    """Show progress on one overwritten line of standard error, or on separate lines if it is not a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.over = stream.isatty()
        self.open = False

    def __call__(self, event: Event) -> None:
        kind = event["event"]
        if kind == "progress" and self.over:
            self.show(
                f"step {event['step']}  {100 * event['fraction']:.0f} %  loss {event['loss']:.4f}  "
                f"{event['symbols_per_second']:.0f} symbols/s  {event['seconds_left']:.0f} s left"
            )
        elif kind == "validation":
            best = "  best" if event["best"] else ""
            self.line(f"step {event['step']}: {event['bits_per_symbol']:.4f} bits/symbol{best}")
        elif kind in ("remark", "warning"):
            self.line(event["text"])
        elif kind == "rollback":
            self.line(f"step {event['step']}: back to {event['to_step']}: {event['reason']}")

    def show(self, text: str) -> None:
        self.stream.write("\r\x1b[K" + text)
        self.stream.flush()
        self.open = True

    def line(self, text: str) -> None:
        self.stream.write(("\r\x1b[K" if self.open else "") + text + "\n")
        self.stream.flush()
        self.open = False


class _Bar:
    """Show progress as a tqdm bar, which notebooks display."""

    def __init__(self, bar: Any) -> None:
        self.bar = bar

    def __call__(self, event: Event) -> None:
        kind = event["event"]
        if kind == "progress":
            self.bar.n = round(100 * event["fraction"])
            self.bar.set_postfix_str(f"step {event['step']}, loss {event['loss']:.4f}")
        elif kind == "validation":
            self.bar.set_description_str(f"{event['bits_per_symbol']:.4f} bits/symbol")
        elif kind == "done":
            self.bar.n = 100
            self.bar.close()


def _display() -> Callable[[Event], object]:
    """Return the progress display: a bar in notebooks that have tqdm, otherwise lines."""
    if "ipykernel" in sys.modules:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            pass
        else:
            return _Bar(tqdm(total=100, bar_format="{l_bar}{bar}| {elapsed}<{remaining} {postfix}"))
    return _Line(sys.stderr)


class _Listener:
    """Passes events to a display or a function, notes and warnings to the logger, and keeps the rest as a log."""

    def __init__(self, progress: Progress) -> None:
        self.to = _display() if progress is True else (progress or None)
        self.log: list[Event] = []

    def __call__(self, event: Event) -> None:
        kind = event["event"]
        if kind in ("remark", "warning"):
            logger.log(logging.WARNING if kind == "warning" else logging.INFO, "%s", event["text"])
        elif kind != "work":
            self.log.append(event)
        if self.to is not None:
            self.to(event)


def train(data: Any = None, *, text: str | bytes | Iterable[str | bytes] | None = None, out: Any = None,
          progress: Progress = None, resume: bool = False, overwrite: bool = False, **settings: Any) -> Run:
    """Train a model. The model is byte-identical to that of ``unfold train`` on the same data.

    Parameters
    ----------
    data
        Files: one or more paths, each a str or os.PathLike; for tasks with files, the folder of these files.
        Or data in memory, which is not written to a file: an array ``[T]`` or ``[T, n]``, one sequence, or
        ``[N, T, n]``, N sequences, of any type of numbers and any strides; a list of arrays of different lengths; a
        mapping of names to arrays or to lists with one entry per example; a pandas or polars DataFrame or an Arrow
        table, one position per row; bytes, which are running text unless ``format`` is given. Arrays have the field
        ``values``. NaN and None are missing values. PyTorch tensors and other objects that export DLPack are accepted
        as arrays.
    text
        Running text, instead of ``data``: a str or several, each of which is one sequence.
    out
        The run folder, with the model, its checkpoint and its log. None: nothing is written; the model is in the
        returned run.
    progress
        A function that is called with a dictionary for each event ("progress", "validation", "checkpoint", "done",
        ...), or True to show progress: as a bar in notebooks with tqdm, otherwise on standard error. Notes and
        warnings are also logged by the logger ``unfold``.
    resume, overwrite
        Resume the run in ``out``, or replace it.
    settings
        The options of ``unfold train``, with _ instead of -: ``model="lstm:128"``, ``optimizer="adam:rate=0.002"``,
        ``minutes=3``, ``split="90/5/5"``, ``whole_sequences=True``. Lists of fields may be passed as lists. ``valid``
        and ``test`` may be data in memory like ``data``, and ``start_from`` a ``Model`` or the bytes of a model file.
        They are listed below.

    Returns
    -------
    Run
        The results, the model and the log.

    Raises
    ------
    UsageError, DataError, ModelError, DivergedError, RuntimeFailure
        See ``unfold.errors``. A missing file is also a FileNotFoundError.
    KeyboardInterrupt
        After Ctrl-C. With ``out``, a checkpoint is written, and ``train(out=..., resume=True)`` resumes the run.

    Examples
    --------
    >>> run = train(text="abracadabra " * 50, model="ngram:3")
    >>> run.model.spec
    'ngram:3'
    >>> import numpy
    >>> series = numpy.sin(numpy.arange(300) / 5)
    >>> run = train(series, model="gru:4", steps=5, threads=1)
    >>> sorted(run.model.predict(series, ahead=2, samples=10)[0])[1:]
    ['values.mean', 'values.q10', 'values.q90']
    """
    if text is not None:
        if data is not None:
            raise UsageError("train: data and text cannot be combined; pass only one of them")
        from . import _data

        data = _data.texts([text] if isinstance(text, (str, bytes)) else text)
    if data is not None:
        settings["data"] = data
    listener = _Listener(progress)
    figures, model = _core.train(out, resume, overwrite, settings, listener)
    path = figures.pop("run")
    return Run(path if out is not None else None, figures, model, listener.log)


_TYPES = {"flag": "bool", "integer": "int", "number": "float", "string": "str", "list": "list[str]"}
_DATA = {"valid", "test", "start_from"}  # settings that may be data or a model in memory


def _describe(function: Any) -> None:
    """Add the keyword arguments of the settings to the signature and the docstring of `function`."""
    signature = inspect.signature(function)
    parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    lines = []
    for row in _core._setting_table():
        name = row["name"]
        if row["input"]:
            continue
        kind = "Any" if name in _DATA else _TYPES[row["type"]]
        annotation = kind if name in _DATA else f"{kind} | None"
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
        default = f" (default {row['default']})" if row["default"] else ""
        applies = f" For {row['applies_to']}." if "applies_to" in row else ""
        applies += " For models trained by gradients." if "by_gradient" in row else ""
        text = textwrap.fill(f"{row['help']}{default}.{applies}", 100, initial_indent=" " * 4, subsequent_indent=" " * 4)
        lines.append(f"{name} : {kind}\n{text}")
    function.__signature__ = signature.replace(parameters=parameters)
    function.__doc__ = f"{inspect.getdoc(function)}\n\nSettings\n--------\n" + "\n".join(lines) + "\n"


_describe(train)
