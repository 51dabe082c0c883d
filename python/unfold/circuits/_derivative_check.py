"""The check of every derivative of a circuit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy

from .. import _core
from .._core import Circuit
from .._public import set_module


@set_module("unfold.circuits")
class CheckReport(NamedTuple):
    """The result of `check_derivatives`.

    Attributes
    ----------
    passed
        Whether every check that ran has passed.
    text
        A table with one line per check.
    results
        One dictionary per check: name, what, worst (the largest relative error), bound, run, where.
    """

    passed: bool
    text: str
    results: list[dict[str, Any]]

    def __str__(self) -> str:
        return self.text


@set_module("unfold.circuits")
def check_derivatives(circuit: Circuit, *, loss: str = "gaussian", lengths: Sequence[int] = (4, 1, 3),
                      seed: int = 1) -> CheckReport:
    """Check every derivative of a circuit, in double precision, at random parameters, inputs and targets.

    The backward, tangent, Gauss-Newton, squared and path passes are compared with central differences, with dense
    matrices, with each other, and with sums over paths of a scalar graph.

    Parameters
    ----------
    circuit
        A circuit over chains with at least one output.
    loss
        The SPEC of the loss of every output.
    lengths
        The lengths of the sequences.
    seed
        The seed of parameters, inputs and directions.

    Examples
    --------
    >>> c = Circuit()
    >>> h = c.link(3)
    >>> y = c.affine("z", 3, {"W": c.input("x", 2), "U": h}).tanh()
    >>> c.feed(h, y)
    >>> c.output(y)
    >>> check_derivatives(c).passed
    True
    """
    passed, text, results = _core._check_derivatives(circuit, loss, numpy.asarray(lengths, dtype=numpy.int64), seed)
    names = ("name", "what", "worst", "bound", "run", "where")
    return CheckReport(passed, text, [dict(zip(names, result)) for result in results])
