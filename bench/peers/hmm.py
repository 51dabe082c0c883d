#!/usr/bin/env python3
"""Baum-Welch training of Unfold compared with hmmlearn: CPU time per symbol and iteration, and log-likelihoods.

  pip install hmmlearn
  bench/peers/hmm.py TEXT [--states 20,50] [--symbols 190000] [--pairs 3] [--unfold build/release/bin/unfold]

The first --symbols characters of TEXT are read as one sequence, on one thread. The time of Unfold is the difference
between a long and a short fit, measured alternately with hmmlearn (`CategoricalHMM(implementation="scaling")`, the same
number of iterations, without initialization). The minimum over all pairs is printed.
"""

import argparse
import os
import resource
import subprocess
import tempfile
import time

import numpy
from hmmlearn.hmm import CategoricalHMM

ITERATIONS = (2, 12)


def unfold_seconds(unfold, text, states, iterations):
    """Processor seconds of one fit."""
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([unfold, "train", text, "--symbols", "chars", "--split", "100/0/0", "--model",
                        f"hmm:{states},restarts=1,iterations={iterations},tolerance=0", "--threads", "1", "--quiet", "--out",
                        os.path.join(folder, "run")], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def hmmlearn_seconds(numbers, states, iterations):
    model = CategoricalHMM(states, implementation="scaling", n_iter=iterations, tol=-numpy.inf, random_state=1)
    begun = time.process_time()
    model.fit(numbers.reshape(-1, 1))
    return time.process_time() - begun


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("text")
    options.add_argument("--states", default="20,50")
    options.add_argument("--symbols", type=int, default=190000)
    options.add_argument("--pairs", type=int, default=3)
    options.add_argument("--unfold", default="build/release/bin/unfold")
    chosen = options.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"

    with open(chosen.text, encoding="utf-8") as file:
        text = file.read()[:chosen.symbols]
    alphabet = {symbol: place for place, symbol in enumerate(sorted(set(text)))}
    numbers = numpy.array([alphabet[symbol] for symbol in text])
    short, long = ITERATIONS
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as part:
        part.write(text)
        part.flush()
        print(f"{len(text)} symbols, {len(alphabet)} of them different; us per symbol and iteration")
        print("| states | hmmlearn | unfold | hmmlearn / unfold |")
        print("| ---: | ---: | ---: | ---: |")
        for states in map(int, chosen.states.split(",")):
            ours, theirs = [], []
            for _ in range(chosen.pairs):
                ours.append(unfold_seconds(chosen.unfold, part.name, states, long) -
                            unfold_seconds(chosen.unfold, part.name, states, short))
                theirs.append(hmmlearn_seconds(numbers, states, 3) - hmmlearn_seconds(numbers, states, 1))
            mine = 1e6 * min(ours) / ((long - short) * len(text))
            peer = 1e6 * min(theirs) / (2 * len(text))
            print(f"| {states} | {peer:.2f} | {mine:.3f} | {peer / mine:.1f} |", flush=True)


if __name__ == "__main__":
    main()
