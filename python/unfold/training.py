"""Training with the settings of ``unfold train`` as keyword arguments."""

import sys

from . import _core
from .results import Run


class _Line:
    """Show progress on one overwritten line of standard error, or on separate lines if it is not a terminal."""

    def __init__(self, stream):
        self.stream = stream
        self.over = stream.isatty()
        self.open = False

    def __call__(self, event):
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

    def show(self, text):
        self.stream.write("\r\x1b[K" + text)
        self.stream.flush()
        self.open = True

    def line(self, text):
        self.stream.write(("\r\x1b[K" if self.open else "") + text + "\n")
        self.stream.flush()
        self.open = False


def train(data=None, *, out, progress=None, resume=False, overwrite=False, **settings):
    """Train a model and write a run folder. The model file is byte-identical to that of ``unfold train``.

    data: a file, or several, each a str or os.PathLike; for tasks with files, their folder.
    out: the run folder.
    progress: a function that is called with a dictionary for each event ("progress", "validation", "checkpoint",
        "done", ...), or True to print progress to standard error.
    resume, overwrite: resume the run in ``out``, or replace it.
    settings: any option of ``unfold train`` (see ``unfold.settings()``), with _ instead of -: ``model="lstm:128"``,
        ``optimizer="adam:rate=0.002"``, ``minutes=3``, ``split="90/5/5"``, ``whole_sequences=True``. Lists of fields
        may be passed as lists.

    Ctrl-C writes a checkpoint and raises KeyboardInterrupt; ``train(out=..., resume=True)`` resumes the run.
    Returns a Run. Raises UsageError, DataError, ModelError, DivergedError, RuntimeFailure.
    """
    if data is not None:
        settings["data"] = data
    callback = _Line(sys.stderr) if progress is True else (progress or None)
    figures = _core.train(out, resume, overwrite, settings, callback)
    return Run(figures.pop("run"), figures)
