import os
from typing import Any, Callable, Iterable, Mapping, Sequence, Union, overload

import numpy
from numpy.typing import NDArray

from .results import Completion

Text = Union[str, bytes]
Path = Union[str, os.PathLike[str]]
Bytes = Union[bytes, bytearray, memoryview, NDArray[Any]]
Event = dict[str, Any]
# Files, or data in memory: arrays, sequences, mappings of names to them, tables (see unfold.train).
Data = Any

__version__: str

class Stream:
    """A stream of symbols with a prediction of the next one, created by `Model.stream()`."""

    @property
    def log_probabilities(self) -> NDArray[numpy.float32]: ...
    def push(self, symbol: int | Text) -> NDArray[numpy.float32]: ...
    def probabilities(self) -> NDArray[numpy.float32]: ...
    def surprisal(self, symbol: int | Text) -> float: ...
    def reset(self) -> None: ...
    def clone(self) -> Stream: ...
    def __copy__(self) -> Stream: ...
    def __deepcopy__(self, memo: Any) -> Stream: ...
    def set_learning(self, on: bool) -> None: ...

class Model:
    """A sequence model loaded from a run folder or a model file."""

    @staticmethod
    def load(path: Path) -> Model: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Model: ...
    def to_bytes(self) -> bytes: ...
    def save(self, path: Path) -> None: ...
    @property
    def spec(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def parameter_count(self) -> int: ...
    @property
    def card(self) -> dict[str, Any]: ...
    @property
    def alphabet(self) -> list[Text]: ...
    def stream(self) -> Stream: ...
    def score(
        self, text: Text, *, unknown: str = "error", segments: int = 0, warmup: int = 512, threads: int = 0
    ) -> NDArray[numpy.float32]: ...
    def eval(
        self,
        data: Data = None,
        *,
        text: Text | None = None,
        split: str | None = None,
        part: str | None = None,
        unknown: str = "error",
        segments: int = 0,
        threads: int = 0,
        progress: Callable[[Event], object] | None = None,
    ) -> dict[str, Any]: ...
    @overload
    def sample(
        self,
        length: int = 500,
        *,
        prime: Text = "",
        count: None = None,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        stop: Text = "",
        seed: int = 1,
    ) -> Text: ...
    @overload
    def sample(
        self,
        length: int = 500,
        *,
        prime: Text = "",
        count: int,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        stop: Text = "",
        seed: int = 1,
    ) -> list[Text]: ...
    def complete(
        self,
        prime: Text = "",
        *,
        beam: int = 8,
        length: int = 32,
        count: int = 5,
        normalisation: float = 1.0,
        stop: Text = "",
    ) -> list[Completion]: ...
    def predict(
        self,
        data: Data = (),
        *,
        ahead: int = 0,
        samples: int = 200,
        seed: int = 1,
        probabilities: bool = False,
        best: int = 1,
        beam: int = 1,
        given: Sequence[str] = (),
        threads: int = 0,
        progress: Callable[[Event], object] | None = None,
    ) -> list[dict[str, Any]]: ...
    def score_examples(
        self, data: Data, *, by: str = "line", unknown: str = "error", threads: int = 0
    ) -> list[dict[str, Any]]: ...
    def sample_rows(
        self, count: int = 1, *, given: Sequence[str] = (), seed: int = 1
    ) -> NDArray[numpy.float64]: ...
    def fill(
        self, data: Data, *, how: str = "mean", samples: int = 200, seed: int = 1
    ) -> list[dict[str, Any]]: ...
    def _predict_columns(
        self, data: Data, probabilities: bool = False, threads: int = 0
    ) -> dict[str, tuple[bool, Any]]: ...
    @overload
    def states(self, data: Data, *, text: None = None, gates: bool = False) -> list[dict[str, NDArray[Any]]]: ...
    @overload
    def states(self, data: None = None, *, text: Text, gates: bool = False) -> dict[str, NDArray[Any]]: ...
    def parameters(self) -> dict[str, NDArray[Any]]: ...
    def _repr_html_(self) -> str: ...
    def encode(self, text: Text, *, unknown: str = "error") -> NDArray[numpy.int32]: ...
    def decode(self, symbols: NDArray[numpy.integer[Any]] | Iterable[int]) -> Text: ...

def compress(
    data: Bytes,
    *,
    model: str = "cm:memory=64",
    block: int | None = None,
    independent: bool = False,
    verify: bool = True,
    threads: int = 1,
) -> bytes: ...
def decompress(data: Bytes, *, max_memory: int = 0, max_output: int = 0, threads: int = 1) -> bytes: ...
def settings() -> list[str]: ...
def _setting_table() -> list[dict[str, Any]]: ...
def train(
    out: Path | None, resume: bool, overwrite: bool, options: dict[str, Any], progress: Callable[[Event], object] | None
) -> tuple[dict[str, Any], bytes | None]: ...
def hmm_expectations(
    start: NDArray[numpy.float64],
    transitions: NDArray[numpy.float64],
    emissions: NDArray[numpy.float64],
    ends: NDArray[numpy.int64],
    pairs: bool = True,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
def hmm_best_path(
    start: NDArray[numpy.float64],
    transitions: NDArray[numpy.float64],
    emissions: NDArray[numpy.float64],
    ends: NDArray[numpy.int64],
) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64]]: ...

class Recurrent:
    """Layers of torch.nn.RNN, LSTM or GRU on memory given by addresses, for unfold.torch.

    A batch is (steps, sequences, address of the batch sizes or 0); tensors are (weights, x, y, h_0, c_0, h_n, c_n); a
    block is (address, numbers). The address of an absent tensor is 0. Addresses are not checked.
    """

    def __init__(
        self,
        kind: str,
        input: int,
        hidden: int,
        layers: int,
        bidirectional: bool,
        bias: bool,
        dropout: float,
        input_gradient: bool,
        in_double: bool,
    ) -> None: ...
    def block_size(self) -> tuple[int, int, int]: ...
    def forward(
        self,
        batch: tuple[int, int, int],
        tensors: tuple[Any, ...],
        block: tuple[int, int],
        seed: int | None,
        threads: int,
    ) -> None: ...
    def backward(
        self,
        batch: tuple[int, int, int],
        values: tuple[Any, ...],
        block: tuple[int, int],
        gradients: tuple[Any, ...],
        threads: int,
    ) -> None: ...
    def tangent(
        self,
        batch: tuple[int, int, int],
        values: tuple[Any, ...],
        block: tuple[int, int],
        tangents: tuple[Any, ...],
        threads: int,
    ) -> None: ...
