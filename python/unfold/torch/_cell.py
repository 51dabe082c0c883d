"""Circuits as modules."""

# mypy: allow-subclassing-any, allow-untyped-decorators
# The base classes and decorators are those of torch, which is not required for checking the types of the package.

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from .. import _core
from .._public import set_module
from ._engine import NO_SECOND_DERIVATIVES


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
            raise NotImplementedError(NO_SECOND_DERIVATIVES)
        parameters, rows, lengths = ctx.saved_tensors
        passes = ctx.passes
        if passes.count != ctx.number:  # another forward pass has replaced the values
            ctx.number = passes.forward(parameters.detach(), rows.detach(), lengths, ctx.seed)
        to_parameters = torch.from_numpy(passes.passes.backward([gradient.contiguous().numpy()]))
        to_rows = torch.from_numpy(passes.passes.input_adjoint(0)) if ctx.needs_input_grad[1] else None
        return to_parameters, to_rows, None, None, None


@set_module("unfold.torch")
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
