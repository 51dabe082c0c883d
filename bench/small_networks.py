#!/usr/bin/env python3
"""Time of a training step of small networks, and its share of the attainable time (docs/performance.md).

  bench/small_networks.py build/release/bin/unfold [--before OTHER] [--threads 2] [--rounds 3] [--units 64 128 256]

Runs `unfold bench --profile` for LSTM, GRU and RNN with batches of 1, 16, 32 and 64. Prints the shortest step in
milliseconds and the median share of the rounds. With --before, another version of the program runs in turn, and its
step is printed first. UNFOLD_SIMD=avx2 selects other instructions.
"""

import argparse
import json
import statistics
import subprocess

BATCHES = [1, 16, 32, 64]
CELLS = {"lstm": "lstm:{}", "gru": "gru:{},reset=after", "rnn": "rnn:{}"}


def step(unfold, model, batch, threads, seconds):
    command = [unfold, "bench", "--profile", "--json", "--model", model, "--batch", str(batch), "--threads", str(threads),
               "--seconds", str(seconds)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return 1e3 * found["seconds_per_step"], 100 * found["share_of_attainable"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("unfold")
    parser.add_argument("--before")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--units", type=int, nargs="+", default=[64, 128, 256])
    given = parser.parse_args()
    print("| model | " + " | ".join(f"batch {b}" for b in BATCHES) + " |")
    print("| --- |" + " --- |" * len(BATCHES))
    programs = [p for p in (given.before, given.unfold) if p]
    for cell, spec in CELLS.items():
        for units in given.units:
            cells = []
            for batch in BATCHES:
                rounds = [[step(p, spec.format(units), batch, given.threads, given.seconds) for p in programs]
                          for _ in range(given.rounds)]
                steps = ["{:.3f}".format(min(r[i][0] for r in rounds)) for i in range(len(programs))]
                share = statistics.median(r[-1][1] for r in rounds)
                cells.append(f"{', '.join(steps)}, {share:.0f} %")
            print(f"| {cell} {units} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
