"""The layers of torch.nn, computed by the engine."""

# mypy: allow-subclassing-any, allow-untyped-decorators
# The base classes and decorators are those of torch, which is not required for checking the types of the package.

from __future__ import annotations

import weakref
from typing import Any, Callable, Optional

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from .._public import set_module
from ._autograd import Recurrent
from ._engine import Config, forget_engines, layer_keys, run_forward
from ._operators import recurrent

_NO_PROJECTION = "unfold.torch: proj_size is not supported; use torch.nn.LSTM for it"


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
        key = next(layer_keys)
        object.__setattr__(self, "_unfold_key", key)
        weakref.finalize(self, forget_engines, key)

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
            y, h_n, c_n, _ = recurrent(
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
        config = Config(
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
            y, h_n, c_n, _ = Recurrent.apply(data, h_0, c_0, batch_sizes, seed, config, *weights)
        else:
            y, h_n, c_n, _ = run_forward(data, h_0, c_0, weights, batch_sizes, seed, config)
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


@set_module("unfold.torch")
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


@set_module("unfold.torch")
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


@set_module("unfold.torch")
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
