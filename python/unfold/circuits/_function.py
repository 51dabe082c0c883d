"""A circuit as a function on arrays, with all its derivatives."""

from __future__ import annotations

import functools
import math
import operator
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Optional, TypeVar, cast

import numpy
from numpy.typing import ArrayLike

from .. import _core
from .._core import Circuit
from .._public import set_module
from ..errors import UsageError
from ._arrays import Array, Inputs, array_of, float_type, is_one_sequence, shown


F = TypeVar("F", bound=Callable[..., Any])


def _exclusive(method: F) -> F:
    """Make calls of a method of Function wait for calls in other threads: the passes hold the values of one call."""

    @functools.wraps(method)
    def called(self: Function, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            return method(self, *args, **kwargs)

    return cast(F, called)


class _Input(NamedTuple):
    name: str
    size: int
    is_symbols: bool


@set_module("unfold.circuits")
class Function:
    """A function of parameters and inputs that evaluates a circuit with outputs, and all its derivatives.

    All parameters are one vector; `views` gives its matrices by name. The functions change nothing: equal arguments
    give equal results, bit by bit.

    Several threads may use the same Function, but only one call runs at a time; the others wait. For calls that run at
    the same time, make one Function per thread.

    Parameters
    ----------
    circuit
        A circuit over chains, with at least one output. A copy is made.
    dtype
        The type of all arrays: `numpy.float64` or `numpy.float32`.
    threads
        The number of threads of a pass.

    Attributes
    ----------
    size
        The number of parameters.

    Examples
    --------
    Newton's equation of a linear circuit, by Gauss-Newton products:

    >>> c = Circuit()
    >>> c.output(c.affine("y", 1, {"W": c.input("x", 2)}, bias=None))
    >>> f = Function(c)
    >>> x, y = numpy.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]), numpy.array([[1.0], [2.0], [3.0]])
    >>> w = numpy.zeros(f.size)
    >>> nats, gradient = f.loss_and_gradient(w, x, y, loss="gaussian")
    >>> G = numpy.array([f.gauss_newton(w, x, v, loss="gaussian", targets=y) for v in numpy.eye(f.size)])
    >>> numpy.allclose(-numpy.linalg.solve(G, gradient), numpy.linalg.lstsq(x, y, rcond=None)[0].ravel())
    True
    """

    def __init__(self, circuit: Circuit, dtype: Any = numpy.float64, threads: int = 1) -> None:
        self.dtype = float_type(dtype, "Function")
        if threads < 1:
            raise UsageError(f"Function: threads must be at least 1, not {threads}")
        self._lock = threading.RLock()
        self._calls = 0  # that have set the values of the passes
        self._exact = self.dtype == numpy.float64
        self._circuit = circuit
        self._passes = (_core.PassesFloat64 if self._exact else _core.PassesFloat32)(circuit, threads)
        self._inputs = [_Input(*found) for found in self._passes.inputs()]
        names = [found.name for found in self._inputs]
        if len(set(names)) < len(names):
            raise UsageError(f"Function: the inputs must have different names, not {', '.join(names)}")
        self._outputs = self._passes.outputs()
        self._losses: dict[str, Any] = {}
        self._single = True  # whether the inputs of the last call were one sequence
        self._lengths: list[int] = []
        self._ends: list[int] = []
        self.size: int = self._passes.parameter_count()
        self._blocks: list[tuple[str, int, int, int]] = circuit._parameters()

    # ------------------------------------------------------------------------------------------------ parameters

    @_exclusive
    def initial(self, seed: int = 1) -> Array:
        """Return initial parameters, drawn as specified by the `Init` of each parameter."""
        drawn: Array = self._passes.initial(seed)
        return drawn

    def views(self, parameters: Array) -> dict[str, Array]:
        """Return the matrices of a vector of parameters by name, as views: changing them changes the vector.

        Examples
        --------
        >>> c = Circuit()
        >>> c.output(c.affine("y", 2, {"W": c.input("x", 3)}))
        >>> f = Function(c)
        >>> {name: matrix.shape for name, matrix in f.views(f.initial()).items()}
        {'y/W': (3, 2), 'y/bias': (1, 2)}
        """
        if parameters.shape != (self.size,):
            raise UsageError(f"Function: the parameters must be a vector of {self.size} numbers, not {parameters.shape}")
        return {name: parameters[offset:offset + rows * cols].reshape(rows, cols)
                for name, rows, cols, offset in self._blocks}

    # --------------------------------------------------------------------------------------------------- arrays

    def _vector(self, vector: ArrayLike, what: str) -> Array:
        made = numpy.ascontiguousarray(array_of(vector, what), dtype=self.dtype)
        if made.shape != (self.size,):
            raise UsageError(f"Function: {what} must be a vector of {self.size} numbers, not of shape {made.shape}")
        return made

    def _by_input(self, inputs: Inputs) -> list[Any]:
        """Return the value of each input."""
        if isinstance(inputs, Mapping):
            names = [found.name for found in self._inputs]
            if sorted(inputs) != sorted(names):
                raise UsageError(f"Function: the inputs are {', '.join(names)}, not {', '.join(map(str, inputs))}")
            return [inputs[name] for name in names]
        if len(self._inputs) != 1:
            names = [found.name for found in self._inputs]
            raise UsageError(f"Function: give the {len(names)} inputs as a dictionary: {', '.join(names)}")
        return [inputs]

    def _rows(self, value: Any, size: int, what: str) -> tuple[Array, list[int], bool]:
        """Return sequences of vectors as one array, their lengths, and whether it was one sequence."""
        single = is_one_sequence(value, 2)
        made = [array_of(one, what) for one in ([value] if single else value)]
        for one in made:
            if one.ndim != 2 or one.shape[1] != size:
                raise UsageError(f"Function: {what} must have the shape [positions, {size}], not {one.shape}")
        rows = numpy.ascontiguousarray(made[0] if len(made) == 1 else numpy.concatenate(made), dtype=self.dtype)
        return rows, [len(one) for one in made], single

    def _symbols(self, value: Any, what: str) -> tuple[Array, list[int], bool]:
        single = is_one_sequence(value, 1)
        made = [array_of(one, what, "iu") for one in ([value] if single else value)]
        for one in made:
            if one.ndim != 1:
                raise UsageError(f"Function: {what} must be a vector of whole numbers, not of shape {one.shape}")
        return numpy.concatenate(made).astype(numpy.int32), [len(one) for one in made], single

    def _lay(self, parameters: ArrayLike, inputs: Inputs) -> None:
        """Set the parameters, the lengths and the inputs of the passes."""
        values = self._by_input(inputs)
        read = [self._symbols(value, found.name) if found.is_symbols else self._rows(value, found.size, found.name)
                for found, value in zip(self._inputs, values)]
        lengths = read[0][1]
        for found, (_, others, _) in zip(self._inputs, read):
            if others != lengths:
                raise UsageError(f"Function: {found.name} and {self._inputs[0].name} have sequences of different "
                                 "lengths")
        if not lengths or min(lengths) < 1:
            raise UsageError("Function: a sequence needs at least one position")
        self._calls += 1
        self._single, self._lengths = read[0][2], lengths
        self._ends = numpy.cumsum(lengths).tolist()
        self._passes.lay(numpy.asarray(lengths, dtype=numpy.int64))
        self._passes.set_parameters(self._vector(parameters, "the parameters"))
        for i, (found, (array, _, _)) in enumerate(zip(self._inputs, read)):
            if found.is_symbols:
                self._passes.set_symbols(i, array)
            else:
                self._passes.set_values(i, array)

    def _split(self, rows: Array) -> Any:
        """Return an array in the form of the inputs: one sequence, or a list of them."""
        return rows if self._single else numpy.split(rows, self._ends[:-1])

    def _only(self, arrays: list[Any]) -> Any:
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    def _output_rows(self, values: Any, what: str) -> list[Array]:
        """Return arrays for the outputs, in the form that `forward` returns, as one array each."""
        given = [values] if len(self._outputs) == 1 else list(values)
        if len(given) != len(self._outputs):
            raise UsageError(f"Function: {what} needs one entry for each of the {len(self._outputs)} outputs")
        return [self._laid(self._rows(value, size, what), what) for value, size in zip(given, self._outputs)]

    def _laid(self, read: tuple[Array, list[int], bool], what: str) -> Array:
        """Return an array that has the sequences of the inputs."""
        array, lengths, _ = read
        if lengths != self._lengths:
            raise UsageError(f"Function: {what} must have the sequences of the inputs, of lengths "
                             f"{shown(self._lengths)}, not {shown(lengths)}")
        return array

    # --------------------------------------------------------------------------------------------------- passes

    @_exclusive
    def forward(self, parameters: ArrayLike, inputs: Inputs, dropout_seed: Optional[int] = None) -> Any:
        """Return the outputs.

        Parameters
        ----------
        parameters
            Vector of `size` numbers.
        inputs
            Array [positions, size] of the only input; a list of them, or an array [sequences, positions, size], for
            several sequences; a dictionary of these by name if there are several inputs. NaN is a number here: it makes
            the outputs NaN.
        dropout_seed
            The seed from which dropout masks are drawn; None: no dropout.

        Returns
        -------
        array
            [positions, size of the output], or a list of them; a tuple of these if there are several outputs.

        Examples
        --------
        >>> c = Circuit()
        >>> h = c.link(1)
        >>> y = h + c.input("x", 1)
        >>> c.feed(h, y)
        >>> c.output(y)
        >>> [sums.ravel().tolist() for sums in Function(c).forward([], [[[1], [2], [3]], [[10], [20]]])]
        [[1.0, 3.0, 6.0], [10.0, 30.0]]
        """
        self._lay(parameters, inputs)
        self._passes.forward(dropout_seed)
        return self._only([self._split(self._passes.output(k)) for k in range(len(self._outputs))])

    @_exclusive
    def vjp(self, parameters: ArrayLike, inputs: Inputs, cotangents: Any, *, squared: bool = False,
            dropout_seed: Optional[int] = None) -> tuple[Array, Any]:
        """Return the products of the transposed Jacobian and the cotangents, for the parameters and the inputs.

        Parameters
        ----------
        parameters, inputs, dropout_seed
            As for `forward`.
        cotangents
            Arrays with the shapes of the outputs.
        squared
            Use the Jacobian of each operation with its entries squared (the modulus pass), as the Riemannian metrics
            do.

        Returns
        -------
        tuple
            The gradient [size] of the sum of outputs times cotangents, and its gradient with respect to the inputs, in
            the form of the inputs; None for symbols.
        """
        self.forward(parameters, inputs, dropout_seed)
        gradient: Array = self._passes.backward(self._output_rows(cotangents, "cotangents"), squared)
        return gradient, self._to_inputs(inputs)

    def _to_inputs(self, inputs: Inputs) -> Any:
        found = [None if i.is_symbols else self._split(self._passes.input_adjoint(k)) for k, i in enumerate(self._inputs)]
        if isinstance(inputs, Mapping):
            return {i.name: adjoint for i, adjoint in zip(self._inputs, found)}
        return found[0]

    @_exclusive
    def jvp(self, parameters: ArrayLike, inputs: Inputs, direction: Optional[ArrayLike] = None,
            input_directions: Optional[Inputs] = None) -> Any:
        """Return the directional derivative of the outputs, in the form of `forward`.

        Parameters
        ----------
        parameters, inputs
            As for `forward`.
        direction
            Vector [size], the direction of the parameters; None: the parameters are fixed.
        input_directions
            Arrays with the shapes of the inputs (a dictionary may omit some); None: the inputs are fixed.
        """
        self.forward(parameters, inputs)
        moving = {}
        if input_directions is not None:
            given = input_directions if isinstance(input_directions, Mapping) else {self._inputs[0].name: input_directions}
            for i, found in enumerate(self._inputs):
                if found.name in given:
                    what = f"the direction of {found.name}"
                    moving[i] = self._laid(self._rows(given[found.name], found.size, what), what)
        zero = numpy.zeros(self.size, dtype=self.dtype)
        self._passes.tangent(zero if direction is None else self._vector(direction, "the direction"), moving)
        return self._only([self._split(self._passes.tangent_of(k)) for k in range(len(self._outputs))])

    # --------------------------------------------------------------------------------------------------- losses

    def _loss(self, spec: str) -> Any:
        if spec not in self._losses:
            self._losses[spec] = (_core.LossFloat64 if self._exact else _core.LossFloat32)(spec)
        return self._losses[spec]

    def _targets(self, loss: Any, targets: Any) -> Array:
        if len(self._outputs) != 1:
            raise UsageError(f"Function: losses need a circuit with one output, not {len(self._outputs)}")
        if loss.of_symbols():
            return self._laid(self._symbols(targets, "targets"), "targets")
        return self._laid(self._rows(targets, loss.target_size(self._outputs[0]), "targets"), "targets")

    @_exclusive
    def loss_and_gradient(self, parameters: ArrayLike, inputs: Inputs, targets: Any, *, loss: str = "softmax",
                          dropout_seed: Optional[int] = None) -> tuple[float, Array]:
        """Return the sum of the loss over all positions, in nats, and its gradient.

        Parameters
        ----------
        parameters, inputs, dropout_seed
            As for `forward`.
        targets
            For losses of symbols, a vector of whole numbers per sequence (-1: no target); otherwise an array.
        loss
            The SPEC of a loss with independent rows, as in `--predict FIELD=LOSS`: `softmax`, `gaussian`, `normal`,
            `student-t`, `bernoulli`, `poisson`, `negative-binomial`, `mixture:3`, ...
        """
        self.forward(parameters, inputs, dropout_seed)
        chosen = self._loss(loss)
        signal, observed = self._passes.output(0), self._targets(chosen, targets)
        gradient: Array = self._passes.backward([chosen.gradient(signal, observed)], False)
        return float(chosen.nats(signal, observed).sum(dtype=numpy.float64)), gradient

    @_exclusive
    def per_example_gradients(self, parameters: ArrayLike, inputs: Inputs, targets: Any, *,
                              loss: str = "softmax") -> Array:
        """Return the gradient of the loss of each sequence, [sequences, size].

        Each row is bit-identical to the gradient that `loss_and_gradient` returns for that sequence alone. The
        arguments are the same.
        """
        values = self._by_input(inputs)
        dimensions = [1 if found.is_symbols else 2 for found in self._inputs]
        if is_one_sequence(values[0], dimensions[0]):
            return self.loss_and_gradient(parameters, inputs, targets, loss=loss)[1][None, :]
        if len(targets) != len(values[0]):
            raise UsageError(f"Function: {len(values[0])} sequences, but {len(targets)} targets")
        rows = numpy.empty((len(targets), self.size), dtype=self.dtype)
        for s, target in enumerate(targets):
            one = {found.name: value[s] for found, value in zip(self._inputs, values)}
            rows[s] = self.loss_and_gradient(parameters, one, target, loss=loss)[1]
        return rows

    @_exclusive
    def forward_gradient(self, parameters: ArrayLike, inputs: Inputs, targets: Any, *, method: str = "rtrl",
                         loss: str = "softmax", seed: int = 1) -> tuple[float, Array]:
        """Return the loss and its gradient by a method that carries derivatives forward, without a backward pass.

        Inputs and targets are rounded to float32. All links must be along `previous`.

        Parameters
        ----------
        parameters, inputs, targets, loss
            As for `loss_and_gradient`.
        method
            `rtrl`: real-time recurrent learning, exact; `snap:N`: only parameters that reach a state within N steps;
            `uoro`, `nobacktrack`: unbiased random estimates.
        seed
            The seed of the random signs of the estimates.

        Examples
        --------
        >>> c = Circuit()
        >>> h = c.link(2)
        >>> y = c.affine("z", 2, {"W": c.input("x", 1), "U": h}).tanh()
        >>> c.feed(h, y)
        >>> c.output(c.affine("y", 1, {"V": y}))
        >>> f = Function(c)
        >>> w, x, target = f.initial(), [[1.0], [0.5], [-1.0]], [[0.0], [1.0], [1.0]]
        >>> nats, gradient = f.forward_gradient(w, x, target, loss="gaussian")
        >>> numpy.allclose(gradient, f.loss_and_gradient(w, x, target, loss="gaussian")[1])
        True
        """
        self._lay(parameters, inputs)
        observed = self._targets(self._loss(loss), targets)
        nats, gradient = self._passes.forward_gradient(method, loss, observed, seed)
        return float(nats), gradient

    @_exclusive
    def path(self, parameters: ArrayLike, length: int = 1, *, every_step: bool = True,
             second: bool = False) -> tuple[float, Array]:
        """Return the path norm of a network of rectified linear units, and its metric, as in path-SGD.

        The first result is the sum over all paths from an input or bias to an output, in one sequence, of the product
        of the squared weights on the path. The second is the vector [size] of its derivatives with respect to the
        squared parameters. Raises UsageError for maps that are not positively homogeneous, such as tanh.

        Parameters
        ----------
        parameters
            Vector of `size` numbers.
        length
            The length of the sequence.
        every_step
            Whether outputs are read at every position or only at the last one.
        second
            Return half the second derivative with respect to the parameters instead; it differs for recurrent matrices.

        Examples
        --------
        >>> c = Circuit()
        >>> c.output(c.affine("y", 1, {"W": c.affine("h", 2, {"V": c.input("x", 1)}, bias=None).relu()}, bias=None))
        >>> norm, metric = Function(c).path([1.0, 2.0, 3.0, 4.0])
        >>> norm, metric.tolist()
        (73.0, [9.0, 16.0, 1.0, 4.0])
        """
        self._calls += 1
        self._passes.set_parameters(self._vector(parameters, "the parameters"))
        mantissa, exponent, metric, scale = self._passes.path(operator.index(length), every_step, second)
        return math.ldexp(mantissa, exponent), numpy.ldexp(metric, scale)

    @_exclusive
    def gauss_newton(self, parameters: ArrayLike, inputs: Inputs, direction: ArrayLike, *, loss: Optional[str] = None,
                     targets: Any = None, curvature: Optional[Callable[[Any, Any], Any]] = None) -> Array:
        """Return the Gauss-Newton product J' H J v.

        For losses that are the negative logarithm of an exponential family in its natural parameter (`softmax`,
        `gaussian`, `bernoulli`, `poisson`), this is the product with the Fisher matrix. H is the second derivative of
        the loss.

        Parameters
        ----------
        parameters, inputs
            As for `forward`.
        direction
            Vector v [size].
        loss, targets
            As for `loss_and_gradient`; without them H is the identity.
        curvature
            Instead of a loss: a function of (outputs, tangents) that returns H times the tangents. It must not call
            this Function.
        """
        tangents = self.jvp(parameters, inputs, direction)
        if curvature is not None:
            calls = self._calls
            products = curvature(self._only([self._split(self._passes.output(k)) for k in range(len(self._outputs))]),
                                 tangents)
            if self._calls != calls:
                raise UsageError("Function: curvature must not call the same Function, whose values gauss_newton still "
                                 "needs; call another Function of the circuit")
            seeds = self._output_rows(products, "curvature")
        elif loss is not None:
            chosen = self._loss(loss)
            seeds = [chosen.curvature(self._passes.output(0), self._targets(chosen, targets), self._passes.tangent_of(0))]
        else:
            seeds = self._output_rows(tangents, "tangents")
        result: Array = self._passes.backward(seeds, False)
        return result

    @_exclusive
    def fisher(self, parameters: ArrayLike, inputs: Inputs, targets: Any, direction: ArrayLike, *,
               loss: str = "softmax") -> Array:
        """Return the product of the empirical Fisher matrix and v: the sum of g (g'v) over all sequences.

        g is the gradient of the loss of a sequence (`per_example_gradients`). For the Fisher matrix of the model's own
        distribution, see `gauss_newton`.
        """
        gradients = self.per_example_gradients(parameters, inputs, targets, loss=loss)
        product: Array = gradients.T @ (gradients @ self._vector(direction, "the direction"))
        return product

    @_exclusive
    def plan(self) -> str:
        """Return the execution plan as text: which operations run for all positions at once, and which step by step."""
        return str(self._passes.plan())

    def __repr__(self) -> str:
        inputs = ", ".join(f"{i.name} [{i.size}]" for i in self._inputs)
        return f"<Function of {inputs}: {self.size} parameters, {self.dtype}>"
