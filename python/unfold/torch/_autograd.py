"""The passes of the engine as functions of autograd, outside torch.compile."""

# mypy: allow-subclassing-any, allow-untyped-decorators
# The base classes and decorators are those of torch, which is not required for checking the types of the package.

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from ._engine import NO_SECOND_DERIVATIVES, Config, run_backward, run_forward, run_tangent


class _Backward(torch.autograd.Function):
    """The backward pass as a function, so that a backward pass through it raises an error."""

    @staticmethod
    def forward(*inputs: Any) -> Any:
        config, batch_sizes, grad_y, grad_h, grad_c, x, h_0, c_0, y, block, *weights = inputs
        to_x, to_h, to_c, to_weights = run_backward(
            grad_y, grad_h, grad_c, x, h_0, c_0, y, block, weights, batch_sizes, config
        )
        return (to_x, to_h, to_c, *to_weights)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError(NO_SECOND_DERIVATIVES)


class _Tangent(torch.autograd.Function):
    """The directional derivative, as a function so that torch.func can unwrap the tensors."""

    @staticmethod
    def forward(config: Config, batch_sizes: Any, count: int, *given: Any) -> Any:
        tangents, weight_tangents = given[:3], list(given[3 : 3 + count])
        x, h_0, c_0, y, block, *weights = given[3 + count :]
        return run_tangent(tangents, weight_tangents, x, h_0, c_0, y, block, weights, batch_sizes, config)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError(NO_SECOND_DERIVATIVES)


class Recurrent(torch.autograd.Function):
    @staticmethod
    def forward(
        x: Tensor,
        h_0: Optional[Tensor],
        c_0: Optional[Tensor],
        batch_sizes: Optional[Tensor],
        seed: Optional[Tensor],
        config: Config,
        *weights: Tensor,
    ) -> Any:
        return run_forward(x, h_0, c_0, list(weights), batch_sizes, seed, config)

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
