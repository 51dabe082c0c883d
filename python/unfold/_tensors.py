"""The tensors of a model file as arrays."""

from __future__ import annotations

import html
import json
from typing import Any

import numpy
from numpy.typing import NDArray

_TYPES = {"F32": numpy.float32, "F64": numpy.float64, "I32": numpy.int32, "I64": numpy.int64, "U8": numpy.uint8,
          "U32": numpy.uint32, "U64": numpy.uint64, "I8": numpy.int8, "U16": numpy.uint16, "I16": numpy.int16}


def arrays(model: bytes) -> dict[str, NDArray[Any]]:
    """Return the tensors of a safetensors file by name, as read-only views of its bytes.

    Examples
    --------
    >>> import unfold
    >>> run = unfold.train(text="abcabc" * 40, model="gru:3", steps=1, threads=1)
    >>> {name: array.shape for name, array in run.model.parameters().items()}["layer1/g/W"]
    (3, 3)
    """
    size = int.from_bytes(model[:8], "little")
    header = json.loads(model[8:8 + size])
    found = {}
    for name, tensor in header.items():
        if name == "__metadata__" or tensor["dtype"] not in _TYPES:
            continue
        begin, end = tensor["data_offsets"]
        values = numpy.frombuffer(model, dtype=_TYPES[tensor["dtype"]], offset=8 + size + begin,
                                  count=(end - begin) // numpy.dtype(_TYPES[tensor["dtype"]]).itemsize)
        found[name] = values.reshape(tensor["shape"])
    return found


def table(model: Any) -> str:
    """Return a model as an HTML table: its SPEC, its kind, and its parameters with their shapes."""
    rows = [("model", model.spec), ("kind", model.kind), ("parameters", f"{model.parameter_count:,}")]
    rows += [(name, " x ".join(str(n) for n in array.shape)) for name, array in list(model.parameters().items())[:40]]
    cells = "".join(f"<tr><th>{html.escape(str(name))}</th><td>{html.escape(str(value))}</td></tr>"
                    for name, value in rows)
    return f"<table>{cells}</table>"
