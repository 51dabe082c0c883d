"""The passes of the engine as operators, for torch.compile."""

# mypy: allow-subclassing-any, allow-untyped-decorators
# The base classes and decorators are those of torch, which is not required for checking the types of the package.

from __future__ import annotations

from typing import Any, Optional

from torch import Tensor, library

from ._engine import NO_SECOND_DERIVATIVES, Config, new_outputs, run_backward, run_forward


@library.custom_op("unfold::recurrent", mutates_args=(), device_types="cpu")
def recurrent(
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
    config = Config(
        key, mode, x.shape[-1], hidden_size, num_layers, bidirectional, bias, dropout, keep, input_gradient
    )
    return run_forward(x, h_0, c_0, weights, batch_sizes, seed, config)


@recurrent.register_fake
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
    config = Config(
        key, mode, int(x.shape[-1]), hidden_size, num_layers, bidirectional, bias, dropout, keep, input_gradient
    )
    if batch_sizes is None:
        return new_outputs(x, x.shape[1], config, x.shape[0] * x.shape[1])
    sequences = library.get_ctx().new_dynamic_size() if h_0 is None else h_0.shape[1]
    return new_outputs(x, sequences, config, x.shape[0])


@library.custom_op("unfold::recurrent_backward", mutates_args=(), device_types="cpu")
def recurrent_backward(
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
    config = Config(
        key, mode, x.shape[-1], hidden_size, num_layers, bidirectional, bias, dropout, True, input_gradient
    )
    to_x, to_h, to_c, to_weights = run_backward(
        grad_y, grad_h, grad_c, x, h_0, c_0, y, block, weights, batch_sizes, config
    )
    return [x.new_empty(0) if g is None else g for g in (to_x, to_h, to_c)] + to_weights


@recurrent_backward.register_fake
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
    to_x, to_h, to_c, *to_weights = recurrent_backward(
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
    raise NotImplementedError(NO_SECOND_DERIVATIVES)


recurrent.register_autograd(_differentiate, setup_context=_save)
recurrent_backward.register_autograd(_refuse)
