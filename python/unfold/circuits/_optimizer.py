"""The optimizers of Unfold on any function of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional

import numpy
from numpy.typing import ArrayLike

from .. import _core
from .._public import set_module
from ..errors import UsageError
from ._arrays import Array, float_type


@set_module("unfold.circuits")
class Optimizer:
    """An Unfold optimizer that runs step by step on any Python function.

    Parameters
    ----------
    spec
        As in `unfold train --optimizer`: `adam:rate=0.01`, `sgd`, `lbfgs`, ... `hf` and `natural` need
        `structural=0,probes=0`, because structural damping and the preconditioner use the network. Optimizers that run
        passes over a network (Riemannian, path-normalized, RTRL) raise UsageError.
    size
        The number of parameters.
    dtype
        The type of the parameters: `numpy.float64` or `numpy.float32`.

    Examples
    --------
    >>> target = numpy.array([1.0, -2.0, 3.0])
    >>> w = numpy.zeros(3)
    >>> optimizer = Optimizer("adam:rate=0.1", w.size)
    >>> for _ in range(300):
    ...     report = optimizer.step(w, lambda w: (0.5 * ((w - target) ** 2).sum(), w - target))
    >>> numpy.allclose(w, target, atol=1e-2)
    True
    """

    def __init__(self, spec: str, size: int, dtype: Any = numpy.float64) -> None:
        self.dtype = float_type(dtype, "Optimizer")
        exact = self.dtype == numpy.float64
        self._optimizer = (_core.OptimizerFloat64 if exact else _core.OptimizerFloat32)(spec, size)

    @property
    def spec(self) -> str:
        """The SPEC with every option."""
        return str(self._optimizer.spec)

    def step(self, parameters: Array, objective: Callable[[Array], tuple[float, ArrayLike]], *,
             curvature: Optional[Callable[[Array, Array], ArrayLike]] = None, fraction: float = 0.0,
             factor: float = 1.0) -> dict[str, Any]:
        """Take one step, in place.

        Parameters
        ----------
        parameters
            Vector of `size` numbers, which the step changes.
        objective
            Returns the loss and its gradient at a vector of parameters, such as `Function.loss_and_gradient`.
        curvature
            Returns the product of the curvature at a vector of parameters (the first argument) with a vector, for
            optimizers that need it (`hf`), such as `Function.gauss_newton`.
        fraction
            The fraction of the training that is done, for learning rate schedules.
        factor
            A factor by which the learning rate is multiplied.

        Returns
        -------
        dict
            loss (before the step), gradient_norm, rate, finite, converged.
        """
        if not isinstance(parameters, numpy.ndarray) or parameters.dtype != self.dtype:
            raise UsageError(f"Optimizer: the parameters must be an array of {self.dtype}")
        if parameters.ndim != 1 or not parameters.flags.c_contiguous or not parameters.flags.writeable:
            raise UsageError("Optimizer: the parameters must be a writable, contiguous vector")

        def typed(w: Array) -> tuple[float, Array]:
            loss, gradient = objective(w)
            return float(loss), numpy.ascontiguousarray(gradient, dtype=self.dtype)

        def product(w: Array, v: Array) -> Array:
            assert curvature is not None
            return numpy.ascontiguousarray(curvature(w, v), dtype=self.dtype)

        report: dict[str, Any] = self._optimizer.step(parameters, typed, None if curvature is None else product,
                                                      fraction, factor)
        return report

    def average(self) -> Optional[Array]:
        """Return the averaged parameters of optimizers that keep an average; otherwise None."""
        found: Optional[Array] = self._optimizer.average()
        return found
