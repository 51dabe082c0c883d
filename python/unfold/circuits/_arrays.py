"""Arguments that are arrays, or lists of arrays with one entry per sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Union

import numpy
from numpy.typing import ArrayLike, NDArray

from ..errors import UsageError

Array = NDArray[Any]
# One sequence, or a list of sequences.
Sequences = Union[ArrayLike, Sequence[ArrayLike]]
# The only input, or every input by name.
Inputs = Union[Sequences, Mapping[str, Sequences]]


def float_type(dtype: Any, who: str) -> numpy.dtype[Any]:
    """Return float32 or float64 as a NumPy type."""
    found: numpy.dtype[Any] = numpy.dtype(dtype)
    if found not in (numpy.dtype(numpy.float32), numpy.dtype(numpy.float64)):
        raise UsageError(f"{who}: dtype must be float32 or float64, not {found}")
    return found


def is_one_sequence(value: Any, dimensions: int) -> bool:
    """Return whether a value is one sequence with the given number of dimensions, not a list of sequences."""
    depth = 0
    while not hasattr(value, "ndim"):
        if isinstance(value, (str, bytes)) or not hasattr(value, "__getitem__") or not hasattr(value, "__len__"):
            return depth <= dimensions
        if len(value) == 0:
            return depth + 1 <= dimensions
        value, depth = value[0], depth + 1
    return depth + int(value.ndim) <= dimensions


def shown(lengths: list[int]) -> str:
    return ", ".join(map(str, lengths[:6])) + (", ..." if len(lengths) > 6 else "")


def array_of(value: Any, what: str, kinds: str = "biuf") -> Array:
    """Return an array of numbers."""
    try:
        made: Array = numpy.asarray(value)
    except ValueError:  # rows of different lengths
        raise UsageError(f"Function: the rows of {what} have different lengths") from None
    if made.dtype.kind not in kinds and made.size > 0:
        wanted = "whole numbers" if kinds == "iu" else "numbers"
        raise UsageError(f"Function: {what} must contain {wanted}, not {made.dtype}")
    return made
