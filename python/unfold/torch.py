"""Recurrent layers for PyTorch that run on the engine of Unfold: faster on a CPU, with the same interface.

`RNN`, `LSTM` and `GRU` have the constructor, parameters, `state_dict` and results (up to rounding) of the layers of
`torch.nn`. Change the import, and nothing else:

>>> import torch
>>> import unfold.torch
>>> _ = torch.manual_seed(0)
>>> layer = unfold.torch.LSTM(8, 16, num_layers=2, batch_first=True)
>>> y, (h, c) = layer(torch.randn(4, 10, 8))
>>> y.shape, h.shape
(torch.Size([4, 10, 16]), torch.Size([2, 4, 16]))
>>> y.sum().backward()

The engine reads and writes the tensors directly. The time for a `PackedSequence` is proportional to the number of its
positions. Results are deterministic and do not depend on the number of threads. Inputs on devices other than the CPU,
and types other than float32 and float64, are computed by `torch.nn`. `proj_size` and second derivatives are not
supported. The layers are instances of `torch.nn.RNNBase`, but not of `torch.nn.LSTM`, which `torch.compile` refuses to
compile.
"""

# mypy: allow-subclassing-any, allow-untyped-decorators
# The base classes and decorators are those of torch, which is not required for checking the types of the package.

from __future__ import annotations

import itertools
import weakref
from typing import Any, Callable, NamedTuple, Optional

import torch
from torch import Tensor, library
from torch.nn.utils.rnn import PackedSequence

from . import _core

__all__ = ["Cell", "GRU", "LSTM", "RNN"]

_NO_SECOND_DERIVATIVES = (
    "unfold.torch: second derivatives of recurrent layers are not supported; call backward without create_graph, "
    "or use the layer of torch.nn"
)
_NO_PROJECTION = "unfold.torch: proj_size is not supported; use torch.nn.LSTM for it"


