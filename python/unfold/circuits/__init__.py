"""Circuits: one step of a recurrent computation as data, its derivatives as functions on arrays, and new cells.

A cell is a function that adds one step to a circuit. It contains no loop over time and no derivative:

>>> from unfold.circuits import Circuit, Function, Signal
>>> def leaky(c: Circuit, x: Signal, n: int) -> Signal:
...     h = c.link(n)                                        # the value of y at the previous position
...     y = 0.7 * h + 0.3 * c.affine("z", n, {"W": x, "U": h}).tanh()
...     c.feed(h, y)
...     return y

`unfold.register_cell("leaky", leaky)` makes it a model: `unfold.train("book.txt", model="leaky:64")`. The function is
called once for each layer, and the circuit that it built is stored in the model file, so the command and other programs
can use the model without Python.

A circuit with outputs is a function of its parameters and inputs, with all derivatives:

>>> c = Circuit()
>>> c.output(c.affine("out", 2, {"V": leaky(c, c.input("x", 3), 4)}))
>>> f = Function(c)
>>> w = f.initial(seed=1)
>>> x = numpy.ones((5, 3))
>>> f.forward(w, x).shape
(5, 2)
>>> gradient, to_x = f.vjp(w, x, numpy.ones((5, 2)))
>>> gradient.shape == (f.size,), to_x.shape
(True, (5, 3))

Arrays are [positions, size] for one sequence, or lists of such arrays for several; symbols are vectors of whole
numbers, in which -1 means no symbol. There is no padding. Results do not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any  # for typing.get_type_hints

from .._core import Circuit, Init, Operator, Signal, Term, register_cell
from ._derivative_check import CheckReport, check_derivatives
from ._function import Function
from ._optimizer import Optimizer

__all__ = ["CheckReport", "Circuit", "Function", "Init", "Operator", "Optimizer", "Signal", "Term",
           "check_derivatives", "exp", "hard_sigmoid", "log", "one_minus", "register_cell", "relu", "sigmoid",
           "softplus", "square", "tanh"]


def tanh(x: Signal) -> Signal:
    """Return the hyperbolic tangent of a signal. Like the functions below, it is also a method: `x.tanh()`."""
    return x.tanh()


def sigmoid(x: Signal) -> Signal:
    """Return 1 / (1 + exp(-x))."""
    return x.sigmoid()


def hard_sigmoid(x: Signal) -> Signal:
    """Return x / 4 + 1/2, limited to [0, 1]."""
    return x.hard_sigmoid()


def relu(x: Signal) -> Signal:
    """Return max(x, 0)."""
    return x.relu()


def softplus(x: Signal) -> Signal:
    """Return log(1 + exp(x))."""
    return x.softplus()


def exp(x: Signal) -> Signal:
    """Return exp(x)."""
    return x.exp()


def log(x: Signal) -> Signal:
    """Return log(x)."""
    return x.log()


def square(x: Signal) -> Signal:
    """Return x squared."""
    return x.square()


def one_minus(x: Signal) -> Signal:
    """Return 1 - x."""
    return x.one_minus()
