#!/usr/bin/env python3
"""A training step of a linear-chain CRF compared with pytorch-crf: -log p of the labels and its gradient with respect
to all scores.

    bench/peers/install.sh
    build/peers/bin/python bench/peers/pytorch_crf.py --unfold build/release/bin/bench_crf

Both are measured alternately in one run, with the same lengths (reported by `bench_crf`), in float, on one thread and
on two. Prints microseconds per step of wall-clock time, the minimum and the median over rounds, and the ratio of the
minima. pytorch-crf pads the chains to the longest chain and masks the padding; it gets its preferred layout (positions
first), and gradients are freed before each step.
"""

import argparse
import json
import statistics
import subprocess
import time
from importlib.metadata import version

import torch
import torchcrf


def measured(options, threads):
    """Results of bench_crf: the lengths of its chains, microseconds per step."""
    command = [options.unfold, str(options.labels), str(options.batch), str(options.seconds), str(threads)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, encoding="utf-8")
    return json.loads(done.stdout.splitlines()[-1])


class PyTorchStep:
    def __init__(self, labels, lengths):
        torch.manual_seed(1)
        most = max(lengths)
        self.field = torchcrf.CRF(labels)
        self.scores = (2 * torch.randn(most, len(lengths), labels)).requires_grad_()
        self.targets = torch.randint(labels, (most, len(lengths)))
        self.mask = torch.arange(most)[:, None] < torch.tensor(lengths)[None, :]

    def run(self):
        self.scores.grad = None
        self.field.zero_grad(set_to_none=True)
        loss = -self.field(self.scores, self.targets, mask=self.mask, reduction="sum")
        loss.backward()

    def sample(self, seconds):
        """Microseconds per step: the minimum."""
        least, begin = float("inf"), time.perf_counter()
        while time.perf_counter() - begin < seconds:
            start = time.perf_counter()
            self.run()
            least = min(least, time.perf_counter() - start)
        return 1e6 * least


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--unfold", default="build/release/bin/bench_crf", help="the program bench_crf")
    options.add_argument("--labels", type=int, default=22)
    options.add_argument("--batch", type=int, default=32)
    options.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=float, default=0.5, help="of each measurement in a round")
    options = options.parse_args()

    print(f"pytorch-crf {version('pytorch-crf')}, PyTorch {torch.__version__}")
    for threads in options.threads:
        torch.set_num_threads(threads)
        ours, theirs, step = [], [], None
        for _ in range(options.rounds):
            found = measured(options, threads)
            step = step or PyTorchStep(options.labels, found["lengths"])
            ours.append(found["step_us"])
            theirs.append(step.sample(options.seconds))
        print(f"{options.labels} labels, {options.batch} chains of {sum(found['lengths'])} positions, {threads} threads: "
              f"pytorch-crf {min(theirs):.0f} us (median {statistics.median(theirs):.0f}), "
              f"Unfold {min(ours):.0f} us (median {statistics.median(ours):.0f}), "
              f"ratio {min(theirs) / min(ours):.1f}")


if __name__ == "__main__":
    main()
