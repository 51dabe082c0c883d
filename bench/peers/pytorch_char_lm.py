#!/usr/bin/env python3
"""One training step of a character language model in PyTorch: thousand symbols per second, one JSON object per shape.

The model is the same as in `unfold bench`: symbols as one-hot vectors, one recurrent layer, a linear readout,
softmax cross-entropy; forward, backward and Adam, in float. PyTorch uses its best settings on a CPU: the built-in
recurrent layers (not a loop in Python), the fused Adam, and gradients freed by `set_to_none`.

    pytorch_char_lm.py lstm:512x32 gru:128x1          # CELL:UNITSxBATCH

PyTorch's threads spin while they wait, so other load on the machine can slow PyTorch down several times. Measure on an
idle machine; a median far below `best` indicates other load.
"""

import argparse
import json
import statistics
import sys
import time

import torch
from torch import nn

CELLS = {
    "rnn-tanh": lambda m, n: nn.RNN(m, n, nonlinearity="tanh"),
    "rnn-relu": lambda m, n: nn.RNN(m, n, nonlinearity="relu"),
    "lstm": nn.LSTM,
    "gru": nn.GRU,
}


class CharacterModel(nn.Module):
    def __init__(self, cell, units, symbols):
        super().__init__()
        self.symbols = symbols
        self.recurrent = CELLS[cell](symbols, units)
        self.readout = nn.Linear(units, symbols)

    def forward(self, inputs):  # inputs: [window, batch] of symbols -> [window * batch, symbols]
        one_hot = nn.functional.one_hot(inputs, self.symbols).float()
        hidden, _ = self.recurrent(one_hot)
        return self.readout(hidden.flatten(0, 1))


def fastest_adam(parameters):
    """The fused step if this version supports it on CPUs (2.4 and later)."""
    parameters = list(parameters)
    try:
        return torch.optim.Adam(parameters, lr=1e-3, fused=True)
    except (RuntimeError, TypeError):
        return torch.optim.Adam(parameters, lr=1e-3)


class Measurement:
    """A model with its data and optimizer; `sample` measures steps for some seconds."""

    def __init__(self, cell, units, batch, window, symbols):
        torch.manual_seed(1)
        self.model = CharacterModel(cell, units, symbols)
        self.optimizer = fastest_adam(self.model.parameters())
        self.inputs = torch.randint(symbols, (window, batch))
        self.targets = torch.randint(symbols, (window * batch,))
        self.step_symbols = window * batch
        self.step()  # the first step allocates memory and selects kernels

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(self.model(self.inputs), self.targets)
        loss.backward()
        self.optimizer.step()

    def sample(self, seconds):
        """Thousand symbols per second over steps that last about `seconds`."""
        steps, start = 0, time.perf_counter()
        while True:
            self.step()
            steps += 1
            elapsed = time.perf_counter() - start
            if elapsed >= seconds:
                return steps * self.step_symbols / elapsed / 1000


def parse_shape(text):
    cell, _, size = text.partition(":")
    units, _, batch = size.partition("x")
    if cell not in CELLS or not units.isdigit() or not batch.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not CELL:UNITSxBATCH with CELL one of {', '.join(CELLS)}")
    return cell, int(units), int(batch)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="+", type=parse_shape, metavar="CELL:UNITSxBATCH")
    parser.add_argument("--window", type=int, default=64)
    parser.add_argument("--symbols", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5, help="timed samples of each shape, in alternation")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one sample")
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    measurements = {shape: Measurement(*shape, options.window, options.symbols) for shape in options.shapes}
    samples = {shape: [] for shape in options.shapes}
    for _ in range(options.repeats):
        for shape, measurement in measurements.items():
            samples[shape].append(measurement.sample(options.seconds))
    for (cell, units, batch), values in samples.items():
        print(json.dumps({
            "library": "PyTorch " + torch.__version__,
            "cell": cell, "units": units, "batch": batch,
            "window": options.window, "symbols": options.symbols, "threads": options.threads,
            "thousand_symbols_per_second": round(statistics.median(values), 3),
            "best": round(max(values), 3),
            "samples": [round(value, 3) for value in values],
        }))
    return 0


if __name__ == "__main__":
    sys.exit(main())
