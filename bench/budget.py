#!/usr/bin/env python3
"""Accuracy of `--minutes`: wall-clock time of complete commands, including validation and saving.

  bench/budget.py TEXT [--unfold build/release/bin/unfold] [--minutes 0.3] [--only NAME]

TEXT is repeated or truncated to texts of 10 kB to 100 MB. There is one run per optimizer, with one and two threads
alternately. A run keeps its budget if the command takes between 95 and 105 % of the budget, or if the difference is at
most one (mean) step of the run. Prints Markdown; the exit code is 1 if a run does not keep its budget. Other load on
the machine makes steps unequal, so the table shows the load.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

SHARE = 0.05
RUNS = [  # bytes of text, model, optimizer, threads, more options
    (10_000, "rnn:20", "sgd", 1, ["--window", "16"]),
    (10_000, "glnn:20", "ruop", 2, []),
    (30_000, "glnn:20", "rbpm", 1, []),
    (30_000, "rnn:20", "ascent", 2, []),
    (100_000, "rnn:30,activation=relu,init=identity", "path", 1, []),
    (100_000, "lstm:30", "hf", 2, []),
    (300_000, "lstm:30", "natural", 1, []),
    (300_000, "lstm:30", "lbfgs", 2, []),
    (1_000_000, "gru:448,reset=after,dropout=0.15", "adam", 2, []),
    (1_000_000, "lstm:64", "rmsprop", 1, []),
    (5_000_000, "rnn:100,activation=relu,init=identity", "path+momentum", 2, []),
    (20_000_000, "rnn:100,activation=relu", "path+adam", 1, []),
    (100_000_000, "lstm:128", "adamw", 2, []),
]


def write_text(source, size, path):
    with open(source, "rb") as file:
        text = file.read()
    with open(path, "wb") as file:
        left = size
        while left > 0:
            file.write(text[:left])
            left -= min(left, len(text))


def run(unfold, folder, text, minutes, entry):
    size, model, optimizer, threads, more = entry
    data = os.path.join(folder, f"text{size}")
    if not os.path.exists(data):
        write_text(text, size, data)
    command = [unfold, "train", data, "--model", model, "--optimizer", optimizer, "--threads", str(threads), "--minutes",
               str(minutes), "--split", "90/10/0", "--out", os.path.join(folder, "run"), "--overwrite", "--json",
               "--quiet", *more]
    start = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    took = time.monotonic() - start
    if done.returncode != 0:
        print(f"budget.py: {' '.join(command)}\n{done.stderr.decode()}", file=sys.stderr)
        return took, None
    return took, json.loads(done.stdout)


def size_text(size):
    return f"{size // 1_000_000} MB" if size >= 1_000_000 else f"{size // 1000} kB"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("--unfold", default="build/release/bin/unfold")
    parser.add_argument("--minutes", type=float, default=0.3)
    parser.add_argument("--only", default="", help="only runs whose optimizer contains this text")
    options = parser.parse_args()
    print("| text | model | optimizer | threads | budget | time | deviation | time per step | steps | end | kept | load |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    all_kept = True
    budget = 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder:
        for entry in RUNS:
            if options.only not in entry[2]:
                continue
            took, result = run(os.path.abspath(options.unfold), folder, options.text, options.minutes, entry)
            if result is None:  # for example, diverged; continue with the other runs
                all_kept = False
                continue
            step = result["seconds"] / max(1, result["steps"])
            ended = result["ended_by"]
            kept = abs(took - budget) <= max(SHARE * budget, step) or (ended != "minutes" and took < budget)
            all_kept = all_kept and kept
            print(f"| {size_text(entry[0])} | `{entry[1]}` | `{entry[2]}` | {entry[3]} | {budget:.1f} s | {took:.2f} s "
                  f"| {took - budget:+.2f} s ({100 * (took / budget - 1):+.1f} %) | {step:.3g} s | {result['steps']} | {ended} "
                  f"| {'yes' if kept else 'NO'} | {os.getloadavg()[0]:.0f} |", flush=True)
    sys.exit(0 if all_kept else 1)


if __name__ == "__main__":
    main()
