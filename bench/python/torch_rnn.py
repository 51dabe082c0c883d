"""Time unfold.torch and torch.nn on a CPU: forward and backward with autograd.

Both sides run alternately in one process, so other load slows both. The table shows the median time of each
side, the median of the ratios of neighboring runs (torch / unfold: above 1, unfold is faster), the ratio of the
shortest times, which other programs disturb least, and the largest difference of the outputs.

    python bench/python/torch_rnn.py --threads 2 --cells LSTM GRU --packed
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any, Callable

import torch

import unfold.torch

SHAPES = [(h, b) for h in (16, 64, 128, 256, 512, 1024) for b in (1, 32)]
SHAPES = sorted(SHAPES[:-1] + [(1024, 64)])


def step(layer: torch.nn.Module, given: Any) -> None:
    layer.zero_grad(set_to_none=True)
    y = layer(given)[0]
    y = y.data if isinstance(y, torch.nn.utils.rnn.PackedSequence) else y
    y.backward(torch.ones_like(y))


def compare(reference: Callable[[], None], mine: Callable[[], None], seconds: float) -> tuple[float, ...]:
    """Return the median seconds of both, the median ratio of runs that follow each other, and that of the minima."""
    for run in (reference, *[mine] * 8):  # the engine times the ways to divide the work
        run()
    times: list[tuple[float, float]] = []
    start = time.perf_counter()
    while len(times) < 5 or (time.perf_counter() - start < seconds and len(times) < 200):
        pair = []
        for run in (reference, mine):
            begin = time.perf_counter()
            run()
            pair.append(time.perf_counter() - begin)
        times.append((pair[0], pair[1]))
    first, second = zip(*times)
    ratio = statistics.median(a / b for a, b in times)
    return statistics.median(first), statistics.median(second), ratio, min(first) / min(second)


def layers(cell: str, size: int) -> tuple[torch.nn.Module, torch.nn.Module]:
    reference = getattr(torch.nn, cell)(size, size)
    mine = getattr(unfold.torch, cell)(size, size)
    mine.load_state_dict(reference.state_dict())
    return reference, mine


def report(name: str, size: int, batch: int, given: Any, cell: str, seconds: float) -> None:
    reference, mine = layers(cell, size)
    with torch.no_grad():
        a, b = reference(given)[0], mine(given)[0]
        a, b = (a.data, b.data) if isinstance(a, torch.nn.utils.rnn.PackedSequence) else (a, b)
        apart = float((a - b).abs().max())
    theirs, ours, ratio, best = compare(lambda: step(reference, given), lambda: step(mine, given), seconds)
    times = f"{1e3 * theirs:>12.2f}{1e3 * ours:>12.2f}{ratio:>8.2f}{best:>8.2f}"
    print(f"{name:<18}{size:>7}{batch:>6}{times}{apart:>10.0e}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cells", nargs="+", default=["LSTM", "GRU", "RNN"], choices=["LSTM", "GRU", "RNN"])
    parser.add_argument("--steps", type=int, default=64, help="length of the sequences that are not packed")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each shape")
    parser.add_argument("--packed", action="store_true", help="also ragged batches, lengths 10 to 1000")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    print(f"torch {torch.__version__}, {options.threads} threads, {options.steps} steps, forward and backward")
    heads = f"{'torch ms':>12}{'unfold ms':>12}{'ratio':>8}{'best':>8}{'apart':>10}"
    print(f"{'layer':<18}{'hidden':>7}{'batch':>6}{heads}")
    for cell in options.cells:
        for size, batch in SHAPES:
            report(cell, size, batch, torch.randn(options.steps, batch, size), cell, options.seconds)
        for size, batch in [(64, 32), (128, 32), (256, 32)] if options.packed else []:
            lengths = torch.randint(10, 1001, (batch,))
            sequences = [torch.randn(int(n), size) for n in lengths]
            packed = torch.nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
            report(f"{cell} packed", size, batch, packed, cell, options.seconds)


if __name__ == "__main__":
    main()
