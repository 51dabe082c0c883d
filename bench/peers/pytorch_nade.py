#!/usr/bin/env python3
"""A training step of a NADE compared with PyTorch: -log p of binary rows and its gradient with respect to all weights,
by the running sum.

    bench/peers/install.sh
    build/peers/bin/python bench/peers/pytorch_nade.py --unfold build/release/bin/bench_nade

Both are measured alternately in one run, in float, on one thread and on two. Prints microseconds per step of wall-clock
time, the minimum and the median over rounds, and the ratio of the minima. PyTorch computes the running sum for the
whole batch at once, in two ways: `loop`, one step per number, differentiated by autograd; `blocks`, the sums of a block
of numbers by one cumsum, so few calls do much work (with the best block size). The faster way is reported.
"""

import argparse
import json
import statistics
import subprocess
import time

import torch

ONES = 0.13  # as in bench_nade


def measured(options, threads):
    command = [options.unfold, *map(str, (options.numbers, options.units, options.rows, options.seconds, threads))]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, encoding="utf-8")
    return json.loads(done.stdout.splitlines()[-1])["step_us"]


class Nade:
    def __init__(self, numbers, units, rows):
        torch.manual_seed(1)
        self.bits = (torch.rand(rows, numbers) < ONES).float()
        shapes = {"V": (numbers, units), "W": (numbers, units), "b": (numbers,), "c": (units,)}
        self.weights = {name: (0.05 * torch.randn(shape)).requires_grad_() for name, shape in shapes.items()}

    def loop(self):
        w, bits = self.weights, self.bits
        a = w["c"].expand(len(bits), -1)
        outputs = []
        for d in range(bits.shape[1]):
            outputs.append(torch.sigmoid(a) @ w["V"][d])
            a = torch.addcmul(a, bits[:, d : d + 1], w["W"][d])
        return torch.stack(outputs, 1)

    def blocks(self, size=4):
        w, bits = self.weights, self.bits
        a = w["c"].expand(len(bits), -1)
        outputs = []
        for d in range(0, bits.shape[1], size):
            sums = torch.cumsum(bits[:, d : d + size, None] * w["W"][d : d + size], 1) + a[:, None]
            before = torch.cat([a[:, None], sums[:, :-1]], 1)
            outputs.append((torch.sigmoid(before) * w["V"][d : d + size]).sum(2))
            a = sums[:, -1]
        return torch.cat(outputs, 1)

    def step(self, way):
        for weight in self.weights.values():
            weight.grad = None
        logits = getattr(self, way)() + self.weights["b"]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, self.bits, reduction="sum")
        loss.backward()
        return loss.item()

    def sample(self, way, seconds):
        """Microseconds per step: the minimum."""
        least, begin = float("inf"), time.perf_counter()
        while time.perf_counter() - begin < seconds:
            start = time.perf_counter()
            self.step(way)
            least = min(least, time.perf_counter() - start)
        return 1e6 * least


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--unfold", default="build/release/bin/bench_nade", help="the program bench_nade")
    options.add_argument("--numbers", type=int, default=784)
    options.add_argument("--units", type=int, default=500)
    options.add_argument("--rows", type=int, default=100)
    options.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=float, default=1, help="of each measurement in a round")
    options = options.parse_args()

    print(f"PyTorch {torch.__version__}: {options.numbers} numbers, {options.units} units, {options.rows} rows")
    nade = Nade(options.numbers, options.units, options.rows)
    both = [nade.step("loop"), nade.step("blocks")]
    assert abs(both[0] - both[1]) < 1e-4 * abs(both[0]), both
    for threads in options.threads:
        torch.set_num_threads(threads)
        times = {"Unfold": [], "loop": [], "blocks": []}
        for _ in range(options.rounds):
            times["Unfold"].append(measured(options, threads))
            for way in ("loop", "blocks"):
                times[way].append(nade.sample(way, options.seconds))
        said = ", ".join(f"{name} {min(t):.0f} us (median {statistics.median(t):.0f})" for name, t in times.items())
        fastest = min(min(times["loop"]), min(times["blocks"]))
        print(f"{threads} threads: {said}, ratio {fastest / min(times['Unfold']):.1f}")


if __name__ == "__main__":
    main()
