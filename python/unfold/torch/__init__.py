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

from __future__ import annotations

from typing import Any

import torch

from ._cell import Cell
from ._layers import GRU, LSTM, RNN

__all__ = ["Cell", "GRU", "LSTM", "RNN"]


def __getattr__(name: str) -> Any:
    if hasattr(torch.nn, name):
        raise AttributeError(
            f"unfold.torch has only {', '.join(__all__)}; use torch.nn.{name}, which works together with them"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
