"""The recurrent engine on tensors: forward, backward and tangent passes, and the engine of each layer."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from .. import _core

NO_SECOND_DERIVATIVES = (
    "unfold.torch: second derivatives of recurrent layers are not supported; call backward without create_graph, "
    "or use the layer of torch.nn"
)


class Config(NamedTuple):
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


layer_keys = itertools.count(1)
engines: dict[int, dict[Any, Any]] = {}  # by key, then by variant


def forget_engines(key: int) -> None:
    engines.pop(key, None)


def engine_of(config: Config, dtype: torch.dtype) -> Any:
    variants = engines.setdefault(config.key, {})
    variant = (config.dropout, config.input_gradient, dtype)
    engine = variants.get(variant)
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
        variants[variant] = engine
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


def _block_numbers(config: Config, dtype: torch.dtype, positions: Any, sequences: Any) -> Any:
    position, sequence, constant = engine_of(config, dtype).block_size()
    return positions * position + sequences * sequence + constant


def new_outputs(
    x: Tensor, sequences: Any, config: Config, positions: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return uninitialized y, h_n, c_n (empty unless LSTM) and the block of kept values (empty unless kept)."""
    states = (config.num_layers * config.directions, sequences, config.hidden_size)
    y = x.new_empty((*x.shape[:-1], config.directions * config.hidden_size))
    h_n = x.new_empty(states)
    c_n = x.new_empty(states if config.mode == "LSTM" else (0,))
    block = x.new_empty((_block_numbers(config, x.dtype, positions, sequences) if config.keep else 0,))
    return y, h_n, c_n, block


def run_forward(
    x: Tensor,
    h_0: Optional[Tensor],
    c_0: Optional[Tensor],
    weights: list[Tensor],
    batch_sizes: Optional[Tensor],
    seed: Optional[Tensor],
    config: Config,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    x, h_0, c_0 = x.contiguous(), _contiguous(h_0), _contiguous(c_0)
    weights = [w.contiguous() for w in weights]
    batch = _batch(x, batch_sizes)
    y, h_n, c_n, block = new_outputs(x, batch[1], config, x.shape[:-1].numel())
    engine_of(config, x.dtype).forward(
        batch,
        _tensors(weights, x, y, h_0, c_0, h_n, c_n if config.mode == "LSTM" else None),
        (block.data_ptr(), block.numel()),
        None if seed is None else int(seed),
        torch.get_num_threads(),
    )
    return y, h_n, c_n, block


def run_backward(
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
    config: Config,
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
    engine_of(config, x.dtype).backward(
        batch,
        _tensors(weights, x, y, h_0, c_0, None, None),
        (block.data_ptr(), block.numel()),
        _tensors(to_weights, to_x, grad_y, to_h, to_c, grad_h, grad_c),
        torch.get_num_threads(),
    )
    return to_x, to_h, to_c, to_weights


def run_tangent(
    tangents: tuple[Optional[Tensor], ...],
    weight_tangents: list[Optional[Tensor]],
    x: Tensor,
    h_0: Optional[Tensor],
    c_0: Optional[Tensor],
    y: Tensor,
    block: Tensor,
    weights: list[Tensor],
    batch_sizes: Optional[Tensor],
    config: Config,
) -> tuple[Tensor, Tensor, Tensor]:
    x, h_0, c_0 = x.contiguous(), _contiguous(h_0), _contiguous(c_0)
    weights = [w.contiguous() for w in weights]
    moved_x, moved_h, moved_c = (_contiguous(t) for t in tangents)
    moved_weights = [_contiguous(t) for t in weight_tangents]
    batch = _batch(x, batch_sizes)
    y_t, h_t, c_t, _ = new_outputs(x, batch[1], config._replace(keep=False), 0)
    engine_of(config, x.dtype).tangent(
        batch,
        _tensors(weights, x, y, h_0, c_0, None, None),
        (block.data_ptr(), block.numel()),
        _tensors(moved_weights, moved_x, y_t, moved_h, moved_c, h_t, c_t if config.mode == "LSTM" else None),
        torch.get_num_threads(),
    )
    return y_t, h_t, c_t
