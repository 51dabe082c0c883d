"""Training, with the settings of ``unfold train`` as keywords."""

import sys

from . import _core
from .results import Run


class _Line:
    """Progress as a line on standard error that is written over; whole lines where that is no terminal."""

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
    """Trains a model and leaves a run folder; the model file has the bytes that ``unfold train`` gives.

    data: a file, or several, each a str or os.PathLike; of a task, the folder of its files if it needs any.
    out: the run folder.
    progress: a function that is called with a dictionary for each event ("progress", "validation", "checkpoint",
        "done", ...), or True for lines on standard error.
    resume, overwrite: go on with the run in ``out``, or replace it.
    settings: every option of ``unfold train`` (``unfold.settings()`` names them), with _ for -: ``model="lstm:128"``,
        ``optimizer="adam:rate=0.002"``, ``minutes=3``, ``split="90/5/5"``, ``whole_sequences=True``. Lists of fields
        may be lists.

    Ctrl-C raises KeyboardInterrupt after a checkpoint was written: ``train(out=..., resume=True)`` goes on.
    Returns a Run. Raises UsageError, DataError, ModelError, DivergedError, RuntimeFailure.
    """
    if data is not None:
        settings["data"] = data
    callback = _Line(sys.stderr) if progress is True else (progress or None)
    figures = _core.train(out, resume, overwrite, settings, callback)
    return Run(figures.pop("run"), figures)
