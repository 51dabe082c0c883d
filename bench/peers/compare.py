#!/usr/bin/env python3
"""Training speed of Unfold compared with PyTorch, measured alternately in one run on this machine: medians and their
ratio.

    make peers                                       # installs PyTorch, then runs this
    build/peers/bin/python bench/peers/compare.py --unfold build/release/bin/unfold lstm:512x32 lstm:128x1

The ratio is the median over the rounds of (Unfold / PyTorch) in the same round. Measure on an idle machine: the last
column is the share of the processors used by other programs; if it exceeds a few percent, the results are meaningless.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

import torch

from pytorch_char_lm import Measurement, parse_shape

SHAPES = ["lstm:512x32", "lstm:512x16", "lstm:512x1", "lstm:128x16", "lstm:128x1",
          "gru:512x32", "gru:128x16", "gru:128x1", "rnn-tanh:512x32", "rnn-tanh:128x16", "rnn-tanh:128x1"]
MODELS = {"lstm": "lstm:{}", "gru": "gru:{},reset=after", "rnn-tanh": "rnn:{},activation=tanh", "rnn-relu": "rnn:{},activation=relu"}


def unfold_sample(options, cell, units, batch):
    """Thousand symbols per second of one `unfold bench`."""
    command = [options.unfold, "bench", "--model", MODELS[cell].format(units), "--batch", str(batch),
               "--window", str(options.window), "--symbols", str(options.symbols),
               "--threads", str(options.threads), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)["symbols_per_second"] / 1000


class Load:
    """The share of the processors used by processes other than this one and its children since the object was
    created."""

    def __init__(self):
        self.start, self.busy, self.own = time.monotonic(), self.busy_seconds(), self.own_seconds()

    @staticmethod
    def busy_seconds():
        with open("/proc/stat", encoding="ascii") as stat:
            user, nice, system, _, _, irq, softirq, steal = (int(word) for word in stat.readline().split()[1:9])
        return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def own_seconds():
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)

    def of_others(self):
        others = (self.busy_seconds() - self.busy) - (self.own_seconds() - self.own)
        return max(0.0, others / ((time.monotonic() - self.start) * os.cpu_count()))


def compare(options, shape):
    measurement = Measurement(*shape, options.window, options.symbols)
    measurement.sample(options.seconds)  # warms up caches, threads and clock frequency
    load, ours, theirs = Load(), [], []
    for _ in range(options.rounds):
        theirs.append(measurement.sample(options.seconds))
        ours.append(unfold_sample(options, *shape))
    return {
        "cell": shape[0], "units": shape[1], "batch": shape[2],
        "pytorch": statistics.median(theirs), "unfold": statistics.median(ours),
        "ratio": statistics.median(mine / other for mine, other in zip(ours, theirs)),
        "load_of_others": load.of_others(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", type=parse_shape, metavar="CELL:UNITSxBATCH")
    parser.add_argument("--unfold", default="build/release/bin/unfold", help="the command to measure")
    parser.add_argument("--window", type=int, default=64)
    parser.add_argument("--symbols", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one PyTorch sample")
    parser.add_argument("--json", action="store_true", help="one JSON object for each shape instead of the table")
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    if not options.json:
        print(f"Thousand symbols/s, forward + backward + Adam, float, {options.symbols} symbols, windows of "
              f"{options.window}, {options.threads} threads; PyTorch {torch.__version__}; {options.rounds} rounds\n")
        print("| cell | units | batch | PyTorch | Unfold | ratio | other load |\n|---|---|---|---|---|---|---|")
    for shape in options.shapes or map(parse_shape, SHAPES):
        row = compare(options, shape)
        if options.json:
            print(json.dumps(row), flush=True)
        else:
            print("| {cell} | {units} | {batch} | {pytorch:.1f} | {unfold:.1f} | {ratio:.2f} | "
                  "{load_of_others:.0%} |".format(**row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
