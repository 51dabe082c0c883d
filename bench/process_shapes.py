#!/usr/bin/env python3
"""Milliseconds of a training step in one process with two threads and in two processes with one thread each, for
several networks. The starting time cancels out: each value is the difference between a long and a short run, for which
the smallest time of several alternating rounds counts (docs/processes.md). Needs mpirun.

    bench/process_shapes.py --unfold build/release/bin/unfold TEXT
"""

import argparse
import os
import subprocess
import tempfile
import time

SHAPES = (("rnn:128", 16), ("gru:128", 16), ("lstm:128", 16), ("lstm:256", 32), ("gru:512", 32), ("lstm:512", 32),
          ("lstm:1024", 64))


def seconds(command):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("--unfold", default="build/release/bin/unfold")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20, help="approximate time of a long run")
    arguments = parser.parse_args()
    together = ["mpirun", "-n", "2", "--bind-to", "none", "--oversubscribe"]
    if os.geteuid() == 0:
        together.append("--allow-run-as-root")
    print(f"{'network':<12}{'batch':>6}{'two threads':>13}{'two processes':>15}{'efficiency':>12}")
    with tempfile.TemporaryDirectory() as folder:
        for model, batch in SHAPES:
            def run(prefix, threads, steps):
                return seconds([*prefix, arguments.unfold, "train", arguments.text, "--model", model, "--batch",
                                str(batch), "--window", "32", "--shards", "2", "--steps", str(steps), "--threads",
                                str(threads), "--split", "100/0/0", "--out", os.path.join(folder, "run"),
                                "--overwrite", "--quiet"])

            step = max(1e-4, (run([], 2, 12) - run([], 2, 2)) / 10)
            few, many = 5, 5 + max(20, int(arguments.seconds / step))
            best = {}
            for _ in range(arguments.rounds):
                for prefix, threads in (([], 2), (together, 1)):
                    for steps in (few, many):
                        taken = run(prefix, threads, steps)
                        best[threads, steps] = min(best.get((threads, steps), taken), taken)
            alone, both = (1e3 * (best[n, many] - best[n, few]) / (many - few) for n in (2, 1))
            print(f"{model:<12}{batch:>6}{alone:>13.2f}{both:>15.2f}{alone / both:>11.0%}", flush=True)


if __name__ == "__main__":
    main()