def __getattr__(name: str) -> Any:
    if hasattr(torch.nn, name):
        raise AttributeError(
            f"unfold.torch has only {', '.join(__all__)}; use torch.nn.{name}, which works together with them"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _Config(NamedTuple):
    """The settings that determine the engine of a layer and how it runs."""

    key: int  # of the module: engines keep its packed weights
    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bidirectional: bool
    bias: bool
    dropout: float  # 0 outside training
    keep: bool  # whether a backward pass may follow
    input_gradient: bool

    @property
    def directions(self) -> int:
        return 2 if self.bidirectional else 1


_keys = itertools.count(1)
_engines: dict[int, dict[Any, Any]] = {}  # by key, then by variant


def _forget(key: int) -> None:
    _engines.pop(key, None)


def _engine(config: _Config, dtype: torch.dtype) -> Any:
    engines = _engines.setdefault(config.key, {})
    variant = (config.dropout, config.input_gradient, dtype)
    engine = engines.get(variant)
    if engine is None:
        engine = _core.Recurrent(
            config.mode,
            config.input_size,
            config.hidden_size,
            config.num_layers,
            config.bidirectional,
            config.bias,
            config.dropout,
            config.input_gradient,
            dtype == torch.float64,
        )
        engines[variant] = engine
    return engine


def _address(tensor: Optional[Tensor]) -> int:
    return 0 if tensor is None else tensor.data_ptr()


def _contiguous(tensor: Optional[Tensor]) -> Optional[Tensor]:
    return None if tensor is None else tensor.contiguous()


def _batch(x: Tensor, batch_sizes: Optional[Tensor]) -> tuple[int, int, int]:
    """Return the steps, the sequences, and the address of the batch sizes of packed sequences."""
    if batch_sizes is None:
        return x.shape[0], x.shape[1], 0
    return batch_sizes.shape[0], int(batch_sizes[0]), batch_sizes.data_ptr()


def _tensors(
    weights: list[Any],
    x: Optional[Tensor],
    y: Optional[Tensor],
    h_0: Optional[Tensor],
    c_0: Optional[Tensor],
    h_n: Optional[Tensor],
    c_n: Optional[Tensor],
) -> tuple[Any, ...]:
    return (
        [_address(w) for w in weights],
        _address(x),
        _address(y),
        _address(h_0),
        _address(c_0),
        _address(h_n),
        _address(c_n),
    )


def _block_numbers(config: _Config, dtype: torch.dtype, positions: Any, sequences: Any) -> Any:
    position, sequence, constant = _engine(config, dtype).block_size()
    return positions * position + sequences * sequence + constant


def _new_outputs(
    x: Tensor, sequences: Any, config: _Config, positions: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return uninitialized y, h_n, c_n (empty unless LSTM) and the block of kept values (empty unless kept)."""
    states = (config.num_layers * config.directions, sequences, config.hidden_size)
    y = x.new_empty((*x.shape[:-1], config.directions * config.hidden_size))
    h_n = x.new_empty(states)
    c_n = x.new_empty(states if config.mode == "LSTM" else (0,))
    block = x.new_empty((_block_numbers(config, x.dtype, positions, sequences) if config.keep else 0,))
    return y, h_n, c_n, block


def _run_forward(
    x: Tensor,
    h_0: Optional[Tensor],
    c_0: Optional[Tensor],
    weights: list[Tensor],
    batch_sizes: Optional[Tensor],
    seed: Optional[Tensor],
    config: _Config,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    x, h_0, c_0 = x.contiguous(), _contiguous(h_0), _contiguous(c_0)
    weights = [w.contiguous() for w in weights]
    batch = _batch(x, batch_sizes)
    y, h_n, c_n, block = _new_outputs(x, batch[1], config, x.shape[:-1].numel())
    _engine(config, x.dtype).forward(
        batch,
        _tensors(weights, x, y, h_0, c_0, h_n, c_n if config.mode == "LSTM" else None),
        (block.data_ptr(), block.numel()),
        None if seed is None else int(seed),
        torch.get_num_threads(),
    )
    return y, h_n, c_n, block


def _run_backward(
    grad_y: Optional[Tensor],
    grad_h: Optional[Tensor],
    grad_c: Optional[Tensor],
    x: Tensor,
    h_0: Optional[Tensor],
    c_0: Optional[Tensor],
    y: Tensor,
    block: Tensor,
    weights: list[Tensor],
    batch_sizes: Optional[Tensor],
    config: _Config,
) -> tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor], list[Tensor]]:
    x, h_0, c_0 = x.contiguous(), _contiguous(h_0), _contiguous(c_0)
    weights = [w.contiguous() for w in weights]
    batch = _batch(x, batch_sizes)
    grad_y = torch.zeros_like(y) if grad_y is None else grad_y.contiguous()
    grad_h, grad_c = _contiguous(grad_h), _contiguous(grad_c) if config.mode == "LSTM" else None
    to_x = torch.empty_like(x) if config.input_gradient else None
    to_h = None if h_0 is None else torch.empty_like(h_0)
    to_c = None if c_0 is None else torch.empty_like(c_0)
    to_weights = [torch.empty_like(w) for w in weights]
    _engine(config, x.dtype).backward(
        batch,
        _tensors(weights, x, y, h_0, c_0, None, None),
        (block.data_ptr(), block.numel()),
        _tensors(to_weights, to_x, grad_y, to_h, to_c, grad_h, grad_c),
        torch.get_num_threads(),
    )
    return to_x, to_h, to_c, to_weights


def _run_tangent(
    tangents: tuple[Optional[Tensor], ...],
    weight_tangents: list[Optional[Tensor]],
    x: Tensor,
    h_0: Optional[Tensor],
    c_0: Optional[Tensor],
    y: Tensor,
    block: Tensor,
    weights: list[Tensor],
    batch_sizes: Optional[Tensor],
    config: _Config,
) -> tuple[Tensor, Tensor, Tensor]:
    x, h_0, c_0 = x.contiguous(), _contiguous(h_0), _contiguous(c_0)
    weights = [w.contiguous() for w in weights]
    moved_x, moved_h, moved_c = (_contiguous(t) for t in tangents)
    moved_weights = [_contiguous(t) for t in weight_tangents]
    batch = _batch(x, batch_sizes)
    y_t, h_t, c_t, _ = _new_outputs(x, batch[1], config._replace(keep=False), 0)
    _engine(config, x.dtype).tangent(
        batch,
        _tensors(weights, x, y, h_0, c_0, None, None),
        (block.data_ptr(), block.numel()),
        _tensors(moved_weights, moved_x, y_t, moved_h, moved_c, h_t, c_t if config.mode == "LSTM" else None),
        torch.get_num_threads(),
    )
    return y_t, h_t, c_t


# ------------------------------------------------------------------------------------ autograd outside torch.compile


class _Backward(torch.autograd.Function):
    """The backward pass as a function, so that a backward pass through it raises an error."""

    @staticmethod
    def forward(*inputs: Any) -> Any:
        config, batch_sizes, grad_y, grad_h, grad_c, x, h_0, c_0, y, block, *weights = inputs
        to_x, to_h, to_c, to_weights = _run_backward(
            grad_y, grad_h, grad_c, x, h_0, c_0, y, block, weights, batch_sizes, config
        )
        return (to_x, to_h, to_c, *to_weights)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError(_NO_SECOND_DERIVATIVES)


class _Tangent(torch.autograd.Function):
    """The directional derivative, as a function so that torch.func can unwrap the tensors."""

    @staticmethod
    def forward(config: _Config, batch_sizes: Any, count: int, *given: Any) -> Any:
        tangents, weight_tangents = given[:3], list(given[3 : 3 + count])
        x, h_0, c_0, y, block, *weights = given[3 + count :]
        return _run_tangent(tangents, weight_tangents, x, h_0, c_0, y, block, weights, batch_sizes, config)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError(_NO_SECOND_DERIVATIVES)


class _Recurrent(torch.autograd.Function):
    @staticmethod
    def forward(
        x: Tensor,
        h_0: Optional[Tensor],
        c_0: Optional[Tensor],
        batch_sizes: Optional[Tensor],
        seed: Optional[Tensor],
        config: _Config,
        *weights: Tensor,
    ) -> Any:
        return _run_forward(x, h_0, c_0, list(weights), batch_sizes, seed, config)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, h_0, c_0, batch_sizes, _, config, *weights = inputs
        y, _, _, block = output
        ctx.mark_non_differentiable(block)
        ctx.set_materialize_grads(False)
        ctx.config = config
        saved = (x, h_0, c_0, y, block, batch_sizes, *weights)
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)

    @staticmethod
    def backward(ctx: Any, grad_y: Any, grad_h: Any, grad_c: Any, _: Any) -> Any:
        x, h_0, c_0, y, block, batch_sizes, *weights = ctx.saved_tensors
        run = _Backward.apply if torch.is_grad_enabled() else _Backward.forward
        to_x, to_h, to_c, *to_weights = run(
            ctx.config, batch_sizes, grad_y, grad_h, grad_c, x, h_0, c_0, y, block, *weights
        )
        return (to_x, to_h, to_c, None, None, None, *to_weights)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        x, h_0, c_0, y, block, batch_sizes, *weights = ctx.saved_tensors
        moved = _Tangent.apply(
            ctx.config, batch_sizes, len(weights), *tangents[:3], *tangents[6:], x, h_0, c_0, y, block, *weights
        )
        return (*moved, None)


# ---------------------------------------------------------------------------------- the operators for torch.compile


@library.custom_op("unfold::recurrent", mutates_args=(), device_types="cpu")
def _recurrent(
    x: Tensor,
    h_0: Optional[Tensor],
    c_0: Optional[Tensor],
    weights: list[Tensor],
    batch_sizes: Optional[Tensor],
    seed: Optional[Tensor],
    key: int,
    mode: str,
    hidden_size: int,
    num_layers: int,
    bidirectional: bool,
    bias: bool,
    dropout: float,
    keep: bool,
    input_gradient: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    config = _Config(
        key, mode, x.shape[-1], hidden_size, num_layers, bidirectional, bias, dropout, keep, input_gradient
    )
    return _run_forward(x, h_0, c_0, weights, batch_sizes, seed, config)


@_recurrent.register_fake
def _recurrent_fake(
    x: Tensor,
    h_0: Optional[Tensor],
    c_0: Optional[Tensor],
    weights: list[Tensor],
    batch_sizes: Optional[Tensor],
    seed: Optional[Tensor],
    key: int,
    mode: str,
    hidden_size: int,
    num_layers: int,
    bidirectional: bool,
    bias: bool,
    dropout: float,
    keep: bool,
    input_gradient: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    config = _Config(
        key, mode, int(x.shape[-1]), hidden_size, num_layers, bidirectional, bias, dropout, keep, input_gradient
    )
    if batch_sizes is None:
        return _new_outputs(x, x.shape[1], config, x.shape[0] * x.shape[1])
    sequences = library.get_ctx().new_dynamic_size() if h_0 is None else h_0.shape[1]
    return _new_outputs(x, sequences, config, x.shape[0])


@library.custom_op("unfold::recurrent_backward", mutates_args=(), device_types="cpu")
def _recurrent_backward(
    grad_y: Optional[Tensor],
    grad_h: Optional[Tensor],
    grad_c: Optional[Tensor],
    x: Tensor,
    h_0: Optional[Tensor],
    c_0: Optional[Tensor],
    y: Tensor,
    block: Tensor,
    weights: list[Tensor],
    batch_sizes: Optional[Tensor],
    key: int,
    mode: str,
    hidden_size: int,
    num_layers: int,
    bidirectional: bool,
    bias: bool,
    dropout: float,
    input_gradient: bool,
) -> list[Tensor]:
    config = _Config(
        key, mode, x.shape[-1], hidden_size, num_layers, bidirectional, bias, dropout, True, input_gradient
    )
    to_x, to_h, to_c, to_weights = _run_backward(
        grad_y, grad_h, grad_c, x, h_0, c_0, y, block, weights, batch_sizes, config
    )
    return [x.new_empty(0) if g is None else g for g in (to_x, to_h, to_c)] + to_weights


@_recurrent_backward.register_fake
def _recurrent_backward_fake(
    grad_y: Optional[Tensor],
    grad_h: Optional[Tensor],
    grad_c: Optional[Tensor],
    x: Tensor,
    h_0: Optional[Tensor],
    c_0: Optional[Tensor],
    y: Tensor,
    block: Tensor,
    weights: list[Tensor],
    batch_sizes: Optional[Tensor],
    key: int,
    mode: str,
    hidden_size: int,
    num_layers: int,
    bidirectional: bool,
    bias: bool,
    dropout: float,
    input_gradient: bool,
) -> list[Tensor]:
    wanted = (x if input_gradient else None, h_0, c_0)
    made = [x.new_empty(0) if t is None else x.new_empty(t.shape) for t in wanted]
    return made + [w.new_empty(w.shape) for w in weights]


def _save(ctx: Any, inputs: Any, output: Any) -> None:
    x, h_0, c_0, weights, batch_sizes, _, *config = inputs
    y, _, _, block = output
    ctx.mark_non_differentiable(block)
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(x, h_0, c_0, y, block, batch_sizes, *weights)
    ctx.config = config


def _differentiate(ctx: Any, grad_y: Any, grad_h: Any, grad_c: Any, _: Any) -> Any:
    x, h_0, c_0, y, block, batch_sizes, *weights = ctx.saved_tensors
    *shape, _, input_gradient = ctx.config
    to_x, to_h, to_c, *to_weights = _recurrent_backward(
        grad_y, grad_h, grad_c, x, h_0, c_0, y, block, weights, batch_sizes, *shape, input_gradient
    )
    return (
        to_x if input_gradient else None,
        None if h_0 is None else to_h,
        None if c_0 is None else to_c,
        to_weights,
        *([None] * (2 + len(ctx.config))),
    )


def _refuse(ctx: Any, *gradients: Any) -> Any:
    raise NotImplementedError(_NO_SECOND_DERIVATIVES)


_recurrent.register_autograd(_differentiate, setup_context=_save)
_recurrent_backward.register_autograd(_refuse)


# ----------------------------------------------------------------------------------------------------- the modules


def _transformed() -> bool:
    """Return whether forward-mode derivatives or a transformation of torch.func are being computed."""
    return (
        torch.autograd.forward_ad._current_level >= 0
        or torch._C._functorch.peek_interpreter_stack() is not None
    )


class _Layer(torch.nn.RNNBase):
    """Base class of `RNN`, `LSTM` and `GRU`, which calls the engine instead of torch.nn."""

    _unfold_key: int
    _torch_layer: Any  # the class of torch.nn

    def _prepare(self) -> None:
        if self.proj_size > 0:
            raise NotImplementedError(_NO_PROJECTION)
        key = next(_keys)
        object.__setattr__(self, "_unfold_key", key)
        weakref.finalize(self, _forget, key)

    def __getstate__(self) -> dict[str, Any]:
        parent: Any = super()
        state: dict[str, Any] = parent.__getstate__()
        state.pop("_unfold_key", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        parent: Any = super()
        parent.__setstate__(state)
        self._prepare()

    def _is_supported(self, data: Tensor) -> bool:
        weight: Any = self._flat_weights[0]
        return (
            data.device.type == "cpu"
            and data.dtype in (torch.float32, torch.float64)
            and data.dtype == weight.dtype
            and weight.device.type == "cpu"
            and data.numel() > 0
        )

    def _call(
        self, data: Tensor, batch_sizes: Optional[Tensor], h_0: Optional[Tensor], c_0: Optional[Tensor]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return y, h_n and c_n. data: [steps, sequences, input], or [positions, input] if packed."""
        weights: list[Any] = list(self._flat_weights)
        dropout = float(self.dropout) if self.training and self.num_layers > 1 else 0.0
        seed = torch.randint(1 << 62, (), dtype=torch.int64) if dropout > 0 else None
        keep = torch.is_grad_enabled() and any(
            t is not None and t.requires_grad for t in (data, h_0, c_0, *weights)
        )
        run: Callable[..., Any]
        if torch.compiler.is_compiling():
            y, h_n, c_n, _ = _recurrent(
                data,
                h_0,
                c_0,
                weights,
                batch_sizes,
                seed,
                self._unfold_key,
                self.mode,
                self.hidden_size,
                self.num_layers,
                self.bidirectional,
                self.bias,
                dropout,
                keep,
                data.requires_grad,
            )
            return y, h_n, c_n
        transformed = _transformed()
        config = _Config(
            self._unfold_key,
            self.mode,
            self.input_size,
            self.hidden_size,
            self.num_layers,
            self.bidirectional,
            self.bias,
            dropout,
            keep or transformed,
            data.requires_grad or transformed,
        )
        if config.keep:
            y, h_n, c_n, _ = _Recurrent.apply(data, h_0, c_0, batch_sizes, seed, config, *weights)
        else:
            y, h_n, c_n, _ = _run_forward(data, h_0, c_0, weights, batch_sizes, seed, config)
        return y, h_n, c_n

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Return the outputs and the final state, like the torch.nn layer.

        Parameters
        ----------
        input
            Tensor `[steps, batch, input_size]` (`[batch, steps, input_size]` with `batch_first`, which costs one copy;
            `[steps, input_size]` without a batch), or a `PackedSequence`.
        hx
            Initial state `[layers * directions, batch, hidden_size]`, for an LSTM the pair `(h_0, c_0)`; default: zero.

        Returns
        -------
        tuple
            The outputs, in the same form as `input`, and the final state, in the same form as `hx`.
        """
        packed = isinstance(input, PackedSequence)
        data = input.data if packed else input
        if not self._is_supported(data):
            return self._torch_layer.forward(self, input, hx)
        self._update_flat_weights()
        batch_sizes, order, inverse = (input[1], input[2], input[3]) if packed else (None, None, None)
        if not packed and data.dim() not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {data.dim()}D instead")
        batched = packed or data.dim() == 3
        states = [] if hx is None else list(hx) if self.mode == "LSTM" else [hx]
        if not batched:
            data = data.unsqueeze(0 if self.batch_first else 1)
            states = [self._with_batch(state) for state in states]
        if hx is not None:
            for state in states:
                if state.dim() != 3:
                    raise RuntimeError(
                        f"For batched input, hx should be 3-D but got {state.dim()}-D tensor"
                    )
            states = [state if order is None else state.index_select(1, order) for state in states]
            given: Any = tuple(states) if self.mode == "LSTM" else states[0]
            self.check_forward_args(data, given, batch_sizes)
            if any(state.dtype != data.dtype for state in states):
                raise ValueError(f"{type(self).__name__}: hx and input must have the same type")
        else:
            self.check_input(data, batch_sizes)
        if self.batch_first and not packed:
            data = data.transpose(0, 1)
        h_0, c_0 = (*states, None, None)[:2]
        y, h_n, c_n = self._call(data.contiguous(), batch_sizes, h_0, c_0)
        final = [h_n, c_n] if self.mode == "LSTM" else [h_n]
        if inverse is not None:
            final = [state.index_select(1, inverse) for state in final]
        if not batched:
            y, final = y.squeeze(1), [state.squeeze(1) for state in final]
        elif self.batch_first and not packed:
            y = y.transpose(0, 1)
        output = PackedSequence(y, batch_sizes, order, inverse) if packed else y
        return output, (final[0], final[1]) if self.mode == "LSTM" else final[0]

    def _with_batch(self, state: Tensor) -> Tensor:
        if state.dim() != 2:
            raise RuntimeError(f"For unbatched 2-D input, hx should be 2-D but got {state.dim()}-D tensor")
        return state.unsqueeze(1)


class RNN(_Layer):
    """A simple recurrent network with tanh or ReLU units, in place of `torch.nn.RNN`.

    Parameters are those of `torch.nn.RNN`.

    Examples
    --------
    >>> layer = RNN(3, 5, nonlinearity="relu")
    >>> y, h = layer(torch.randn(7, 2, 3))
    >>> y.shape, h.shape
    (torch.Size([7, 2, 5]), torch.Size([1, 2, 5]))
    """

    _torch_layer = torch.nn.RNN

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Optional[torch.dtype] = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNN: nonlinearity must be 'tanh' or 'relu', not {nonlinearity!r}")
        self.nonlinearity = nonlinearity
        super().__init__(
            "RNN_TANH" if nonlinearity == "tanh" else "RNN_RELU",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device=device,
            dtype=dtype,
        )
        self._prepare()


class LSTM(_Layer):
    """Long short-term memory, in place of `torch.nn.LSTM`.

    Parameters are those of `torch.nn.LSTM`, except `proj_size`, which raises `NotImplementedError`.

    Examples
    --------
    >>> reference = torch.nn.LSTM(3, 5)
    >>> layer = LSTM(3, 5)
    >>> layer.load_state_dict(reference.state_dict())
    <All keys matched successfully>
    >>> x = torch.randn(7, 2, 3)
    >>> torch.allclose(layer(x)[0], reference(x)[0], atol=1e-6)
    True
    """

    _torch_layer: Any = torch.nn.LSTM
    get_expected_cell_size = _torch_layer.get_expected_cell_size
    check_forward_args = _torch_layer.check_forward_args
    permute_hidden = _torch_layer.permute_hidden

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Optional[torch.dtype] = None,
    ) -> None:
        if proj_size > 0:
            raise NotImplementedError(_NO_PROJECTION)
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device=device,
            dtype=dtype,
        )
        self._prepare()


class GRU(_Layer):
    """Gated recurrent units, in place of `torch.nn.GRU`.

    Parameters are those of `torch.nn.GRU`.

    Examples
    --------
    >>> layer = GRU(3, 5, bidirectional=True)
    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.randn(4, 3), torch.randn(2, 3)])
    >>> y, h = layer(packed)
    >>> y.data.shape, h.shape
    (torch.Size([6, 10]), torch.Size([2, 2, 5]))
    """

    _torch_layer = torch.nn.GRU

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Optional[torch.dtype] = None,
    ) -> None:
        super().__init__(
            "GRU",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device=device,
            dtype=dtype,
        )
        self._prepare()


# ------------------------------------------------------------------------------------------------- any other cell


class _CellPasses:
    """The passes of a circuit in one floating-point type. They keep the values of the last forward pass."""

    def __init__(self, circuit: Any, dtype: torch.dtype, threads: int) -> None:
        kind = _core.PassesFloat64 if dtype == torch.float64 else _core.PassesFloat32
        self.passes = kind(circuit, threads)
        self.is_symbols = self.passes.inputs()[0][2]
        self.count = 0  # forward passes so far

    def forward(self, parameters: Tensor, rows: Tensor, lengths: Tensor, seed: Optional[int]) -> int:
        self.passes.lay(lengths.numpy())
        self.passes.set_parameters(parameters.numpy())
        if self.is_symbols:
            self.passes.set_symbols(0, rows.numpy())
        else:
            self.passes.set_values(0, rows.numpy())
        self.passes.forward(seed)
        self.count += 1
        return self.count


class _CellFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, parameters: Tensor, rows: Tensor, lengths: Tensor, seed: Optional[int], passes: Any) -> Any:
        ctx.save_for_backward(parameters, rows, lengths)
        ctx.passes, ctx.seed = passes, seed
        ctx.number = passes.forward(parameters.detach(), rows.detach(), lengths, seed)
        return torch.from_numpy(passes.passes.output(0))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        if torch.is_grad_enabled():
            raise NotImplementedError(_NO_SECOND_DERIVATIVES)
        parameters, rows, lengths = ctx.saved_tensors
        passes = ctx.passes
        if passes.count != ctx.number:  # another forward pass has replaced the values
            ctx.number = passes.forward(parameters.detach(), rows.detach(), lengths, ctx.seed)
        to_parameters = torch.from_numpy(passes.passes.backward([gradient.contiguous().numpy()]))
        to_rows = torch.from_numpy(passes.passes.input_adjoint(0)) if ctx.needs_input_grad[1] else None
        return to_parameters, to_rows, None, None, None


class Cell(torch.nn.Module):
    """A CPU module that applies a circuit with one input and one output to sequences.

    The parameters have the names and shapes of the circuit, [inputs x outputs]; they are drawn as specified by the
    `Init` of each parameter, with the PyTorch seed. Sequences begin from the initial state of the circuit. Inputs,
    outputs and parameters are copied once per pass; if another forward pass comes between a forward pass and its
    backward pass, the values are computed again. Second derivatives are not supported.

    Parameters
    ----------
    circuit
        A circuit (`unfold.circuits`) with one input (vectors or symbols) and one output.
    batch_first
        Whether tensors are [batch, steps, size] instead of [steps, batch, size].
    threads
        The number of threads of a pass.
    dtype
        `torch.float32` or `torch.float64`.

    Examples
    --------
    >>> import unfold
    >>> c = unfold.Circuit()
    >>> h = c.link(4)
    >>> y = 0.7 * h + 0.3 * c.affine("z", 4, {"W": c.input("x", 3), "U": h}).tanh()
    >>> c.feed(h, y)
    >>> c.output(y)
    >>> cell = Cell(c)
    >>> cell(torch.randn(10, 2, 3)).shape
    torch.Size([10, 2, 4])
    >>> sorted(name for name, _ in cell.named_parameters())
    ['weights.z/U', 'weights.z/W', 'weights.z/bias']
    """

    def __init__(
        self,
        circuit: _core.Circuit,
        *,
        batch_first: bool = False,
        threads: int = 1,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        if not isinstance(circuit, _core.Circuit):
            raise TypeError(f"Cell: circuit must be an unfold.Circuit, not {type(circuit).__name__}")
        self.circuit = _core.Circuit.from_json(circuit.to_json())  # later changes have no effect
        self.batch_first, self.threads = batch_first, threads
        self._passes: dict[torch.dtype, _CellPasses] = {}
        if dtype not in (torch.float32, torch.float64):
            raise ValueError(f"Cell: dtype must be torch.float32 or torch.float64, not {dtype}")
        passes = self._passes_of(dtype).passes
        if len(passes.inputs()) != 1 or len(passes.outputs()) != 1:
            raise ValueError("Cell: the circuit must have one input and one output")
        self._name, self._size, self._is_symbols = passes.inputs()[0]
        self._blocks = self.circuit._parameters()
        self.weights = torch.nn.ParameterDict(
            {name: torch.nn.Parameter(torch.empty(rows, cols, dtype=dtype)) for name, rows, cols, _ in self._blocks}
        )
        self.reset_parameters()

    def _passes_of(self, dtype: torch.dtype) -> _CellPasses:
        if dtype not in self._passes:
            self._passes[dtype] = _CellPasses(self.circuit, dtype, self.threads)
        return self._passes[dtype]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_passes": {}}

    def reset_parameters(self) -> None:
        """Reinitialize the parameters."""
        seed = int(torch.randint(1 << 62, (), dtype=torch.int64))
        with torch.no_grad():
            for name, rows, cols, offset in self._blocks:
                weight = self.weights[name]
                drawn = self._passes_of(weight.dtype).passes.initial(seed)
                weight.copy_(torch.from_numpy(drawn[offset : offset + rows * cols].reshape(rows, cols)))

    def forward(self, input: Any, dropout_seed: Optional[int] = None) -> Any:
        """Return the outputs at every position.

        Parameters
        ----------
        input
            Tensor `[steps, batch, size]` (`[batch, steps, size]` with `batch_first`), `[steps, size]` for one sequence,
            or a `PackedSequence`. For symbols: integers without the last dimension; -1 means no symbol.
        dropout_seed
            The seed of dropout in training mode; None: drawn with the PyTorch seed.

        Returns
        -------
        Tensor or PackedSequence
            The outputs, in the same form as `input`.
        """
        packed = isinstance(input, PackedSequence)
        x = input.data if packed else input
        if not isinstance(x, Tensor):
            raise TypeError(f"Cell: the input must be a tensor or a PackedSequence, not {type(x).__name__}")
        if self._is_symbols and (x.is_floating_point() or x.is_complex() or x.dtype == torch.bool):
            raise ValueError(f"Cell: the input must contain symbols, which are integers, not {x.dtype}")
        if x.is_complex():
            raise ValueError(f"Cell: the input must contain real numbers, not {x.dtype}")
        if x.device.type != "cpu":
            raise ValueError(f"Cell: the input must be on the CPU, not on {x.device}")
        dimensions = 0 if self._is_symbols else 1
        if x.dim() - dimensions not in ((1,) if packed else (1, 2)) or (dimensions == 1 and x.shape[-1] != self._size):
            raise ValueError(f"Cell: the input has the shape {tuple(x.shape)}; its last dimension must be {self._size}")
        weights = [self.weights[name] for name, *_ in self._blocks]
        dtype = weights[0].dtype if weights else torch.float64 if x.dtype == torch.float64 else torch.float32
        if dtype not in (torch.float32, torch.float64):
            raise ValueError(f"Cell: the parameters must be torch.float32 or torch.float64, not {dtype}")
        if packed:
            lengths, items = _sequences_of(input.batch_sizes)
            rows = x.index_select(0, items)
        else:
            batched = x.dim() - dimensions == 2
            by_sequence = x if not batched or self.batch_first else x.transpose(0, 1)
            sequences, steps = by_sequence.shape[:2] if batched else (1, x.shape[0])
            lengths = torch.full((sequences,), steps, dtype=torch.int64)
            rows = by_sequence.reshape(sequences * steps, *by_sequence.shape[2 if batched else 1 :])
        if x.numel() == 0:
            raise ValueError("Cell: the input is empty")
        rows = rows.to(torch.int32 if self._is_symbols else dtype).contiguous()
        vector = torch.cat([w.reshape(-1) for w in weights]) if weights else rows.new_empty(0, dtype=dtype)
        seed = dropout_seed if dropout_seed is not None else int(torch.randint(1 << 62, (), dtype=torch.int64))
        y = _CellFunction.apply(vector, rows, lengths, seed if self.training else None, self._passes_of(dtype))
        if packed:
            back = torch.empty_like(items).scatter_(0, items, torch.arange(len(items)))
            return PackedSequence(y.index_select(0, back), input[1], input[2], input[3])
        if not batched:
            return y
        y = y.reshape(sequences, steps, -1)
        return y if self.batch_first else y.transpose(0, 1)


def _sequences_of(batch_sizes: Tensor) -> tuple[Tensor, Tensor]:
    """Return the lengths of packed sequences, and the packed row of each position, sequence by sequence."""
    sequences = int(batch_sizes[0])
    lengths = (batch_sizes.unsqueeze(1) > torch.arange(sequences)).sum(dim=0)
    begin = torch.cat([batch_sizes.new_zeros(1), batch_sizes.cumsum(0)[:-1]])
    items = torch.cat([begin[: int(lengths[s])] + s for s in range(sequences)])
    return lengths, items
