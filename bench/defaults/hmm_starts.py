#!/usr/bin/env python3
"""Compares fits by expectation-maximization from the default initializations with the best of 100 restarts.

  python3 bench/defaults/hmm_starts.py --unfold build/release/bin/unfold [--results starts.jsonl] [--seeds 10]

Generates files of several kinds: hidden chains of 2 to 6 states, Gaussian mixtures with overlapping and with separated
components, mixtures of bits, chains of Gaussian states, and samples of text. Prints for each file the largest
difference in nats per position between a seed and the best fit, and the seconds of a fit. The best fit is the best of
--restarts complete fits (hmm, gaussian-hmm) or of 40 other seeds (mixtures). FAILED marks a difference above 0.01 nats.
With --results, files whose results are in FILE are not fitted again, and new results are appended to it.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 0.01


def draw(weights, rng):
    return rng.choices(range(len(weights)), weights)[0]


def dirichlet(n, concentration, rng):
    x = [rng.gammavariate(concentration, 1) + 1e-9 for _ in range(n)]
    return [v / sum(x) for v in x]


def chain(states, symbols, stay, concentration, length, rng):
    """A text of letters: a hidden chain whose states stay with a probability."""
    rows = [dirichlet(states, 1, rng) for _ in range(states)]
    emissions = [dirichlet(symbols, concentration, rng) for _ in range(states)]
    state, text = 0, []
    for _ in range(length):
        if rng.random() >= stay:
            state = draw(rows[state], rng)
        text.append(chr(ord("a") + draw(emissions[state], rng)))
    return "".join(text)


def words(length, rng):
    """Text of invented words: syllables of consonants and vowels."""
    lexicon = ["".join(rng.choice("bcdfghlmnprst") + rng.choice("aeiou") for _ in range(rng.randint(1, 3)))
               for _ in range(200)]
    text = ""
    while len(text) < length:
        text += lexicon[min(int(rng.expovariate(0.03)), 199)] + " "
    return text[:length]


def gaussians(components, columns, apart, rows, rng):
    means = [[rng.gauss(0, apart) for _ in range(columns)] for _ in range(components)]
    scales = [[rng.uniform(0.3, 1.5) for _ in range(columns)] for _ in range(components)]
    weights = dirichlet(components, 2, rng)
    table = []
    for _ in range(rows):
        k = draw(weights, rng)
        shared = rng.gauss(0, 1)
        table.append([means[k][i] + scales[k][i] * (rng.gauss(0, 1) + 0.5 * shared) for i in range(columns)])
    return table


def bits(components, columns, rows, rng):
    shares = [[rng.betavariate(0.5, 0.5) for _ in range(columns)] for _ in range(components)]
    weights = dirichlet(components, 2, rng)
    return [[int(rng.random() < p) for p in shares[draw(weights, rng)]] for _ in range(rows)]


def regimes(states, columns, rows, rng):
    """A chain of states with Gaussian emissions."""
    means = [[rng.gauss(0, 2) for _ in range(columns)] for _ in range(states)]
    scales = [rng.uniform(0.5, 1.5) for _ in range(states)]
    state, table = 0, []
    for _ in range(rows):
        if rng.random() > 0.9:
            state = rng.randrange(states)
        table.append([rng.gauss(m, scales[state]) for m in means[state]])
    return table


def cases(restarts):
    """Name, model, reference model (None: other seeds), and a function that returns a text or a table."""
    result = []

    def text(name, k, make):
        result.append((name, f"hmm:{k}", f"hmm:{k},starts={4 * restarts},restarts={restarts}", make))

    text("two states, fast", 2, lambda r: chain(2, 6, 0.2, 0.5, 3000, r))
    text("two states, slow", 2, lambda r: chain(2, 4, 0.98, 1.0, 4000, r))
    text("three states", 3, lambda r: chain(3, 8, 0.7, 0.7, 3000, r))
    text("three states, faint", 3, lambda r: chain(3, 5, 0.9, 3.0, 4000, r))
    text("four states", 4, lambda r: chain(4, 10, 0.5, 0.4, 4000, r))
    text("four states, slow", 4, lambda r: chain(4, 10, 0.95, 0.4, 4000, r))
    text("five states", 5, lambda r: chain(5, 12, 0.8, 0.5, 4000, r))
    text("six states", 6, lambda r: chain(6, 20, 0.6, 0.3, 5000, r))
    text("invented words, 2 states", 2, lambda r: words(4000, r))
    text("invented words, 4 states", 4, lambda r: words(4000, r))
    for k, n, apart in [(2, 2, 1.0), (3, 2, 3.0), (4, 3, 1.5), (5, 2, 4.0), (6, 4, 2.5)]:
        result.append((f"{k} Gaussians, {n} columns, {apart} apart", f"gaussian-mixture:{k}", None,
                       lambda r, k=k, n=n, apart=apart: gaussians(k, n, apart, 500, r)))
    for k, n in [(2, 8), (4, 12), (6, 20)]:
        result.append((f"{k} kinds of {n} bits", f"bernoulli-mixture:{k}", None,
                       lambda r, k=k, n=n: bits(k, n, 500, r)))
    for k in (2, 4):
        result.append((f"{k} regimes", f"gaussian-hmm:{k}", f"gaussian-hmm:{k},restarts={restarts}",
                       lambda r, k=k: regimes(k, 2, 1000, r)))
    return result


def nats_of(unfold, data, model, seed, folder):
    run = str(Path(folder) / "run")
    table = [] if data.endswith(".txt") else ["--format", "table"]
    start = time.time()
    subprocess.run([unfold, "train", data, *table, *(["--format", "text"] if not table else []), "--model", model,
                    "--split", "100/0/0", "--seed", str(seed), "--threads", "1", "--quiet", "--overwrite", "--out", run],
                   check=True, capture_output=True)
    seconds = time.time() - start
    found = json.loads(subprocess.run([unfold, "eval", run, data, "--json"], check=True, capture_output=True).stdout)
    if "heads" in found:
        head = next(iter(found["heads"].values()))
        return head.get("nats_per_example", head.get("nats_per_position")), seconds
    return found["nats_per_symbol"], seconds


def measure(name, model, reference, made, arguments, folder):
    """Returns the results of one file."""
    is_text = isinstance(made, str)
    data = str(Path(folder) / f"data.{'txt' if is_text else 'csv'}")
    if is_text:
        Path(data).write_text(made)
    else:
        rows = [",".join(f"x{i}" for i in range(len(made[0])))]
        rows += [",".join(f"{x:.6g}" for x in row) for row in made]
        Path(data).write_text("\n".join(rows) + "\n")
    found = [nats_of(arguments.unfold, data, model, seed, folder) for seed in range(1, arguments.seeds + 1)]
    if reference:
        best = nats_of(arguments.unfold, data, reference, 999, folder)[0]
    else:
        best = min(nats_of(arguments.unfold, data, model, seed, folder)[0] for seed in range(1001, 1041))
    best = min([best] + [nats for nats, _ in found])
    return {"name": name, "model": model, "best": best, "worst": max(nats for nats, _ in found) - best,
            "late": sum(nats - best > LIMIT for nats, _ in found), "fits": len(found),
            "seconds": sum(s for _, s in found) / len(found)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unfold", default="build/release/bin/unfold")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--restarts", type=int, default=100)
    parser.add_argument("--only", default="", help="only models whose name begins with this text")
    parser.add_argument("--data-seed", type=int, default=1)
    arguments = parser.parse_args()
    known = {}
    if arguments.results and arguments.results.exists():
        known = {r["name"]: r for r in map(json.loads, arguments.results.read_text().splitlines())}
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, model, reference, make) in enumerate(cases(arguments.restarts)[: arguments.files]):
            if not model.startswith(arguments.only):
                continue
            result = known.get(name)
            if result is None:
                made = make(random.Random(1000 * arguments.data_seed + number))
                result = measure(name, model, reference, made, arguments, folder)
                if arguments.results:
                    with arguments.results.open("a") as file:
                        file.write(json.dumps(result) + "\n")
            failed += result["late"]
            print(f"{name:32} {model:22} best {result['best']:.4f}  worst {result['worst']:+.4f}  above the limit "
                  f"{result['late']}/{result['fits']}  {result['seconds']:.2f} s{'  FAILED' if result['late'] else ''}",
                  flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
